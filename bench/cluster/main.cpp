// The program behind cluster.py: bench-cluster join | theft | pushes MS | empty | uts | skewed | idle
// SECONDS, also under mpirun.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <ranges>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pilfer/cluster.hpp>

#include "common/uts.hpp"

namespace {

namespace cluster = pilfer::cluster;
using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
    return std::chrono::duration<double>(clock_type::now() - begin).count();
}

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

/// fib without a cluster.
struct plain_fib {
    int n;
    long operator()() const {
        if (n < 2) {
            return n;
        }
        const plain_fib x{n - 1};
        const plain_fib y{n - 2};
        auto [a, b] = pilfer::join([&] { return x(); }, [&] { return y(); });
        return a + b;
    }
};

template <const bench::uts::tree& Tree>
struct uts {
    bench::uts::node n;
    std::uint64_t operator()() const {
        const auto children = std::views::iota(0u, bench::uts::children_of(n, Tree));
        return 1 + cluster::sum(children, [this](unsigned i) { return uts{bench::uts::child_of(n, i)}; });
    }
};
using t3 = uts<bench::uts::t3>;
PILFER_CLUSTER_TASK(t3);

double skewed(int i) {
    double x = 1;
    for (int k = 0; k < i * i / 10; ++k) {
        x = x * 0.999 + 0.5 / (k + 1);
    }
    return x;
}

/// When the task begins, by the clock that all processes of this machine share.
struct stamp {
    long operator()() const { return static_cast<long>(clock_type::now().time_since_epoch().count()); }
};
PILFER_CLUSTER_TASK(stamp);
struct busy {
    double seconds;
    long operator()() const {
        const auto begin = clock_type::now();
        while (seconds_since(begin) < seconds) {
        }
        return static_cast<long>(begin.time_since_epoch().count());
    }
};
PILFER_CLUSTER_TASK(busy);
/// Offers one branch and keeps its worker until the branch has been taken and has run elsewhere.
struct theft {
    double seconds;
    long operator()() const {
        const long offered = stamp{}(); // before the join: this worker may lose its CPU in it
        const long begun = std::get<1>(cluster::join(busy{seconds}, stamp{}));
        return begun - offered; // nanoseconds
    }
};
PILFER_CLUSTER_TASK(theft);

/// Repeats that several times in one run: the other rank has been idle for as long as a branch takes.
struct pushes {
    int times;
    double seconds;
    std::vector<long> operator()() const {
        std::vector<long> ns;
        for (int i = 0; i < times; ++i) {
            ns.push_back(theft{seconds}());
        }
        return ns;
    }
};
PILFER_CLUSTER_TASK(pushes);

/// An empty branch for another process: this one keeps its worker until the branch has begun. The word is
/// shared by all processes of this machine: a file that PILFER_BENCH_WORD names.
std::atomic_ref<int> shared_word() {
    static int* const word = [] {
        const char* file = std::getenv("PILFER_BENCH_WORD");
        const int f = file == nullptr ? -1 : ::open(file, O_RDWR | O_CREAT, 0600);
        void* const at = f < 0 || ::ftruncate(f, sizeof(int)) != 0
                             ? MAP_FAILED
                             : ::mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, f, 0);
        if (at == MAP_FAILED) {
            std::fprintf(stderr, "bench-cluster: PILFER_BENCH_WORD names no file that can be shared\n");
            std::exit(1);
        }
        return static_cast<int*>(at);
    }();
    return std::atomic_ref(*word);
}
struct mark_begun {
    int number;
    int operator()() const {
        shared_word().store(number);
        return static_cast<int>(::getpid());
    }
};
PILFER_CLUSTER_TASK(mark_begun);
struct until_begun {
    int number;
    int operator()() const {
        const auto begin = clock_type::now();
        while (shared_word().load() != number &&
               seconds_since(begin) < 0.01) {                           // perhaps its job is here again
            std::this_thread::sleep_for(std::chrono::microseconds(10)); // the machine may have few CPUs
        }
        return static_cast<int>(::getpid());
    }
};
PILFER_CLUSTER_TASK(until_begun);
/// The time of each of several that another process ran, one after another.
struct empty_jobs {
    int times;
    std::vector<long> operator()() const {
        std::vector<long> ns;
        for (int i = 1; i <= times; ++i) {
            const auto begin = clock_type::now();
            const auto [here, there] = cluster::join(until_begun{i}, mark_begun{i});
            if (here != there) {
                ns.push_back(static_cast<long>((clock_type::now() - begin).count()));
            }
        }
        return ns;
    }
};
PILFER_CLUSTER_TASK(empty_jobs);

