// bench-pipeline: pilfer::pipeline beside oneTBB's parallel_pipeline and plain calls, in one interleaved run.
//
// bench-pipeline [ROUNDS [US]]: rounds (default 15), microseconds of a run (default 100,000). Prints medians
// and ratios of them. bench-pipeline ROUNDS US NS KIND WORKERS: items of NS nanoseconds alone. Prints one
// line of JSON with the seconds of an item.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#ifdef BENCH_PIPELINE_TBB
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#endif

#include <pilfer/pilfer.hpp>

#include "common/work.hpp"

namespace {

using bench::work;

constexpr std::size_t tokens = 8;

/// A pipeline of a serial, a parallel and a serial stage, and the work of an item in each of them, in steps.
struct shape {
    std::uint64_t items;
    std::uint64_t source;
    std::uint64_t middle;
    std::uint64_t last;
};

[[nodiscard]] std::uint64_t by_plain_calls(const shape& s) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < s.items; ++i) {
        sum = sum * 31 + work(work(work(i, s.source), s.middle), s.last);
    }
    return sum;
}

[[nodiscard]] std::uint64_t by_pilfer(const shape& s) {
    std::uint64_t sum = 0;
    std::uint64_t i = 0;
    pilfer::pipeline(tokens, pilfer::serial_in_order([&]() -> std::optional<std::uint64_t> {
                         if (i == s.items) {
                             return std::nullopt;
                         }
                         return work(i++, s.source);
                     }),
                     pilfer::parallel_stage([&](std::uint64_t x) { return work(x, s.middle); }),
                     pilfer::serial_in_order([&](std::uint64_t x) { sum = sum * 31 + work(x, s.last); }));
    return sum;
}

#ifdef BENCH_PIPELINE_TBB
[[nodiscard]] std::uint64_t by_tbb(const shape& s) {
    std::uint64_t sum = 0;
    std::uint64_t i = 0;
    using tbb::filter_mode;
    tbb::parallel_pipeline(
        tokens, tbb::make_filter<void, std::uint64_t>(filter_mode::serial_in_order,
                                                      [&](tbb::flow_control& control) -> std::uint64_t {
                                                          if (i == s.items) {
                                                              control.stop();
                                                              return 0;
                                                          }
                                                          return work(i++, s.source);
                                                      }) &
                    tbb::make_filter<std::uint64_t, std::uint64_t>(
                        filter_mode::parallel, [&](std::uint64_t x) { return work(x, s.middle); }) &
                    tbb::make_filter<std::uint64_t, void>(filter_mode::serial_in_order, [&](std::uint64_t x) {
                        sum = sum * 31 + work(x, s.last);
                    }));
    return sum;
}
#endif

/// One way to run a pipeline.
struct way {
    std::string name;
    std::function<std::uint64_t(const shape&)> run;
    std::vector<double> times = {}; ///< seconds of an item

    /// Runs it once. False if the sum is wrong.
    [[nodiscard]] bool once(const shape& s, std::uint64_t answer) {
        bool right = false;
        const double took = bench::seconds([&] { right = run(s) == answer; });
        times.push_back(took / static_cast<double>(s.items));
        return right;
    }
};

/// Items whose work is all in the parallel stage ("middle"), or a third in each ("equal").
[[nodiscard]] shape shape_of(const std::string& kind, std::uint64_t items, std::uint64_t steps) {
    return kind == "middle" ? shape{items, 0, steps, 0} : shape{items, steps / 3, steps / 3, steps / 3};
}

/// Runs all ways in turn. Ends the program if a sum is wrong.
[[nodiscard]] std::vector<way> measure(const shape& s, int rounds, pilfer::pool& pool) {
    std::vector<way> ways;
    ways.push_back({"plain", by_plain_calls});
    ways.push_back({"pilfer", by_pilfer});
#ifdef BENCH_PIPELINE_TBB
    ways.push_back({"oneTBB", by_tbb});
#endif
    const std::uint64_t answer = by_plain_calls(s);
    for (int round = 0; round < rounds; ++round) {
        for (way& w : ways) {
            // The thread that calls oneTBB is one of its workers. So that of pilfer is one, too.
            const bool is_task = w.name == "pilfer";
            if (!(is_task ? pool.run([&] { return w.once(s, answer); }) : w.once(s, answer))) {
                std::fputs("bench-pipeline: a sum is wrong\n", stderr);
                std::exit(1);
            }
        }
    }
    return ways;
}

/// Workers of both runtimes.
struct runtimes {
    pilfer::pool pool;
#ifdef BENCH_PIPELINE_TBB
    tbb::global_control limit;
    explicit runtimes(unsigned workers)
        : pool({.workers = workers}), limit(tbb::global_control::max_allowed_parallelism, workers) {}
#else
    explicit runtimes(unsigned workers) : pool({.workers = workers}) {}
#endif
};

void print_tables(int rounds, double run_us) {
    const std::uint64_t steps_of_1_us = bench::steps_for(1000);
    std::printf("%zu tokens; medians of %d rounds; ns an item\n", tokens, rounds);
    std::printf("%-8s | %6s | %7s | %8s | %8s | %8s | %s\n", "work", "us", "workers", "plain", "pilfer",
                "oneTBB", "oneTBB / pilfer");
    for (const unsigned workers : {1U, 2U}) {
        runtimes both(workers);
        for (const char* kind : {"middle", "equal"}) {
            for (const double us : {0.1, 1.0, 10.0}) {
                const auto steps = static_cast<std::uint64_t>(us * static_cast<double>(steps_of_1_us));
                const shape s = shape_of(kind, static_cast<std::uint64_t>(run_us / us), steps);
                const std::vector<way> ways = measure(s, rounds, both.pool);
                const double pilfer_time = bench::median(ways[1].times) * 1e9;
                const double tbb_time = ways.size() > 2 ? bench::median(ways[2].times) * 1e9 : 0;
                std::printf("%-8s | %6.1f | %7u | %8.0f | %8.0f | %8.0f | %.2f\n", kind, us, workers,
                            bench::median(ways[0].times) * 1e9, pilfer_time, tbb_time,
                            tbb_time / pilfer_time);
            }
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
    const double run_us = argc > 2 ? std::atof(argv[2]) : 100'000;
    if (argc <= 5) {
        print_tables(rounds, run_us);
        return 0;
    }
    const double ns = std::atof(argv[3]);
    runtimes both(static_cast<unsigned>(std::atoi(argv[5])));
    const auto items = static_cast<std::uint64_t>(run_us * 1000 / std::max(ns, 20.0));
    std::vector<bench::timed> results;
    for (const way& w : measure(shape_of(argv[4], items, bench::steps_for(ns)), rounds, both.pool)) {
        results.push_back({w.name, w.times});
    }
    bench::print_json(results);
}
