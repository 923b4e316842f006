// The price of a task whose result is fetched: from a task, and from outside the pool.
#include <benchmark/benchmark.h>

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#if defined(BENCH_HAS_TBB)
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#endif

#include <pilfer/pilfer.hpp>

namespace {

[[gnu::noinline]] void work() { asm volatile(""); }

constexpr unsigned workers = 2;
/// Number of tasks that are submitted before the first result is fetched, for measurements of throughput.
constexpr std::size_t batch = 1'000;

pilfer::options of(unsigned n) {
    pilfer::options o;
    o.workers = n;
    return o;
}

/// The usual hand-written pool: one queue under one mutex.
class locked_pool {
public:
    explicit locked_pool(unsigned n) {
        for (unsigned i = 0; i < n; ++i) {
            m_threads.emplace_back([this] { serve(); });
        }
    }
    locked_pool(const locked_pool&) = delete;
    locked_pool& operator=(const locked_pool&) = delete;
    ~locked_pool() {
        {
            const std::lock_guard lock(m_mutex);
            m_over = true;
        }
        m_more.notify_all();
        for (auto& t : m_threads) {
            t.join();
        }
    }
    std::future<void> async(void (*f)()) {
        std::packaged_task<void()> task(f);
        auto result = task.get_future();
        {
            const std::lock_guard lock(m_mutex);
            m_tasks.push_back(std::move(task));
        }
        m_more.notify_one();
        return result;
    }

private:
    void serve() {
        for (;;) {
            std::unique_lock lock(m_mutex);
            m_more.wait(lock, [this] { return m_over || !m_tasks.empty(); });
            if (m_tasks.empty()) {
                return;
            }
            auto task = std::move(m_tasks.front());
            m_tasks.pop_front();
            lock.unlock();
            task();
        }
    }
    std::mutex m_mutex;
    std::condition_variable m_more;
    std::deque<std::packaged_task<void()>> m_tasks;
    bool m_over = false;
    std::vector<std::thread> m_threads;
};

/// `make()` gives a future; items are tasks.
template <class Make>
void batches(benchmark::State& state, Make make) {
    std::vector<decltype(make())> futures;
    futures.reserve(batch);
    for (auto _ : state) {
        for (std::size_t i = 0; i < batch; ++i) {
            futures.push_back(make());
        }
        for (auto& f : futures) {
            f.get();
        }
        futures.clear();
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
}

// ---- from a task, on one worker ---------------------------------------------------------------

/// The cost of one future in a batch inside the pool: async of all, then get of all.
void inside_batch(benchmark::State& state) {
    pilfer::pool pool(of(1));
    pool.run([&] { batches(state, [] { return pilfer::async(work); }); });
}
BENCHMARK(inside_batch)->UseRealTime();

void inside_then(benchmark::State& state) {
    pilfer::pool pool(of(1));
    pool.run([&] {
        for (auto _ : state) {
            pilfer::async(work).then(work).get();
        }
    });
}
BENCHMARK(inside_then)->UseRealTime();

void inside_promise(benchmark::State& state) {
    pilfer::pool pool(of(1));
    pool.run([&] {
        for (auto _ : state) {
            pilfer::promise<int> p;
            p.set_value(1);
            benchmark::DoNotOptimize(p.get_future().get());
        }
    });
}
BENCHMARK(inside_promise)->UseRealTime();

void std_promise(benchmark::State& state) {
    for (auto _ : state) {
        std::promise<int> p;
        p.set_value(1);
        benchmark::DoNotOptimize(p.get_future().get());
    }
}
BENCHMARK(std_promise)->UseRealTime();

#if defined(BENCH_HAS_TBB)
// It has no future: one task of a group, and the group is waited for.
void inside_tbb(benchmark::State& state) {
    oneapi::tbb::task_arena arena(1);
    arena.execute([&] {
        oneapi::tbb::task_group group;
        for (auto _ : state) {
            group.run(work);
            group.wait();
        }
    });
}
BENCHMARK(inside_tbb)->UseRealTime();
#endif

// ---- from outside: the CPU time is that of all threads -------------------------------------------

void outside_batch(benchmark::State& state) {
    pilfer::pool pool(of(workers));
    batches(state, [&] { return pool.async(work); });
}
BENCHMARK(outside_batch)->MeasureProcessCPUTime()->UseRealTime();

void outside_batch_locked(benchmark::State& state) {
    locked_pool pool(workers);
    batches(state, [&] { return pool.async(work); });
}
BENCHMARK(outside_batch_locked)->MeasureProcessCPUTime()->UseRealTime();

void outside_batch_std_async(benchmark::State& state) {
    batches(state, [] { return std::async(std::launch::async, work); });
}
BENCHMARK(outside_batch_std_async)->MeasureProcessCPUTime()->UseRealTime();

void outside_one(benchmark::State& state) {
    pilfer::pool pool(of(workers));
    for (auto _ : state) {
        pool.async(work).get();
    }
}
BENCHMARK(outside_one)->MeasureProcessCPUTime()->UseRealTime();

void outside_one_locked(benchmark::State& state) {
    locked_pool pool(workers);
    for (auto _ : state) {
        pool.async(work).get();
    }
}
BENCHMARK(outside_one_locked)->MeasureProcessCPUTime()->UseRealTime();

void outside_one_std_async(benchmark::State& state) {
    for (auto _ : state) {
        std::async(std::launch::async, work).get();
    }
}
BENCHMARK(outside_one_std_async)->MeasureProcessCPUTime()->UseRealTime();

#if defined(BENCH_HAS_TBB)
void outside_batch_tbb(benchmark::State& state) {
    oneapi::tbb::task_arena arena(static_cast<int>(workers) + 1, 1);
    oneapi::tbb::task_group group;
    for (auto _ : state) {
        for (std::size_t i = 0; i < batch; ++i) {
            arena.enqueue(group.defer(work));
        }
        arena.execute([&] { group.wait(); });
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
}
BENCHMARK(outside_batch_tbb)->MeasureProcessCPUTime()->UseRealTime();

void outside_one_tbb(benchmark::State& state) {
    oneapi::tbb::task_arena arena(static_cast<int>(workers) + 1, 1);
    oneapi::tbb::task_group group;
    for (auto _ : state) {
        arena.enqueue(group.defer(work));
        arena.execute([&] { group.wait(); });
    }
}
BENCHMARK(outside_one_tbb)->MeasureProcessCPUTime()->UseRealTime();
#endif

#if defined(BENCH_HAS_OPENMP)
// Only a thread of the team makes tasks, and it runs some of them itself while it waits; so it is one more.
template <class Rounds>
void outside_openmp(Rounds rounds) {
#pragma omp parallel num_threads(workers + 1)
#pragma omp single
    rounds();
}

void outside_batch_openmp(benchmark::State& state) {
    outside_openmp([&] {
        for (auto _ : state) {
            for (std::size_t i = 0; i < batch; ++i) {
#pragma omp task
                work();
            }
#pragma omp taskwait
        }
    });
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(batch));
}
BENCHMARK(outside_batch_openmp)->MeasureProcessCPUTime()->UseRealTime();

void outside_one_openmp(benchmark::State& state) {
    outside_openmp([&] {
        for (auto _ : state) {
#pragma omp task
            work();
#pragma omp taskwait
        }
    });
}
BENCHMARK(outside_one_openmp)->MeasureProcessCPUTime()->UseRealTime();
#endif

} // namespace
