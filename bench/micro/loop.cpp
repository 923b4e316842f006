// The cost of a loop by itself, on one worker. docs/investigations/loop-pieces.md shows the figures.
#include <benchmark/benchmark.h>

#include <pilfer/pilfer.hpp>

namespace {

void empty_loop(benchmark::State& state) {
    pilfer::pool pool({.workers = 1});
    const auto bodies = static_cast<int>(state.range(0));
    pool.run([&] {
        for (auto _ : state)
            pilfer::for_each(0, bodies, [](int i) { benchmark::DoNotOptimize(i); });
    });
}
BENCHMARK(empty_loop)->Arg(1)->Arg(2)->Arg(64)->UseRealTime();

} // namespace
