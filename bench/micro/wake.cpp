// How long it takes until another worker has a task: awake, asleep, and compared with a bare futex.
#include <benchmark/benchmark.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <pilfer/pilfer.hpp>
#include <thread>
#include <vector>

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Longer than an idle worker looks for work before it sleeps.
constexpr auto until_asleep = 2ms;

void spin_for(clock::duration time) {
    for (const auto end = clock::now() + time; clock::now() < end;) {
    }
}

double seconds_between(clock::time_point begin, clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
}

/// One child offered by a busy worker to the other one; gives the seconds until the other one runs it.
double offer_to_other() {
    std::atomic<bool> started{false};
    clock::time_point end;
    pilfer::scope scope;
    const auto begin = clock::now();
    scope.fork([&] {
        end = clock::now();
        started.store(true, std::memory_order_release);
    });
    // The owner keeps forking, as a busy program does, and so sees that a thief asks for work.
    while (!started.load(std::memory_order_acquire)) {
        pilfer::join([] {}, [] {});
    }
    scope.sync();
    return seconds_between(begin, end);
}

pilfer::options two_workers() {
    pilfer::options options;
    options.workers = 2;
    return options;
}

void report(benchmark::State& state, const pilfer::counters& before, const pilfer::counters& after) {
    const auto each = [](std::uint64_t count) {
        return benchmark::Counter(static_cast<double>(count), benchmark::Counter::kAvgIterations);
    };
    state.counters["steals"] = each(after.run_stolen - before.run_stolen);
    state.counters["sleeps"] = each(after.sleeps - before.sleeps);
    state.counters["exposures"] = each(after.exposures - before.exposures);
}

/// From the offer to the theft; `pause` is spent before each offer.
void offer(benchmark::State& state, clock::duration pause) {
    pilfer::pool pool(two_workers());
    const auto before = pool.counters();
    pool.run([&] {
        for (auto _ : state) {
            spin_for(pause);
            state.SetIterationTime(offer_to_other());
        }
    });
    report(state, before, pool.counters());
}

void steal(benchmark::State& state) { offer(state, 0ms); }
BENCHMARK(steal)->UseManualTime();

void wake_by_worker(benchmark::State& state) { offer(state, until_asleep); }
BENCHMARK(wake_by_worker)->UseManualTime();

/// The silent owner has announced a task while every worker was busy. The time starts when the other worker
/// runs out of work, and ends at the first line of that task. It covers the whole search, which ends with a
/// reach.
void reach_latency(benchmark::State& state) {
    pilfer::pool pool(two_workers());
    const auto before = pool.counters();
    std::vector<double> each;
    for (auto _ : state) {
        std::atomic<bool> held{false};
        std::atomic<bool> ran{false};
        clock::time_point idle;
        clock::time_point end;
        std::atomic<bool> announced{false};
        auto other = pool.async([&] {
            held.store(true, std::memory_order_release);
            while (!announced.load(std::memory_order_acquire)) {
            }
            idle = clock::now();
        });
        pool.run([&] {
            while (!held.load(std::memory_order_acquire)) {
            }
            pilfer::join([] {}, [] {}); // answers requests of earlier rounds in the signal word
            pilfer::scope scope;
            scope.fork([&] {
                end = clock::now();
                ran.store(true, std::memory_order_release);
            });
            spin_for(20us); // the signal word is silent, and stays so
            announced.store(true, std::memory_order_release);
            while (!ran.load(std::memory_order_acquire)) {
            }
            scope.sync();
        });
        other.get();
        each.push_back(seconds_between(idle, end));
        state.SetIterationTime(each.back());
    }
    report(state, before, pool.counters());
    // Of the single times: their mean, which the first column shows, belongs to the few that met a busy
    // machine.
    const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
    std::nth_element(each.begin(), middle, each.end());
    state.counters["median_us"] = *middle * 1e6;
    state.counters["reaches"] = benchmark::Counter(
        static_cast<double>(pool.counters().reaches - before.reaches), benchmark::Counter::kAvgIterations);
}
BENCHMARK(reach_latency)->UseManualTime();

/// From a foreign thread's call into a sleeping pool to the first line of the task.
void wake_by_submission(benchmark::State& state) {
    pilfer::pool pool(two_workers());
    const auto before = pool.counters();
    for (auto _ : state) {
        spin_for(until_asleep);
        clock::time_point end;
        const auto begin = clock::now();
        pool.run([&] { end = clock::now(); });
        state.SetIterationTime(seconds_between(begin, end));
    }
    report(state, before, pool.counters());
}
BENCHMARK(wake_by_submission)->UseManualTime();

/// From a foreign thread's call to the first line of the task, half a millisecond after the last task ended,
/// by idle policy. By then balanced workers have long been asleep.
void wake_after_pause(benchmark::State& state, pilfer::idle how, bool warm) {
    pilfer::options options = two_workers();
    options.spin = how;
    pilfer::pool pool(options);
    const auto kept = warm ? std::make_unique<pilfer::keep_warm>(pool) : nullptr;
    const auto before = pool.counters();
    std::vector<double> each;
    for (auto _ : state) {
        std::this_thread::sleep_for(500us); // its CPU is free for a worker that looks
        clock::time_point end;
        const auto begin = clock::now();
        pool.run([&] { end = clock::now(); });
        each.push_back(seconds_between(begin, end));
        state.SetIterationTime(each.back());
    }
    report(state, before, pool.counters());
    const auto middle = each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2);
    std::nth_element(each.begin(), middle, each.end());
    state.counters["median_us"] = *middle * 1e6;
}
BENCHMARK_CAPTURE(wake_after_pause, balanced, pilfer::idle::balanced, false)->UseManualTime();
BENCHMARK_CAPTURE(wake_after_pause, latency, pilfer::idle::latency, false)->UseManualTime();
BENCHMARK_CAPTURE(wake_after_pause, battery, pilfer::idle::battery, false)->UseManualTime();
BENCHMARK_CAPTURE(wake_after_pause, kept_warm, pilfer::idle::balanced, true)->UseManualTime();

void futex(std::atomic<int>& word, int operation, int value) {
    static_assert(sizeof(std::atomic<int>) == sizeof(int));
    syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

/// The yardstick: a thread sleeps on a word, another one changes it and wakes the first.
void wake_by_futex(benchmark::State& state) {
    std::atomic<int> turn{0}; // even: the sleeper waits; odd: it has been called
    std::atomic<bool> stop{false};
    clock::time_point end;
    std::thread sleeper([&] {
        for (int seen = 0;; seen += 2) {
            while (turn.load(std::memory_order_acquire) == seen)
                futex(turn, FUTEX_WAIT, seen);
            end = clock::now();
            if (stop.load(std::memory_order_relaxed))
                return;
            turn.store(seen + 2, std::memory_order_release);
        }
    });
    const auto call = [&] {
        const int now = turn.load(std::memory_order_relaxed);
        const auto begin = clock::now();
        turn.store(now + 1, std::memory_order_release);
        futex(turn, FUTEX_WAKE, 1);
        return begin;
    };
    for (auto _ : state) {
        spin_for(until_asleep);
        const int now = turn.load(std::memory_order_relaxed);
        const auto begin = call();
        while (turn.load(std::memory_order_acquire) != now + 2) {
        }
        state.SetIterationTime(seconds_between(begin, end));
    }
    stop.store(true, std::memory_order_relaxed);
    call();
    sleeper.join();
}
BENCHMARK(wake_by_futex)->UseManualTime();

} // namespace
