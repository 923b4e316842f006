// Primitives that suspend beside the standard library's, which block a thread.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <pilfer/pilfer.hpp>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

namespace {

pilfer::options one_worker() {
    pilfer::options o;
    o.workers = 1;
    return o;
}

// ---- a lock without contention -------------------------------------------------------------------

template <class Mutex>
void uncontended(benchmark::State& state) {
    Mutex m;
    std::uint64_t n = 0;
    for (auto _ : state) {
        m.lock();
        benchmark::DoNotOptimize(++n);
        m.unlock();
    }
}
void mutex_uncontended(benchmark::State& state) { uncontended<pilfer::mutex>(state); }
void mutex_uncontended_std(benchmark::State& state) {
    std::thread([] {}).join(); // the standard's is faster while the process has had one thread only
    uncontended<std::mutex>(state);
}
void mutex_uncontended_shared(benchmark::State& state) { uncontended<pilfer::shared_mutex>(state); }
BENCHMARK(mutex_uncontended);
BENCHMARK(mutex_uncontended_std);
BENCHMARK(mutex_uncontended_shared);

// ---- a value of its own for each use ------------------------------------------------------------

void worker_local_lease(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pilfer::worker_local<std::uint64_t> all;
    pool.run([&] {
        for (auto _ : state) {
            benchmark::DoNotOptimize(++*all.lease());
        }
    });
}
void worker_local_lease_outside(benchmark::State& state) {
    pilfer::worker_local<std::uint64_t> all;
    for (auto _ : state) {
        benchmark::DoNotOptimize(++*all.lease());
    }
}
/// The thread_local that worker_local replaces. It is right only if the task does not move and nothing else
/// runs on the thread.
void worker_local_as_thread_local(benchmark::State& state) {
    static thread_local std::uint64_t mine = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(++mine);
    }
}
void worker_local_as_mutex(benchmark::State& state) {
    std::thread([] {}).join(); // as in mutex_uncontended_std
    uncontended<std::mutex>(state);
}
BENCHMARK(worker_local_lease);
BENCHMARK(worker_local_lease_outside);
BENCHMARK(worker_local_as_thread_local);
BENCHMARK(worker_local_as_mutex);

// ---- objects with calls -------------------------------------------------------------------------

template <class Object, class Call>
void uncontended_call(benchmark::State& state, Call call) {
    Object object(std::uint64_t{0});
    for (auto _ : state) {
        call(object);
    }
}
const auto add_one = [](std::uint64_t& v) { benchmark::DoNotOptimize(++v); };
void object_synchronized(benchmark::State& state) {
    uncontended_call<pilfer::synchronized<std::uint64_t>>(state, [](auto& o) { o.call(add_one); });
}
void object_synchronized_in_a_task(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([&] { object_synchronized(state); });
}
void object_monitor(benchmark::State& state) {
    uncontended_call<pilfer::monitor<std::uint64_t>>(
        state, [](auto& o) { o.call_when([](std::uint64_t v) { return v != ~std::uint64_t{0}; }, add_one); });
}
/// `times_std_mutex`: a thousand of each in turn, so that neither has a quieter machine; the median.
void object_synchronized_against_std(benchmark::State& state) {
    std::thread([] {}).join(); // as in mutex_uncontended_std
    const auto time = [](auto call) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < 1000; ++i) {
            call();
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    pilfer::synchronized<std::uint64_t> object(std::uint64_t{0});
    std::mutex mutex;
    std::uint64_t guarded = 0;
    std::vector<double> ratios;
    for (auto _ : state) {
        const double ours = time([&] { object.call(add_one); });
        const double theirs = time([&] {
            const std::lock_guard lock(mutex);
            add_one(guarded);
        });
        ratios.push_back(ours / theirs);
    }
    const auto median = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::nth_element(ratios.begin(), median, ratios.end());
    state.counters["times_std_mutex"] = *median;
}
BENCHMARK(object_synchronized);
BENCHMARK(object_synchronized_in_a_task);
BENCHMARK(object_monitor);
BENCHMARK(object_synchronized_against_std);

/// A value there and one back, each awaited by its condition; on one worker.
void object_ping_pong(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([&] {
        pilfer::monitor<int> turn(0);
        auto other = pilfer::async([&] {
            while (turn.call_when([](int v) { return v != 0; }, [](int& v) { return std::exchange(v, 0); }) >
                   0) {
            }
        });
        for (auto _ : state) {
            turn.call([](int& v) { v = 1; });
            turn.call_when([](int v) { return v == 0; }, [](int&) {});
        }
        turn.call([](int& v) { v = -1; });
        other.get();
    });
}
BENCHMARK(object_ping_pong);

