// bench-pipeline: pilfer::pipeline beside oneTBB's parallel_pipeline and plain calls, in one interleaved run.
//
// Arguments: rounds (default 15), microseconds of a run (default 100,000). Prints medians and ratios of them.
#include <time.h>

#include <algorithm>
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

namespace {

constexpr std::size_t tokens = 8;

[[nodiscard]] std::int64_t now() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

/// Steps of a chain of multiplications: work that takes as long on each processor of a machine, however often
/// it is interrupted.
[[nodiscard]] std::uint64_t work(std::uint64_t x, std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        x ^= x >> 29;
    }
    return x;
}

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
    std::vector<double> times = {};

    /// Runs it once. False if the sum is wrong.
    [[nodiscard]] bool once(const shape& s, std::uint64_t answer) {
        const std::int64_t begin = now();
        const bool right = run(s) == answer;
        times.push_back(static_cast<double>(now() - begin) / static_cast<double>(s.items));
        return right;
    }
};

[[nodiscard]] double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
}

/// Nanoseconds of a step.
[[nodiscard]] double step_time() {
    double best = 1e9;
    volatile std::uint64_t result = 0;
    for (int i = 0; i < 20; ++i) {
        const std::int64_t begin = now();
        result = work(static_cast<std::uint64_t>(begin), 100'000);
        best = std::min(best, static_cast<double>(now() - begin) / 100'000);
    }
    (void)result;
    return best;
}

} // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 15;
    const double run_us = argc > 2 ? std::atof(argv[2]) : 100'000;
    const double step = step_time();
    std::printf("%zu tokens; medians of %d rounds; ns an item\n", tokens, rounds);
    std::printf("%-8s | %6s | %7s | %8s | %8s | %8s | %s\n", "work", "us", "workers", "plain", "pilfer",
                "oneTBB", "oneTBB / pilfer");
    bool right = true;
    for (const unsigned workers : {1U, 2U}) {
        pilfer::options o;
        o.workers = workers;
        pilfer::pool pool(o);
#ifdef BENCH_PIPELINE_TBB
        const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, workers);
#endif
        for (const char* kind : {"middle", "equal"}) {
            for (const double us : {0.1, 1.0, 10.0}) {
                const auto steps = static_cast<std::uint64_t>(us * 1000 / step);
                shape s{static_cast<std::uint64_t>(run_us / us), 0, steps, 0};
                if (kind[0] == 'e') {
                    s.source = s.middle = s.last = steps / 3;
                }
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
                        right = (is_task ? pool.run([&] { return w.once(s, answer); }) : w.once(s, answer)) &&
                                right;
                    }
                }
                const double pilfer_time = median(ways[1].times);
                const double tbb_time = ways.size() > 2 ? median(ways[2].times) : 0;
                std::printf("%-8s | %6.1f | %7u | %8.0f | %8.0f | %8.0f | %.2f\n", kind, us, workers,
                            median(ways[0].times), pilfer_time, tbb_time, tbb_time / pilfer_time);
            }
        }
    }
    if (!right) {
        std::fputs("bench-pipeline: a sum is wrong\n", stderr);
        return 1;
    }
    return 0;
}
