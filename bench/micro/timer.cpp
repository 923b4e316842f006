// The cost of alarms and their delay. Figures of an idle machine; the target is under 1 ms.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

pilfer::options with(unsigned workers) {
    pilfer::options o;
    o.workers = workers;
    return o;
}

/// Set and called off again, beside 10,000 others.
void timer_set_and_cancel(benchmark::State& state) {
    pilfer::pool pool(with(1));
    pool.run([&] {
        std::vector<pilfer::timer> others;
        for (int i = 0; i < 10'000; ++i) {
            others.push_back(pilfer::after(1h + i * 1ms, [] {}));
        }
        for (auto _ : state) {
            pilfer::timer t = pilfer::after(1min, [] {});
            benchmark::DoNotOptimize(t.cancel());
        }
        for (auto& t : others) {
            (void)t.cancel();
        }
    });
}
BENCHMARK(timer_set_and_cancel);

/// 10,000 tasks on two workers sleep until times spread over a second.
void timer_lateness(benchmark::State& state) {
    constexpr std::size_t sleepers = 10'000;
    pilfer::pool pool(with(2));
    std::vector<double> late(sleepers);
    for (auto _ : state) {
        pool.run([&] {
            const auto start = clock::now() + 50ms;
            pilfer::scope s;
            for (std::size_t i = 0; i < sleepers; ++i) {
                s.fork([&, i] {
                    const auto until = start + i * 100us;
                    pilfer::sleep_until(until);
                    late[i] = std::chrono::duration<double, std::micro>(clock::now() - until).count();
                });
            }
            s.sync();
        });
    }
    std::sort(late.begin(), late.end());
    state.counters["us_median"] = late[sleepers / 2];
    state.counters["us_99th"] = late[sleepers * 99 / 100];
    state.counters["us_most"] = late.back();
}
BENCHMARK(timer_lateness)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

/// 1 kHz for ten seconds: how many of the 10,000 runs there were.
void timer_every_10s(benchmark::State& state) {
    pilfer::pool pool(with(2));
    std::atomic<int> runs{0};
    for (auto _ : state) {
        pilfer::timer t = pilfer::every(pool, 1ms, [&] { ++runs; });
        pilfer::sleep_for(10s + 500us);
        (void)t.cancel();
    }
    state.counters["runs"] = runs.load();
}
BENCHMARK(timer_every_10s)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

/// An idle pool with a timer far in the future: its use of one core in ten seconds.
void timer_idle(benchmark::State& state) {
    pilfer::pool pool(with(2));
    pilfer::timer far = pilfer::after(pool, 1h, [] {});
    pilfer::sleep_for(100ms);
    const std::clock_t before = std::clock();
    for (auto _ : state) {
        pilfer::sleep_for(10s);
    }
    state.counters["percent_of_a_core"] =
        100.0 * static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC / 10;
    (void)far.cancel();
}
BENCHMARK(timer_idle)->Iterations(1)->Unit(benchmark::kMillisecond)->UseRealTime();

} // namespace
