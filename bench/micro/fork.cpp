// The price of a fork on one worker, without thefts.
#include <benchmark/benchmark.h>

#include <pilfer/pilfer.hpp>

namespace {

pilfer::options one_worker(pilfer::exposure exposure) {
    pilfer::options options;
    options.workers = 1;
    options.balance.exposure = exposure;
    return options;
}

/// Stands for work: must be called, may not be optimised away.
[[gnu::noinline]] void work() { asm volatile(""); }

/// Runs `fork` in a loop inside a pool of one worker.
template <class Fork>
void measure(benchmark::State& state, pilfer::exposure exposure, Fork fork) {
    pilfer::pool pool(one_worker(exposure));
    pool.run([&] {
        for (auto _ : state)
            fork();
    });
    const auto counted = pool.counters();
    state.counters["exposures"] = benchmark::Counter(static_cast<double>(counted.exposures));
}

void two_calls(benchmark::State& state) {
    for (auto _ : state) {
        work();
        work();
    }
}
BENCHMARK(two_calls);

void join(benchmark::State& state) {
    measure(state, pilfer::exposure::on_demand, [] { pilfer::join(work, work); });
}
BENCHMARK(join)->UseRealTime();

// Against `join`: the cost of exposing a task and reclaiming it.
void join_exposed(benchmark::State& state) {
    measure(state, pilfer::exposure::always_public, [] { pilfer::join(work, work); });
}
BENCHMARK(join_exposed)->UseRealTime();

void spawn(benchmark::State& state) {
    measure(state, pilfer::exposure::on_demand, [] {
        pilfer::scope scope;
        scope.spawn(work);
        work();
        scope.sync();
    });
}
BENCHMARK(spawn)->UseRealTime();

void fork(benchmark::State& state) {
    measure(state, pilfer::exposure::on_demand, [] {
        pilfer::scope scope;
        scope.fork(work);
        work();
        scope.sync();
    });
}
BENCHMARK(fork)->UseRealTime();

// A spawn with a weight, and a join on top of a task that has one: the cost of announcing while a deque
// counts weights.
void spawn_weighted(benchmark::State& state) {
    measure(state, pilfer::exposure::on_demand, [] {
        pilfer::scope scope;
        scope.spawn({.weight = 5}, work);
        work();
        scope.sync();
    });
}
BENCHMARK(spawn_weighted)->UseRealTime();

void fork_weighted(benchmark::State& state) {
    measure(state, pilfer::exposure::on_demand, [] {
        pilfer::scope scope;
        scope.fork({.weight = 5}, work);
        work();
        scope.sync();
    });
}
BENCHMARK(fork_weighted)->UseRealTime();

void join_on_weight(benchmark::State& state) {
    pilfer::pool pool(one_worker(pilfer::exposure::on_demand));
    pool.run([&] {
        pilfer::scope scope;
        scope.fork({.weight = 5}, work); // stays at the bottom until the end
        for (auto _ : state)
            pilfer::join(work, work);
    });
}
BENCHMARK(join_on_weight)->UseRealTime();

void async_get(benchmark::State& state) {
    measure(state, pilfer::exposure::on_demand, [] { pilfer::async(work).get(); });
}
BENCHMARK(async_get)->UseRealTime();

// A recursion that forks everywhere, as multiples of the plain recursion. docs/fast-path.md shows the
// figures.
[[gnu::noinline]] long fib_by_calls(long n) { return n < 2 ? n : fib_by_calls(n - 1) + fib_by_calls(n - 2); }
[[gnu::noinline]] long fib_by_join(long n) {
    if (n < 2)
        return n;
    auto [a, b] = pilfer::join([=] { return fib_by_join(n - 1); }, [=] { return fib_by_join(n - 2); });
    return a + b;
}
[[gnu::noinline]] long fib_by_spawn(long n) {
    if (n < 2)
        return n;
    long a = 0;
    pilfer::scope scope;
    scope.spawn([&a, n] { a = fib_by_spawn(n - 1); });
    const long b = fib_by_spawn(n - 2);
    scope.sync();
    return a + b;
}
[[gnu::noinline]] long fib_by_fork(long n) {
    if (n < 2)
        return n;
    long a = 0;
    pilfer::scope scope;
    scope.fork([&a, n] { a = fib_by_fork(n - 1); });
    const long b = fib_by_fork(n - 2);
    scope.sync();
    return a + b;
}

template <long (*Fib)(long)>
void fib(benchmark::State& state) {
    constexpr long n = 20;
    constexpr long forks = 10'945; // the calls with n >= 2
    measure(state, pilfer::exposure::on_demand, [] { benchmark::DoNotOptimize(Fib(n)); });
    state.SetItemsProcessed(state.iterations() * forks);
}
BENCHMARK(fib<fib_by_calls>)->Name("fib/calls")->UseRealTime();
BENCHMARK(fib<fib_by_join>)->Name("fib/join")->UseRealTime();
BENCHMARK(fib<fib_by_spawn>)->Name("fib/spawn")->UseRealTime();
BENCHMARK(fib<fib_by_fork>)->Name("fib/fork")->UseRealTime();

} // namespace
