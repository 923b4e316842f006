// The cost of a coroutine of a pool, on one worker.
#include <benchmark/benchmark.h>

#include <pilfer/pilfer.hpp>

namespace {

pilfer::options one_worker() {
    pilfer::options options;
    options.workers = 1;
    return options;
}

pilfer::task<int> one() { co_return 1; }

/// Awaits the result of `make` again and again, in one coroutine.
template <class Make>
void measure(benchmark::State& state, Make make) {
    pilfer::pool pool(one_worker());
    pool.run([](benchmark::State& s, pilfer::pool& p, Make f) -> pilfer::task<> {
        for (auto _ : s) {
            co_await f(p);
        }
    }(state, pool, make));
}

void coroutine_ready_task(benchmark::State& state) {
    measure(state, [](pilfer::pool&) { return one(); });
}
BENCHMARK(coroutine_ready_task)->MeasureProcessCPUTime()->UseRealTime();

void coroutine_ready_future(benchmark::State& state) {
    pilfer::promise<int> promise;
    promise.set_value(1);
    measure(state, [f = promise.get_future()](pilfer::pool&) { return f; });
}
BENCHMARK(coroutine_ready_future)->MeasureProcessCPUTime()->UseRealTime();

// Suspends, goes through the pool's queue, and is resumed by the same worker.
void coroutine_schedule(benchmark::State& state) {
    measure(state, [](pilfer::pool& p) { return p.schedule(); });
}
BENCHMARK(coroutine_schedule)->MeasureProcessCPUTime()->UseRealTime();

// Suspends until a task of the worker's own deque has ended. The second case is a function that waits for
// such a task.
void coroutine_async(benchmark::State& state) {
    measure(state, [](pilfer::pool& p) { return p.async([] { return 1; }); });
}
BENCHMARK(coroutine_async)->MeasureProcessCPUTime()->UseRealTime();

void function_async(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([&] {
        for (auto _ : state) {
            benchmark::DoNotOptimize(pool.async([] { return 1; }).get());
        }
    });
}
BENCHMARK(function_async)->MeasureProcessCPUTime()->UseRealTime();

// Locks and unlocks a free mutex. The second case does so by lock(), in a coroutine as well.
void coroutine_lock(benchmark::State& state) {
    pilfer::mutex m;
    measure(state, [&m](pilfer::pool&) { return pilfer::scoped_lock(m); });
}
BENCHMARK(coroutine_lock)->MeasureProcessCPUTime()->UseRealTime();

void function_lock(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([](benchmark::State& s) -> pilfer::task<> {
        pilfer::mutex m;
        for (auto _ : s) {
            m.lock();
            m.unlock();
        }
        co_return;
    }(state));
}
BENCHMARK(function_lock)->MeasureProcessCPUTime()->UseRealTime();

// Another coroutine waits, and is resumed with the lock. Contains an async and two suspensions.
void coroutine_lock_passed(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([](benchmark::State& s, pilfer::pool& p) -> pilfer::task<> {
        pilfer::mutex m;
        for (auto _ : s) {
            auto guard = co_await pilfer::scoped_lock(m);
            const auto other = p.async(
                [](pilfer::mutex& mutex) -> pilfer::task<> { (void)co_await pilfer::scoped_lock(mutex); }(m));
            co_await p.schedule(); // the other one waits
            guard.unlock();
            co_await other;
        }
    }(state, pool));
}
BENCHMARK(coroutine_lock_passed)->MeasureProcessCPUTime()->UseRealTime();

} // namespace
