// The cost of making a pool and of ending it.
#include <benchmark/benchmark.h>

#include <chrono>
#include <pilfer/pilfer.hpp>

namespace {

using clock = std::chrono::steady_clock;

double seconds_since(clock::time_point begin) {
    return std::chrono::duration<double>(clock::now() - begin).count();
}

pilfer::options two_workers() {
    pilfer::options options;
    options.workers = 2;
    return options;
}

/// The first one of the process, which reads the topology: --benchmark_filter=pool_first, or it is a later
/// one.
void pool_first(benchmark::State& state) {
    for (auto _ : state) {
        const auto begin = clock::now();
        pilfer::pool pool(two_workers());
        state.SetIterationTime(seconds_since(begin));
    }
}
BENCHMARK(pool_first)->UseManualTime()->Iterations(1)->Unit(benchmark::kMicrosecond);

void pool_start(benchmark::State& state) {
    for (auto _ : state) {
        const auto begin = clock::now();
        pilfer::pool pool(two_workers());
        state.SetIterationTime(seconds_since(begin));
    }
}
BENCHMARK(pool_start)->UseManualTime()->Unit(benchmark::kMicrosecond);

/// Until the pool has run a task.
void pool_start_and_run(benchmark::State& state) {
    for (auto _ : state) {
        const auto begin = clock::now();
        pilfer::pool pool(two_workers());
        benchmark::DoNotOptimize(pool.run([] { return 1; }));
        state.SetIterationTime(seconds_since(begin));
    }
}
BENCHMARK(pool_start_and_run)->UseManualTime()->Unit(benchmark::kMicrosecond);

void pool_shutdown(benchmark::State& state) {
    for (auto _ : state) {
        pilfer::pool pool(two_workers());
        pool.run([] {});
        const auto begin = clock::now();
        pool.shutdown();
        state.SetIterationTime(seconds_since(begin));
    }
}
BENCHMARK(pool_shutdown)->UseManualTime()->Unit(benchmark::kMicrosecond);

} // namespace
