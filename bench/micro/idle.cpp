// The cost of a pool that has nothing to do: processor time over 10 s, in percent of one core.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <chrono>
#include <pilfer/pilfer.hpp>
#include <thread>

namespace {

using clock = std::chrono::steady_clock;
constexpr std::chrono::seconds observed{10};

double processor_seconds(int who) {
    rusage usage{};
    getrusage(who, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

pilfer::options automatic(benchmark::State& state) {
    pilfer::options options;
    options.workers = static_cast<unsigned>(state.range(0));
    return options;
}

void report(benchmark::State& state, double processor, clock::duration time) {
    const double seconds = std::chrono::duration<double>(time).count();
    state.SetIterationTime(seconds);
    state.counters["percent_of_a_core"] = benchmark::Counter(100 * processor / seconds);
}

void idle_pool(benchmark::State& state) {
    pilfer::pool pool(automatic(state));
    pool.run([] {});
    for (auto _ : state) {
        const double before = processor_seconds(RUSAGE_SELF);
        const auto begin = clock::now();
        std::this_thread::sleep_for(observed);
        report(state, processor_seconds(RUSAGE_SELF) - before, clock::now() - begin);
    }
}
BENCHMARK(idle_pool)->Arg(2)->Arg(64)->UseManualTime()->Iterations(1)->Unit(benchmark::kSecond);

/// The others, while one worker is busy and forks nothing.
void idle_beside_one_busy_worker(benchmark::State& state) {
    pilfer::pool pool(automatic(state));
    for (auto _ : state) {
        pool.run([&] {
            const double before = processor_seconds(RUSAGE_SELF) - processor_seconds(RUSAGE_THREAD);
            const auto begin = clock::now();
            while (clock::now() - begin < observed) {
            }
            const double others = processor_seconds(RUSAGE_SELF) - processor_seconds(RUSAGE_THREAD) - before;
            report(state, others, clock::now() - begin);
        });
    }
}
BENCHMARK(idle_beside_one_busy_worker)
    ->Arg(2)
    ->Arg(64)
    ->UseManualTime()
    ->Iterations(1)
    ->Unit(benchmark::kSecond);

} // namespace
