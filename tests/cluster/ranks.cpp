// One rank of a program for mpirun: ranks <mode>. Ends with 0 if everything was as it has to be.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "cluster/tree.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace {

using namespace tasks;
namespace cluster = pilfer::cluster;

int faults = 0;

template <class T, class U>
void expect(const char* what, const T& value, const U& wanted) {
    if (!(value == wanted)) {
        std::fprintf(stderr, "FAILED: %s\n", what);
        ++faults;
    }
}

/// Dies on rank 1, if it is called there.
struct deadly {
    int depth;
    int signal;
    long operator()() const {
        if (std::getenv("PMIX_RANK") != nullptr && std::strcmp(std::getenv("PMIX_RANK"), "1") == 0) {
            kill(getpid(), signal);
        }
        if (depth == 0) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return 1;
        }
        auto [a, b] = cluster::join(deadly{depth - 1, signal}, deadly{depth - 1, signal});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(deadly);

/// Never ends. Each rank makes the file TEST_FOLDER/began.<rank> when it runs a leaf.
struct endless {
    int depth;
    long operator()() const {
        if (depth == 0) {
            [[maybe_unused]] static const bool began = [] {
                const char* rank = std::getenv("PMIX_RANK");
                std::ofstream(std::string(std::getenv("TEST_FOLDER")) + "/began." + rank) << 'x';
                return true;
            }();
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
            return 1;
        }
        auto [a, b] = cluster::join(endless{depth - 1}, endless{depth - 1});
        return a + b;
    }
};
PILFER_CLUSTER_TASK(endless);

#if defined(OTHER_PROGRAM)
struct only_here {
    int operator()() const { return 1; }
};
PILFER_CLUSTER_TASK(only_here);
#endif

struct nested {
    cluster::session* s; // the same object only on the rank that runs it
    int operator()() const {
        try {
            return static_cast<int>(s->run(fib{1}));
        } catch (const pilfer::usage_error&) {
            return 7;
        }
    }
};
PILFER_CLUSTER_TASK(nested);

/// The slack of the main thread's sleeps, in nanoseconds; 0 if the system does not say it.
long slack_of_main() {
    std::ifstream file("/proc/self/timerslack_ns");
    long ns = 0;
    return file >> ns ? ns : 0;
}
struct slack_in_a_run {
    long operator()() const { return slack_of_main(); }
};
PILFER_CLUSTER_TASK(slack_in_a_run);

/// The main thread sleeps exactly in a run with other ranks, and as before after it.
void slack(cluster::session& s) {
    const long before = slack_of_main();
    const long inside = s.run(slack_in_a_run{}); // only root may ask for that of another thread
    expect("the slack of sleeps in a run", inside == (s.size() > 1 ? 1000 : before) || inside == 0, true);
    expect("the slack of sleeps after a run", slack_of_main(), before);
}

/// The result of one machine without pilfer, in the shape of cluster::sum and of map_reduce.
double harmonic_by_halves(int first, int n) {
    const int half = n - n / 2;
    return n == 1 ? 1.0 / first
                  : harmonic_by_halves(first, half) + harmonic_by_halves(first + half, n - half);
}
double harmonic_by_pieces(int first, int n, int most) {
    if (n > most) {
        int half = most;
        while (2 * half < n) {
            half *= 2;
        }
        return harmonic_by_pieces(first, half, most) + harmonic_by_pieces(first + half, n - half, most);
    }
    double sum = 1.0 / first;
    for (int i = 1; i < n; ++i) {
        sum += 1.0 / (first + i);
    }
    return sum;
}

void exact(cluster::session& s) {
    slack(s);
    expect("fib", s.run(fib{22}), 17711);
    std::uint64_t in = 0;
    std::uint64_t out = 0;
    // Again where the machine was so busy that another rank came too late. All ranks see the same counts.
    for (int i = 0; i == 0 || (i < 100 && in == 0 && s.size() > 1); ++i) {
        expect("leaves that take a moment", s.run(thrower{6, 0, 99, false, 1000}), 64);
        in = out = 0;
        for (const auto& r : s.stats()) {
            in += r.tasks_in;
            out += r.tasks_out;
        }
    }
    expect("tasks that moved", in > 0, s.size() > 1);
    expect("tasks that were taken", in, out);
    expect("a small tree", s.run(uts_small{bench::uts::root_of(small_tree)}),
           count_serially(bench::uts::root_of(small_tree), small_tree));
    expect("queens", s.run(queens{10, 0, 0, 0, 0}), 724);
    auto sorted = numbers(60'000);
    const auto result = s.run(merge_sort{sorted});
    std::sort(sorted.begin(), sorted.end());
    expect("merge sort", result, sorted);
    expect("branches of different types", s.run(mixed{3}), "hello you,hello 1,hello 2,hello 3");
    s.run(nothing{});
    // Skewed: the last elements cost most.
    const auto skewed = [](int i) {
        volatile long x = 0;
        for (int k = 0; k < i * i / 200; ++k) {
            x = x + 1;
        }
        return static_cast<long>(i);
    };
    expect("a skewed map", s.map_reduce(0, 2000, 1L, skewed, std::plus<>{}), 1'999'001);
    // The bits do not depend on who ran what.
    const double once = s.map_reduce(
        1, 100'000, 0.0, [](int i) { return 1.0 / i; }, std::plus<>{});
    expect("bits of a reduction",
           s.map_reduce(
               1, 100'000, 0.0, [](int i) { return 1.0 / i; }, std::plus<>{}),
           once);
    expect("value of a reduction", once, harmonic_by_pieces(1, 99'999, 13));
    expect("bits of a sum", s.run(harmonic{3000}), harmonic_by_halves(1, 3000));
    const auto squares = s.map_collect(0, 1000, [](int i) { return i * i; });
    expect("the size of a collection", squares.size(), 1000u);
    for (int i = 0; i < 1000; ++i) {
        expect("an element of a collection", squares[static_cast<std::size_t>(i)], i * i);
    }
}

/// All ranks have the best value at the end of each run, and only of this run.
void bounds(cluster::session& s) {
    for (int i = 0; i < 10; ++i) {
        expect("a run with offers", s.run(offering{5, 0}), 32);
        expect("the smallest offer", smallest.get(), 17);
        expect("the largest offer", largest.get(), 16'017);
        const std::uint64_t one_of_equals = cheapest.get();
        expect("the cheapest offer", one_of_equals >> 32, 7u);
        expect("one of equal offers, the same on all ranks", s.run(echo{one_of_equals}), one_of_equals);
        expect("a run without offers", s.run(fib{5}), 5);
        expect("a bound at the start of a run", smallest.get(), 1'000'000);
    }
    if (s.size() > 1) { // rank 0 has one worker, which waits inside of the run for an offer of another rank
        expect("an offer while the run goes on", s.run(heard_elsewhere{}), 4711.0);
    }
}

/// Runs that end before the others have looked.
void short_runs(cluster::session& s, int times) {
    for (int i = 0; i < times; ++i) {
        expect("a short run", s.run(fib{i % 12}), fib{i % 12}());
        if (i % 7 == s.rank()) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1)); // this rank comes late
        }
    }
}

/// journal FILE [PLACE RANK]: a reduction with a journal. Each call adds a byte to FILE.calls. Rank RANK dies
/// by SIGKILL when PLACE calls have been made.
void journaled(cluster::session& s, const std::string& path, long place, int victim) {
    const std::string calls = path + ".calls";
    const int file = open(calls.c_str(), O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (file < 0) {
        std::perror(calls.c_str());
        std::exit(1);
    }
    const auto f = [&](int i) {
        const char one = 'x';
        expect("a byte for a call", write(file, &one, 1), 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(1)); // so that the other ranks take some
        if (place > 0 && s.rank() == victim && lseek(file, 0, SEEK_END) >= place) {
            kill(getpid(), SIGKILL);
        }
        while (place > 0 && s.rank() != victim && lseek(file, 0, SEEK_END) >= place + 50) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1)); // until the job ends
        }
        return 1.0 / (i + 1);
    };
    const double sum = s.map_reduce_journaled(path, 0, 1000, 0.0, f, std::plus<>{});
    close(file);
    expect("a sum with a journal", sum,
           s.map_reduce(
               0, 1000, 0.0, [](int i) { return 1.0 / (i + 1); }, std::plus<>{}));
}

void throwing(cluster::session& s) {
    int elsewhere = 0;
    for (unsigned i = 0; i < 40; ++i) {
        const bool odd = i % 2 != 0;
        try {
            // The last leaves are the second branches, which other ranks take first.
            (void)s.run(thrower{5, 0, 31 - i % 16, odd, 1000});
            expect("an exception", 0, 1);
        } catch (const cluster::remote_error& e) {
            expect("its text", e.what(),
                   odd ? std::string("an exception that is no std::exception")
                       : "leaf " + std::to_string(31 - i % 16));
            expect("its rank", e.rank >= 0 && e.rank < s.size(), true);
            elsewhere += e.rank != 0 ? 1 : 0;
        }
        expect("a run after an exception", s.run(thrower{4, 0, 99, false}), 16);
    }
    expect("errors that were caught in tasks", s.run(catcher{5}), 32);
    if (s.rank() == 0) {
        std::printf("%d of 40 exceptions came from other ranks\n", elsewhere);
    }
    expect("exceptions that came from other ranks", elsewhere > 0, true);
}

/// A branch that fails ends its endless siblings on other ranks. Each rank has one worker.
void cancelling(cluster::session& s) {
    const auto text_of = [](const auto& f) {
        try {
            f();
        } catch (const cluster::remote_error& e) {
            return std::string(e.what());
        }
        return std::string("no error");
    };
    for (int i = 0; i < 3; ++i) {
        expect("the error of a join", text_of([&] { (void)s.run(fails_beside_endless{i}); }),
               "the first branch fails");
        expect("a run after a cancelled one", s.run(fib{5}), 5);
        const auto element = [](int k) { return k == 0 ? failing{}() : endless_leaves{0}(); };
        expect("the error of a reduction",
               text_of([&] { (void)s.map_reduce(0, 2 + i * 4, 0, element, std::plus<>{}); }),
               "the first branch fails");
    }
    expect("a run after all", s.run(fib{18}), 2584);
}

/// Leaves a task in the pool that keeps all workers until the run is over.
std::atomic<bool> run_is_over{false};
cluster::session* only_session = nullptr;
struct leaves_a_task {
    int operator()() const {
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // the only worker has not looked for long
        only_session->pool().submit([] {
            while (!run_is_over) {
            }
        });
        return 1;
    }
};
PILFER_CLUSTER_TASK(leaves_a_task);
void busy_pool(cluster::session& s) {
    only_session = &s;
    expect("a run whose pool has other tasks", s.run(leaves_a_task{}), 1);
    run_is_over = true;
}

/// A task of the pool shares the ranks with a run, and outlives it.
void beside(cluster::session& s) {
    std::atomic<bool> begun{false};
    if (s.rank() == 0) {
        s.pool().submit([&] {
            begun = true;
            (void)thrower{9, 0, 999, false, 1000}();
        });
        while (!begun) {
            std::this_thread::yield();
        }
    }
    for (int i = 0; i < 3; ++i) {
        (void)s.run(thrower{4, 0, 999, false, 1000});
    }
}

void misuse(cluster::session& s) {
    try {
        const cluster::session second(0, nullptr);
        expect("a second session", 0, 1);
    } catch (const pilfer::usage_error&) {
    }
    try {
        const cluster::bound<int> late(0);
        expect("a bound after the session", 0, 1);
    } catch (const pilfer::usage_error&) {
    }
    std::thread([&] {
        try {
            (void)s.run(fib{1});
            expect("another thread", 0, 1);
        } catch (const pilfer::usage_error&) {
        }
    }).join();
    expect("a nested run", s.run(nested{&s}), 7);
}

} // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "exact";
    const char* number = std::getenv("PMIX_RANK");
    const bool bad_pool = mode == "one_has_no_pool" && number != nullptr && std::strcmp(number, "1") == 0;
    try {
        // T3 is 1,572 nodes deep. No machine has memory for the bad stack.
        cluster::session s(argc, argv,
                           {.stack_size = bad_pool ? std::size_t{1} << 62 : std::size_t{8} << 20});
#if defined(OTHER_PROGRAM)
        expect("a task of this program alone", s.run(only_here{}), 1);
#endif
        if (mode == "exact") {
            exact(s);
        } else if (mode == "long") {
            expect("T1", s.run(uts_t1{bench::uts::root_of(bench::uts::t1)}), bench::uts::t1.nodes);
            expect("T3", s.run(uts_t3{bench::uts::root_of(bench::uts::t3)}), bench::uts::t3.nodes);
            short_runs(s, 1000);
        } else if (mode == "t1") {
            expect("T1", s.run(uts_t1{bench::uts::root_of(bench::uts::t1)}), bench::uts::t1.nodes);
        } else if (mode == "endless") {
            (void)s.run(endless{40});
        } else if (mode == "short_runs") {
            short_runs(s, 150);
        } else if (mode == "bounds") {
            bounds(s);
        } else if (mode == "journal" && argc > 2) {
            journaled(s, argv[2], argc > 4 ? std::atol(argv[3]) : 0, argc > 4 ? std::atoi(argv[4]) : 0);
        } else if (mode == "throwing") {
            throwing(s);
        } else if (mode == "cancelling") {
            cancelling(s);
        } else if (mode == "misuse") {
            misuse(s);
        } else if (mode == "killed") {
            (void)s.run(deadly{12, SIGKILL});
        } else if (mode == "stopped") {
            (void)s.run(deadly{12, SIGSTOP});
        } else if (mode == "other_calls") {
            if (s.rank() == 0) {
                (void)s.run(fib{5});
            } else {
                s.run(nothing{});
            }
        } else if (mode == "busy_pool") {
            busy_pool(s);
        } else if (mode == "beside") {
            beside(s);
        } else if (mode == "one_has_no_pool") {
            (void)s.run(fib{5});
        } else if (mode == "one_unwinds") {
            if (s.rank() == 1) {
                throw std::runtime_error("only here");
            }
            (void)s.run(fib{5});
        } else {
            expect("a known mode", 0, 1);
        }
        if (s.rank() == 0) {
            std::uint64_t moved = 0;
            for (const auto& r : s.stats()) {
                moved += r.tasks_in;
            }
            std::printf("%s: %d ranks, %llu tasks moved, %d faults\n", mode.c_str(), s.size(),
                        static_cast<unsigned long long>(moved), faults);
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 3;
    }
    return faults == 0 ? 0 : 1;
}