// ---- hand-over: the one wakes the other and waits for its answer; an iteration is two of them ---

struct cv_semaphore {
    explicit cv_semaphore(int count) : m_count(count) {}
    void acquire() {
        std::unique_lock hold(m_lock);
        m_given.wait(hold, [this] { return m_count > 0; });
        --m_count;
    }
    void release() {
        const std::lock_guard hold(m_lock);
        ++m_count;
        m_given.notify_one();
    }

private:
    std::mutex m_lock;
    std::condition_variable m_given;
    int m_count;
};

template <class Semaphore>
struct table {
    Semaphore ball{0};
    Semaphore back{0};
    bool over = false;

    void answer() {
        for (;;) {
            ball.acquire();
            if (over) {
                return;
            }
            back.release();
        }
    }
    void play(benchmark::State& state) {
        for (auto _ : state) {
            ball.release();
            back.acquire();
        }
        over = true;
        ball.release();
    }
};

void semaphore_ping_pong(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([&] {
        table<pilfer::counting_semaphore<>> t;
        auto other = pilfer::async([&t] { t.answer(); });
        t.play(state);
        other.get();
    });
}
template <class Semaphore>
void between_threads(benchmark::State& state) {
    table<Semaphore> t;
    std::thread other([&t] { t.answer(); });
    t.play(state);
    other.join();
}
void semaphore_ping_pong_std(benchmark::State& state) { between_threads<std::counting_semaphore<>>(state); }
void semaphore_ping_pong_cv(benchmark::State& state) { between_threads<cv_semaphore>(state); }
BENCHMARK(semaphore_ping_pong);
BENCHMARK(semaphore_ping_pong_std)->UseRealTime();
BENCHMARK(semaphore_ping_pong_cv)->UseRealTime();

// A mutex that goes from hand to hand: each task locks what the other one must unlock.
void mutex_hand_over(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([&] {
        pilfer::mutex m;
        pilfer::condition_variable changed;
        bool mine = true;
        bool over = false;
        auto other = pilfer::async([&] {
            std::unique_lock hold(m);
            while (!over) {
                changed.wait(hold, [&] { return !mine || over; });
                mine = true;
                changed.notify_one();
            }
        });
        std::unique_lock hold(m);
        for (auto _ : state) {
            mine = false;
            changed.notify_one();
            changed.wait(hold, [&] { return mine; });
        }
        over = true;
        changed.notify_one();
        hold.unlock();
        other.get();
    });
}
BENCHMARK(mutex_hand_over);

// ---- channels: a value there and one back -------------------------------------------------------

template <class Channel>
void echo(Channel& in, Channel& out) {
    while (const auto v = in.receive()) {
        (void)out.send(*v);
    }
}
template <class Channel>
void exchange(benchmark::State& state, Channel& out, Channel& in) {
    std::int64_t i = 0;
    for (auto _ : state) {
        (void)out.send(i++);
        benchmark::DoNotOptimize(in.receive());
    }
    out.close();
}

void channel_ping_pong(benchmark::State& state) {
    pilfer::pool pool(one_worker());
    pool.run([&] {
        const auto capacity = static_cast<std::size_t>(state.range(0));
        pilfer::channel<std::int64_t> out(capacity);
        pilfer::channel<std::int64_t> in(capacity);
        auto other = pilfer::async([&] { echo(out, in); });
        exchange(state, out, in);
        other.get();
    });
}
BENCHMARK(channel_ping_pong)->Arg(0)->Arg(1);

/// The equivalent for threads, which a program without pilfer would contain.
class slot_of_threads {
public:
    bool send(std::int64_t v) {
        std::unique_lock hold(m_lock);
        m_changed.wait(hold, [this] { return !m_value; });
        m_value = v;
        m_changed.notify_all();
        return true;
    }
    std::optional<std::int64_t> receive() {
        std::unique_lock hold(m_lock);
        m_changed.wait(hold, [this] { return m_value || m_closed; });
        const auto v = m_value;
        m_value.reset();
        m_changed.notify_all();
        return v;
    }
    void close() {
        const std::lock_guard hold(m_lock);
        m_closed = true;
        m_changed.notify_all();
    }

private:
    std::mutex m_lock;
    std::condition_variable m_changed;
    std::optional<std::int64_t> m_value;
    bool m_closed = false;
};

void channel_ping_pong_threads(benchmark::State& state) {
    slot_of_threads out;
    slot_of_threads in;
    std::thread other([&] { echo(out, in); });
    exchange(state, out, in);
    other.join();
}
BENCHMARK(channel_ping_pong_threads)->UseRealTime();

} // namespace