void print_thefts(std::vector<long> ns) {
    if (ns.empty()) {
        return;
    }
    std::ranges::sort(ns);
    std::printf("median_us %.1f\nworst_us %.1f\n", static_cast<double>(ns[ns.size() / 2]) / 1e3,
                static_cast<double>(ns.back()) / 1e3);
}

/// The work of the ranks for the balance, and the part of their time without work.
void print_balance(const cluster::session& s, double seconds) {
    cluster::rank_stats all;
    for (const cluster::rank_stats& r : s.stats()) {
        all.asks += r.asks;
        all.thefts += r.thefts;
        all.messages += r.messages;
        all.idle_ns += r.idle_ns;
    }
    std::printf("asks %llu\nthefts %llu\nmessages %llu\nidle_percent %.1f\n",
                static_cast<unsigned long long>(all.asks), static_cast<unsigned long long>(all.thefts),
                static_cast<unsigned long long>(all.messages),
                static_cast<double>(all.idle_ns) / 1e7 / seconds / s.size());
}

void join_rows(cluster::session& s) {
    constexpr int n = 32;
    constexpr double joins = 3524577; // fib(33) - 1
    std::vector<double> ours;
    std::vector<double> plain;
    for (int i = 0; i < 21; ++i) { // interleaved
        auto begin = clock_type::now();
        (void)s.run(fib{n});
        ours.push_back(seconds_since(begin));
        begin = clock_type::now();
        (void)s.pool().run(plain_fib{n});
        plain.push_back(seconds_since(begin));
    }
    const auto median = [](std::vector<double>& v) {
        std::ranges::sort(v);
        return v[v.size() / 2];
    };
    std::printf("cluster_join_ns %.3f\npilfer_join_ns %.3f\n", median(ours) / joins * 1e9,
                median(plain) / joins * 1e9);
}

} // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    cluster::session s(argc, argv, {.stack_size = std::size_t{8} << 20});
    const auto begin = clock_type::now();
    if (mode == "join") {
        join_rows(s);
    } else if (mode == "uts") {
        const std::uint64_t nodes = s.run(t3{bench::uts::root_of(bench::uts::t3)});
        const double seconds = seconds_since(begin);
        if (s.rank() == 0) {
            std::printf("seconds %.4f\nexact %d\nnodes %llu\n", seconds,
                        nodes == bench::uts::t3.nodes ? 1 : 0, static_cast<unsigned long long>(nodes));
            print_balance(s, seconds);
        }
    } else if (mode == "skewed") {
        const double sum = s.map_reduce(0, 2000, 0.0, skewed, std::plus<>{});
        const double seconds = seconds_since(begin);
        if (s.rank() == 0) {
            std::printf("seconds %.4f\nsum %a\n", seconds, sum);
            print_balance(s, seconds);
        }
    } else if (mode == "theft") {
        std::vector<long> ns;
        for (int i = 0; i < 200; ++i) {
            ns.push_back(s.run(theft{0.01}));
        }
        if (s.rank() == 0) {
            print_thefts(ns);
        }
    } else if (mode == "pushes") {
        const std::vector<long> ns = s.run(pushes{200, argc > 2 ? std::atof(argv[2]) / 1e3 : 0.01});
        if (s.rank() == 0) {
            print_thefts(ns);
        }
    } else if (mode == "empty") {
        const std::vector<long> ns = s.run(empty_jobs{500});
        if (s.rank() == 0) {
            std::printf("elsewhere %zu\n", ns.size());
            print_thefts(ns);
        }
    } else if (mode == "idle") {
        const std::clock_t cpu = std::clock();
        const double seconds = argc > 2 ? std::atof(argv[2]) : 3;
        // Rank 0 has one branch that no rank can help with; the others wait.
        (void)s.run(busy{seconds});
        if (s.rank() == 1) {
            std::printf("percent %.3f\n", 100.0 * static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC /
                                              seconds_since(begin));
        }
    }
}
