// One process of an elastic run: elastic <mode> [<argument>] [--pilfer-worker]. elastic.py starts several.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <pilfer/blocking.hpp>
#include <pilfer/cancel.hpp>
#include <pilfer/cluster.hpp>
#include <pilfer/timer.hpp>

#include "bench/common/uts.hpp"

namespace {

namespace cluster = pilfer::cluster;
namespace fs = std::filesystem;

struct fib {
    int n;
    long operator()() const {
        if (n < 2) {
            return n;
        }
        auto [a, b] = cluster::join(fib{n - 1}, fib{n - 2});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(fib);

inline constexpr bench::uts::tree small_tree{bench::uts::tree::shape::geometric, 4, 7, 0, 0, 19, 0};
struct uts {
    bench::uts::node n;
    std::uint64_t operator()() const {
        const auto children = std::views::iota(0u, bench::uts::children_of(n, small_tree));
        return 1 + cluster::sum(children, [this](unsigned i) { return uts{bench::uts::child_of(n, i)}; });
    }
};
PILFER_CLUSTER_TASK(uts);

struct thrower {
    int depth;
    int place;
    long operator()() const {
        if (depth == 0) {
            return place == 13 ? throw std::out_of_range("leaf 13") : 1;
        }
        auto [a, b] = cluster::join(thrower{depth - 1, 2 * place}, thrower{depth - 1, 2 * place + 1});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(thrower);

/// Keeps its worker until the file is there.
struct until_there {
    std::string file;
    long operator()() const {
        while (!fs::exists(file) && !pilfer::cancelled()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1)); // the worker runs nothing else
        }
        return 1;
    }
};
[[maybe_unused]] void serialize(cluster::archive& a, until_there& u) { a(u.file); }
PILFER_CLUSTER_TASK(until_there);

/// The first one to run makes the file `folder`/begun and never ends. The next one ends.
struct victim {
    std::string folder;
    long operator()() const {
        if (!fs::exists(folder + "/begun")) {
            std::ofstream(folder + "/begun") << 'x';
            return until_there{folder + "/never"}();
        }
        std::ofstream(folder + "/again") << 'x';
        return fib{15}();
    }
};
void serialize(cluster::archive& a, victim& v) { a(v.folder); }
PILFER_CLUSTER_TASK(victim);

/// Keeps one worker of the coordinator, so that another process has to run the victim.
struct hostage {
    std::string folder;
    long operator()() const {
        const std::string again = folder + "/again";
        auto [a, b] = cluster::join(until_there{again}, victim{folder});
        return 1000 * a + b;
    }
};
void serialize(cluster::archive& a, hostage& h) { a(h.folder); }
PILFER_CLUSTER_TASK(hostage);

/// The line is the same on one machine and with any number of workers.
void exact(cluster::session& s) {
    const long a = s.run(fib{18});
    const std::uint64_t b = s.run(uts{bench::uts::root_of(small_tree)});
    const double c = s.map_reduce(
        0, 100'000, 0.0, [](int i) { return 1.0 / (i + 1); }, std::plus<>{});
    const std::vector<std::string> d =
        s.map_collect(0, 1000, [](int i) { return std::string(static_cast<std::size_t>(i % 7), 'x'); });
    std::size_t letters = 0;
    for (const std::string& text : d) {
        letters += text.size();
    }
    std::string error;
    try {
        (void)s.run(thrower{6, 0});
    } catch (const cluster::remote_error& e) {
        error = e.what();
    }
    const long again = s.run(fib{10});
    if (s.rank() == 0) {
        std::printf("%ld %llu %a %zu %zu %s %ld\n", a, static_cast<unsigned long long>(b), c, d.size(),
                    letters, error.c_str(), again);
    }
}

/// Some megabytes for each process. It prints the line if they are the right ones.
void large(cluster::session& s) {
    const auto block = [](int i) { return std::string(100'000, static_cast<char>('a' + i % 26)); };
    const std::vector<std::string> all = s.map_collect(0, 50, block);
    for (int i = 0; i < 50; ++i) {
        if (all[static_cast<std::size_t>(i)] != block(i)) {
            throw std::runtime_error("other bytes");
        }
    }
    std::printf("%zu blocks\n", all.size());
}

cluster::bound<int> smallest(1'000'000);
/// Looks for the smallest value of a function that jumps. The place 0 waits until another process has found
/// it.
struct search {
    std::string folder;
    int first, last;
    long operator()() const {
        if (last - first > 10) {
            const int middle = (first + last) / 2;
            auto [a, b] = cluster::join(search{folder, first, middle}, search{folder, middle, last});
            return a + b;
        }
        for (int i = first; i < last; ++i) {
            smallest.improve(100 + (i * 7919 + 1) % 997);
        }
        while (first == 0 && smallest.get() != 100 && !pilfer::cancelled()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return last - first;
    }
};
void serialize(cluster::archive& a, search& s) { a(s.folder, s.first, s.last); }
PILFER_CLUSTER_TASK(search);

/// Each process prints the same values. The second run begins with the worst one.
void bounds(cluster::session& s, const std::string& folder) {
    const long looked = s.run(search{folder, 0, 997});
    const int best = smallest.get();
    (void)s.run(search{folder, 900, 905});
    std::printf("%ld %d %d\n", looked, best, smallest.get());
}

/// Offers a value once the file is there.
struct finder {
    std::string file;
    int value;
    long operator()() const {
        const long one = until_there{file}();
        smallest.improve(value);
        return one;
    }
};
void serialize(cluster::archive& a, finder& f) { a(f.file, f.value); }
PILFER_CLUSTER_TASK(finder);

/// Goes on until the file `folder`/go is there, also if it is cancelled, and then offers a value. Its worker
/// is free meanwhile.
struct leftover {
    std::string folder;
    long operator()() const {
        std::ofstream(folder + "/begun") << 'x';
        pilfer::blocking([this] {
            while (!fs::exists(folder + "/go") && fs::exists(folder)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            }
            smallest.improve(5);
        });
        return 1;
    }
};
void serialize(cluster::archive& a, leftover& l) { a(l.folder); }
PILFER_CLUSTER_TASK(leftover);

/// As the first branch: keeps the coordinator's worker until another process has fetched the second one, and
/// then fails once the file `folder`/fail is there. The worker is free meanwhile. Makes the file
/// `folder`/cancelled if it is cancelled.
struct outlived_fails {
    std::string folder;
    long operator()() const {
        (void)finder{folder + "/fetched", 20}();
        try {
            while (!fs::exists(folder + "/fail")) {
                pilfer::sleep_for(std::chrono::milliseconds(1));
            }
        } catch (const pilfer::stopped&) {
            std::ofstream(folder + "/cancelled") << 'x';
            throw;
        }
        throw std::runtime_error("the first branch fails");
    }
};
[[maybe_unused]] void serialize(cluster::archive& a, outlived_fails& o) { a(o.folder); }
PILFER_CLUSTER_TASK(outlived_fails);
struct outlived {
    std::string folder;
    long operator()() const {
        auto [a, b] = cluster::join(outlived_fails{folder}, leftover{folder});
        return a + b;
    }
};
void serialize(cluster::archive& a, outlived& o) { a(o.folder); }
PILFER_CLUSTER_TASK(outlived);

/// A tree whose leaves end only if they are cancelled, after the file `folder`/fail is there. Files have the
/// number of the process that runs a part of it.
struct endless {
    std::string folder;
    int depth;
    long operator()() const {
        const std::string process = std::to_string(getpid());
        if (depth != 0) {
            std::ofstream(folder + "/depth-" + std::to_string(depth) + "-" + process) << 'x';
            auto [a, b] = cluster::join(endless{folder, depth - 1}, endless{folder, depth - 1});
            return a + b;
        }
        std::ofstream(folder + "/begun-" + process) << 'x';
        try {
            (void)until_there{folder + "/fail"}(); // meanwhile another process takes the next leaf
            for (;;) { // the worker is free: a task that has to pass the cancellation on may need it
                pilfer::sleep_for(std::chrono::milliseconds(1));
            }
        } catch (const pilfer::stopped&) {
            std::ofstream(folder + "/cancelled-" + process) << 'x';
            throw;
        }
    }
};
void serialize(cluster::archive& a, endless& e) { a(e.folder, e.depth); }
PILFER_CLUSTER_TASK(endless);

/// Fails once the file is there.
struct failing {
    std::string file;
    long operator()() const {
        (void)until_there{file}();
        throw std::runtime_error("the first branch fails");
    }
};
[[maybe_unused]] void serialize(cluster::archive& a, failing& f) { a(f.file); }
PILFER_CLUSTER_TASK(failing);

struct fails_beside_endless {
    std::string folder;
    long operator()() const {
        auto [a, b] = cluster::join(failing{folder + "/fail"}, endless{folder, 2});
        return a + b;
    }
};
void serialize(cluster::archive& a, fails_beside_endless& f) { a(f.folder); }
PILFER_CLUSTER_TASK(fails_beside_endless);

/// Keeps one worker of the coordinator, so that another process has to run the rest.
struct fails_elsewhere {
    std::string folder;
    long operator()() const {
        auto [a, b] = cluster::join(until_there{folder + "/go"}, fails_beside_endless{folder});
        return a + b;
    }
};
void serialize(cluster::archive& a, fails_elsewhere& f) { a(f.folder); }
PILFER_CLUSTER_TASK(fails_elsewhere);

template <class Task>
std::string error_of(cluster::session& s, const Task& task) {
    try {
        (void)s.run(task);
    } catch (const std::exception& e) {
        return e.what();
    }
    return "no error";
}

/// A run that fails, and another one.
template <class Task>
void cancelling(cluster::session& s, const Task& task) {
    const std::string error = error_of(s, task);
    std::printf("%s %ld\n", error.c_str(), s.run(fib{10}));
}

/// A run whose task outlives it, and another one.
void next_run(cluster::session& s, const std::string& folder) {
    const std::string error = error_of(s, outlived{folder});
    const long second = s.run(finder{folder + "/fetched", 50});
    std::printf("%s %ld %d\n", error.c_str(), second, smallest.get());
}

/// The same two runs, with time between them.
void leaving(cluster::session& s, const std::string& folder) {
    const std::string error = error_of(s, outlived{folder});
    while (!fs::exists(folder + "/next") && fs::exists(folder)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    const long second = s.run(finder{folder + "/fetched", 50});
    std::printf("%s %ld\n", error.c_str(), second);
}

/// Ends once the file `folder`/go is there. Its worker is free meanwhile.
struct sleeper {
    std::string folder;
    long operator()() const {
        std::ofstream(folder + "/begun") << 'x';
        while (!fs::exists(folder + "/go")) {
            pilfer::sleep_for(std::chrono::milliseconds(1));
        }
        return 1;
    }
};
[[maybe_unused]] void serialize(cluster::archive& a, sleeper& s) { a(s.folder); }
PILFER_CLUSTER_TASK(sleeper);

void two_runs(cluster::session& s, const std::string& folder) {
    const long first = s.run(sleeper{folder});
    std::printf("%ld %ld\n", first, s.run(sleeper{folder + "/second"}));
}

/// The place 0 waits for the last one, so that another process has to run it.
void journaled(cluster::session& s, const std::string& folder) {
    static std::atomic<int> calls{0};
    const std::string there = folder + "/last";
    const auto f = [&there](int i) {
        ++calls;
        if (i == 199) {
            std::ofstream(there) << 'x';
        }
        return i == 0 ? until_there{there}() : static_cast<long>(i);
    };
    const long sum = s.map_reduce_journaled(folder + "/journal", 0, 200, 0L, f, std::plus<>{});
    std::printf("%ld\n", sum);
    std::fprintf(stderr, "%d calls\n", calls.load());
}

int mode(cluster::session& s, const std::string& name, const std::string& argument) {
    if (name == "exact") {
        exact(s);
    } else if (name == "large") {
        large(s);
    } else if (name == "hostage") {
        const long result = s.run(hostage{argument});
        if (s.rank() == 0) {
            std::printf("%ld\n", result);
        }
    } else if (name == "other_calls") {
        (void)s.run(fib{1});
        s.rank() == 0 ? (void)s.run(fib{2}) : (void)s.run(thrower{0, 0});
    } else if (name == "bounds") {
        bounds(s, argument);
    } else if (name == "cancelling") {
        cancelling(s, fails_beside_endless{argument});
    } else if (name == "disowning") {
        cancelling(s, fails_elsewhere{argument});
    } else if (name == "next_run") {
        next_run(s, argument);
    } else if (name == "leaving") {
        leaving(s, argument);
    } else if (name == "two_runs") {
        two_runs(s, argument);
    } else if (name == "journal") {
        journaled(s, argument);
    } else {
        return 2;
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        cluster::session s(argc, argv);
        const int code = argc > 2 ? mode(s, argv[1], argv[2]) : 2;
        std::fprintf(stderr, "rank %d took %llu tasks\n", s.rank(),
                     static_cast<unsigned long long>(s.stats()[static_cast<std::size_t>(s.rank())].tasks_in));
        return code;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ended by an exception: %s\n", e.what());
        return 1;
    }
}
