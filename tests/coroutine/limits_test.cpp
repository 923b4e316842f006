// Waits of coroutines with a time limit.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "coroutine/cancelled.hpp"
#include "sync/support.hpp"

namespace {

using namespace coroutine_tests;
using pilfer::cv_status;

class coroutine_limits : public over_workers {};
class coroutine_limits_cancel : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_limits_cancel, testing::Values(1U, 2U, 3U, 8U));

void get_all(std::vector<pilfer::future<void>>& all) {
    for (auto& f : all) {
        f.get();
    }
}

/// None of them becomes ready by itself.
struct objects {
    pilfer::mutex mutex;
    pilfer::shared_mutex shared;
    pilfer::counting_semaphore<> permits{0};
    pilfer::condition_variable condition;
    pilfer::mutex of_condition;
    pilfer::latch latch{1};
    pilfer::event event;
    pilfer::promise<int> promise;
    pilfer::future<int> result = promise.get_future();
    pilfer::channel<int> full{1};
    pilfer::channel<int> empty{1'000};

    objects() { EXPECT_TRUE(full.try_send(0)); }
    void make_ready() {
        mutex.unlock();
        shared.unlock();
        permits.release(1'000'000);
        latch.count_down();
        event.set();
        promise.set_value(1);
        while (empty.try_send(1)) {
        }
    }
    /// What is not ready for good.
    void make_ready_once() {
        const std::lock_guard guard(of_condition);
        condition.notify_all();
        (void)full.try_receive();
    }
};
enum what {
    a_lock,
    a_shared_lock,
    a_part,
    a_permit,
    a_condition,
    a_latch,
    an_event_set,
    a_future,
    a_place,
    a_next_value,
    whats
};

/// Gives true if it was in time.
template <class Limit>
task<bool> waits_until(objects& all, int kind, Limit limit) {
    switch (kind) {
    case a_lock: {
        const auto guard = co_await pilfer::try_scoped_lock_for(all.mutex, limit);
        EXPECT_EQ(guard.mutex(), guard.owns_lock() ? &all.mutex : nullptr);
        co_return guard.owns_lock();
    }
    case a_shared_lock: {
        const auto guard = co_await pilfer::try_scoped_lock_for(all.shared, limit);
        co_return guard.owns_lock();
    }
    case a_part: {
        const auto guard = co_await pilfer::try_scoped_lock_shared_for(all.shared, limit);
        co_return guard.owns_lock();
    }
    case a_permit:
        co_return co_await pilfer::try_acquire_for(all.permits, limit);
    case a_condition: {
        auto guard = co_await pilfer::scoped_lock(all.of_condition);
        const cv_status end = co_await pilfer::wait_for(all.condition, guard, limit);
        EXPECT_TRUE(guard.owns_lock());
        EXPECT_FALSE(all.of_condition.try_lock());
        co_return end == cv_status::no_timeout;
    }
    case a_latch:
        co_return co_await pilfer::wait_for(all.latch, limit);
    case an_event_set:
        co_return co_await pilfer::wait_for(all.event, limit);
    case a_future: {
        const pilfer::future_status end = co_await pilfer::wait_for(all.result, limit);
        co_return end == pilfer::future_status::ready;
    }
    case a_place:
        co_return co_await pilfer::try_send_for(all.full, 1, limit);
    default: {
        const auto got = co_await pilfer::try_receive_for(all.empty, limit);
        co_return got.has_value();
    }
    }
}

struct locked_objects : objects {
    locked_objects() {
        mutex.lock();
        shared.lock();
    }
};

TEST_P(coroutine_limits, end_waits_for_what_does_not_come) {
    pilfer::pool pool(with_workers());
    locked_objects all;
    for (int kind = 0; kind < whats; ++kind) {
        for (const auto limit : {-1000us, 0us, 1us, 1000us}) {
            const auto before = std::chrono::steady_clock::now();
            EXPECT_FALSE(pool.run(waits_until(all, kind, limit))) << kind;
            EXPECT_GE(std::chrono::steady_clock::now() - before, limit);
        }
    }
    EXPECT_EQ(pool.counters().suspends, 0U) << "a coroutine has kept its stack";
    all.make_ready();
}

TEST_P(coroutine_limits, far_away_change_nothing) {
    pilfer::pool pool(with_workers());
    locked_objects all;
    std::vector<pilfer::future<bool>> in_time;
    for (int round = 0; round < 10; ++round) {
        for (int kind = 0; kind < whats; ++kind) {
            in_time.push_back(pool.async(waits_until(all, kind, std::chrono::hours(1))));
            in_time.push_back(pool.async(waits_until(all, kind, std::chrono::hours::max())));
        }
    }
    all.make_ready();
    for (std::size_t i = 0; i < in_time.size(); ++i) {
        while (!in_time[i].ready()) {
            all.make_ready_once();
        }
        EXPECT_TRUE(in_time[i].get()) << i / 2 % whats;
    }
    EXPECT_TRUE(all.mutex.try_lock());
    EXPECT_TRUE(all.shared.try_lock());
    all.mutex.unlock();
    all.shared.unlock();
}

/// A loop of waits whose time is over lets the holder run, also on the only worker.
TEST_P(coroutine_limits, that_are_over_let_others_run) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    pilfer::latch begun(1);
    const auto holds = pool.async([](pilfer::pool& p, pilfer::mutex& mutex, pilfer::latch& l) -> task<> {
        const auto guard = co_await pilfer::scoped_lock(mutex);
        l.count_down();
        for (int i = 0; i < 20; ++i) {
            co_await p.schedule();
        }
    }(pool, m, begun));
    pool.run([](pilfer::mutex& mutex, pilfer::latch& l) -> task<> {
        co_await pilfer::wait(l);
        for (;;) {
            const auto guard = co_await pilfer::try_scoped_lock_for(mutex, 0s);
            if (guard.owns_lock()) {
                break;
            }
        }
    }(m, begun));
    holds.get();
}

TEST_P(coroutine_limits, that_are_over_let_others_run_whatever_is_awaited) {
    pilfer::pool pool(with_workers());
    for (const int kind : {a_permit, a_latch, an_event_set, a_future, a_place, a_next_value}) {
        objects all;
        pool.run([](pilfer::pool& p, objects& of, int what) -> task<> {
            const auto makes_ready = p.async([&of] {
                of.permits.release();
                of.latch.count_down();
                of.event.set();
                of.promise.set_value(1);
                (void)of.full.try_receive();
                (void)of.empty.try_send(1);
            });
            while (!co_await waits_until(of, what, 0us)) {
            }
            co_await makes_ready;
        }(pool, all, kind));
    }
}

/// Waits end by the lock and by the time, in any order, also of waiters that were called and found it taken.
TEST_P(coroutine_limits, race_the_unlock) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    std::atomic<int> inside{0};
    std::atomic<int> owned{0};
    const int rounds = static_cast<int>(hundredth_of(20'000));
    const auto tries = [](pilfer::mutex& mutex, std::atomic<int>& in, std::atomic<int>& n, int id,
                          int count) -> task<> {
        for (int i = 0; i < count; ++i) {
            const auto guard =
                co_await pilfer::try_scoped_lock_for(mutex, std::chrono::microseconds((id * 7 + i * 3) % 40));
            if (guard.owns_lock()) {
                EXPECT_EQ(in++, 0) << "two holders";
                if (i % 4 == 0) {
                    co_await pilfer::resume_after(2us);
                }
                --in;
                ++n;
            }
        }
    };
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(pool.async(tries(m, inside, owned, i, rounds)));
    }
    sync_tests::all_at_once(pool, 2, 1, [&](unsigned) {
        for (int i = 0; i < rounds; ++i) {
            const std::lock_guard guard(m);
            EXPECT_EQ(inside++, 0) << "two holders";
            --inside;
        }
    });
    get_all(all);
    EXPECT_GT(owned, 0);
    EXPECT_TRUE(m.try_lock()) << "leaked";
    m.unlock();
}

TEST_P(coroutine_limits, race_a_release) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        pilfer::binary_semaphore s(0);
        const auto got = pool.async([](pilfer::binary_semaphore& of, std::uint64_t us) -> task<bool> {
            co_return co_await pilfer::try_acquire_until(of, std::chrono::steady_clock::now() +
                                                                 std::chrono::microseconds(us));
        }(s, round % 50));
        s.release();
        const bool has = got.get();
        EXPECT_NE(has, s.try_acquire()) << "a permit was lost, or given twice";
    }
}

/// Each value is received or still its sender's.
TEST_P(coroutine_limits, race_a_value) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        std::atomic<int> alive{0};
        {
            pilfer::channel<witness> c(round % 3 / 2);
            const auto sent =
                pool.async([](auto& to, std::atomic<int>& n, std::chrono::microseconds d) -> task<int> {
                    const bool is = co_await pilfer::try_send_for(to, witness(n), d);
                    co_return is ? 1 : 0;
                }(c, alive, std::chrono::microseconds(round % 50)));
            const auto got = pool.async([](auto& from, std::chrono::microseconds d) -> task<int> {
                const auto value = co_await pilfer::try_receive_for(from, d);
                co_return value.has_value() ? 1 : 0;
            }(c, std::chrono::microseconds(round * 7 % 50)));
            const int on_the_way = sent.get() - got.get();
            EXPECT_EQ(static_cast<std::size_t>(on_the_way), c.size()) << "a value was lost, or given twice";
            EXPECT_EQ(alive, on_the_way);
        }
        EXPECT_EQ(alive, 0);
    }
}

/// The object, and what the coroutine waits for, end as soon as it goes on.
TEST_P(coroutine_limits, race_what_ends_with_the_wait) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        const std::chrono::microseconds d(round % 50);
        auto e = std::make_unique<pilfer::event>();
        pilfer::event& set = *e;
        const auto event_set =
            pool.async([](pilfer::event& of, std::chrono::microseconds limit) -> task<bool> {
                const bool is = co_await pilfer::wait_for(of, limit);
                EXPECT_TRUE(!is || of.is_set());
                co_return is;
            }(set, d));
        auto promise = std::make_unique<pilfer::promise<int>>();
        const auto is_there =
            pool.async([](pilfer::future<int> f, std::chrono::microseconds limit) -> task<bool> {
                const auto end = co_await pilfer::wait_for(f, limit);
                EXPECT_TRUE(end == pilfer::future_status::timeout || f.ready());
                if (end == pilfer::future_status::timeout) {
                    co_return false;
                }
                co_return co_await f == 7;
            }(promise->get_future(), d));
        set.set();
        promise->set_value(7);
        promise.reset();
        (void)is_there.get();
        (void)event_set.get();
        e.reset();
    }
}

/// The result of the wait says only whether the future has ended.
TEST(coroutine_limits_ends, futures_with_exceptions_are_ready) {
    const watchdog w(patience);
    pilfer::pool pool(workers(1));
    pool.run([](pilfer::pool& p) -> task<> {
        pilfer::future<int> failed = p.async(fail("on purpose"));
        EXPECT_EQ(co_await pilfer::wait_for(failed, 1h), pilfer::future_status::ready);
        EXPECT_EQ(co_await pilfer::wait_for(failed, -1h), pilfer::future_status::ready);
        EXPECT_THROW(co_await failed, std::runtime_error);
        EXPECT_THROW((void)pilfer::wait_for(pilfer::future<int>(), 1h), pilfer::usage_error);
    }(pool));
}

/// A closed channel is no reason to wait, and ends waits as the time does.
TEST(coroutine_limits_ends, closed_channels_end_waits) {
    const watchdog w(patience);
    pilfer::pool pool(workers(1));
    pilfer::channel<int> c(0);
    const auto sent = pool.async([](pilfer::channel<int>& to) -> task<bool> {
        co_return co_await pilfer::try_send_for(to, 1, 1h);
    }(c));
    EXPECT_EQ(pool.run([](pilfer::channel<int>& from) -> task<int> {
        const auto got = co_await pilfer::try_receive_for(from, 1h);
        co_return got.value_or(0);
    }(c)),
              1);
    EXPECT_TRUE(sent.get());
    const auto got_nothing = pool.async([](pilfer::channel<int>& from) -> task<bool> {
        const auto got = co_await pilfer::try_receive_for(from, 1h);
        co_return !got.has_value();
    }(c));
    c.close();
    EXPECT_TRUE(got_nothing.get());
    EXPECT_FALSE(pool.run([](pilfer::channel<int>& to) -> task<bool> {
        co_return co_await pilfer::try_send_for(to, 1, 1h);
    }(c)));
}

/// A report of a stall counts the coroutines that nothing but another task can wake.
TEST_P(coroutine_limits, are_no_part_of_a_stall) {
    pilfer::pool pool(with_workers());
    const auto waiting = [&pool] {
        std::uint64_t sum = 0;
        for (unsigned i = 0; i < pool.core().schedulers(); ++i) {
            sum += pool.core().at(i).waiting_coroutines.may_stall();
        }
        return sum;
    };
    locked_objects all;
    std::vector<pilfer::future<bool>> in_time;
    for (int i = 0; i < 3; ++i) {
        for (const auto limit : {std::chrono::hours(1), std::chrono::hours::max()}) {
            for (const int kind : {a_lock, a_latch, an_event_set, a_future, a_place, a_next_value}) {
                in_time.push_back(pool.async(waits_until(all, kind, limit)));
            }
        }
    }
    while (waiting() != 18) { // those with the longest limit have none
        std::this_thread::yield();
    }
    for (const int kind : {a_lock, a_latch, an_event_set, a_future, a_place, a_next_value}) {
        EXPECT_FALSE(pool.run(waits_until(all, kind, 1ms)));
    }
    EXPECT_EQ(waiting(), 18U);
    all.make_ready();
    for (auto& f : in_time) {
        while (!f.ready()) {
            all.make_ready_once();
        }
        EXPECT_TRUE(f.get());
    }
    EXPECT_EQ(waiting(), 0U);
}

/// Readers behind a writer that gives up go on with the reader before it.
TEST_P(coroutine_limits, a_writer_that_gives_up_lets_readers_go_on) {
    pilfer::pool pool(with_workers());
    pilfer::shared_mutex m;
    m.lock_shared();
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(pool.async([](pilfer::shared_mutex& of) -> task<> {
            const auto guard =
                co_await pilfer::try_scoped_lock_until(of, std::chrono::steady_clock::now() + 1ms);
            EXPECT_FALSE(guard.owns_lock());
        }(m)));
        all.push_back(pool.async([](pilfer::shared_mutex& of) -> task<> {
            const auto guard = co_await pilfer::try_scoped_lock_shared_for(of, 1h);
            EXPECT_TRUE(guard.owns_lock());
        }(m)));
    }
    get_all(all); // hangs for an hour if nobody lets the readers go on
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

/// Awaits a try to lock, and meanwhile looks as a reader.
struct tries_beside_a_reader {
    using pilfer_awaitable = void;
    using tried = decltype(pilfer::try_scoped_lock_for(std::declval<pilfer::shared_mutex&>(), 0us));
    tried lock;
    pilfer::shared_mutex& m;
    bool& disturbs;

    struct awaiter {
        decltype(std::declval<tried&>().operator co_await()) lock;
        pilfer::shared_mutex& m;
        bool& disturbs;
        [[nodiscard]] bool await_ready() const noexcept { return lock.await_ready(); }
        template <class Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
            const bool suspends = lock.await_suspend(h); // in a pool whose one worker is this one
            disturbs = !m.try_lock_shared();
            if (!disturbs) {
                m.unlock_shared();
            }
            return suspends;
        }
        [[nodiscard]] bool await_resume() { return lock.await_resume().owns_lock(); }
    };
    [[nodiscard]] awaiter operator co_await() const { return {lock.operator co_await(), m, disturbs}; }
};

/// It is in the list at no time: newcomers would queue after it.
TEST(coroutine_limits_ends, a_writer_whose_time_is_over_does_not_disturb_readers) {
    const watchdog w(patience);
    pilfer::pool pool(workers(1));
    pilfer::shared_mutex m;
    m.lock_shared();
    for (const auto limit : {0us, -1000us}) {
        pool.run([](pilfer::shared_mutex& of, std::chrono::microseconds d) -> task<> {
            bool disturbs = true;
            const bool owns =
                co_await tries_beside_a_reader{pilfer::try_scoped_lock_for(of, d), of, disturbs};
            EXPECT_FALSE(owns);
            EXPECT_FALSE(disturbs);
        }(m, limit));
    }
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

/// A coroutine of another library.
struct other_coroutine {
    struct promise_type {
        other_coroutine get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};
other_coroutine waits_elsewhere(objects& all, std::atomic<int>& ended) {
    const auto lock = co_await pilfer::try_scoped_lock_for(all.mutex, 1us);
    EXPECT_FALSE(lock.owns_lock());
    const auto shared = co_await pilfer::try_scoped_lock_for(all.shared, 0s);
    EXPECT_FALSE(shared.owns_lock());
    const bool permit = co_await pilfer::try_acquire_for(all.permits, 1us);
    EXPECT_FALSE(permit);
    const bool open = co_await pilfer::wait_for(all.latch, 1us);
    EXPECT_FALSE(open);
    const bool set = co_await pilfer::wait_until(all.event, std::chrono::steady_clock::now());
    EXPECT_FALSE(set);
    const auto end = co_await pilfer::wait_until(all.result, std::chrono::system_clock::now());
    EXPECT_EQ(end, pilfer::future_status::timeout);
    const bool sent = co_await pilfer::try_send_until(all.full, 1, std::chrono::steady_clock::now() + 1us);
    EXPECT_FALSE(sent);
    const auto got = co_await pilfer::try_receive_until(all.empty, std::chrono::steady_clock::now() + 1us);
    EXPECT_FALSE(got.has_value());
    ++ended;
}

TEST_P(coroutine_limits, end_waits_of_coroutines_of_others) {
    pilfer::pool pool(with_workers());
    locked_objects all;
    std::atomic<int> ended{0};
    for (int i = 0; i < 4; ++i) {
        waits_elsewhere(all, ended); // outside of all pools
        pool.run([&] { waits_elsewhere(all, ended); });
    }
    while (ended != 8) {
        std::this_thread::yield();
    }
    all.make_ready();
}

PILFER_OVER_WORKERS(coroutine_limits);

TEST_P(coroutine_limits_cancel, ends_waits_before_their_time) {
    pool.run([&] {
        locked_objects all;
        std::atomic<int> begun{0};
        std::atomic<int> ended{0};
        pilfer::scope s;
        for (int i = 0; i < 4 * whats; ++i) {
            s.fork([&, i] {
                ++begun;
                (void)pool.run(waits_until(all, i % whats, std::chrono::hours(1)));
                ++ended;
            });
        }
        until([&] { return begun == 4 * whats; });
        s.cancel();
        s.sync();
        EXPECT_EQ(ended, 0);
        all.make_ready();
    });
}

/// `make(limit)` gives an awaitable that waits so long in vain.
template <class Make>
void expect_stopped_by(Make make) {
    expect_stopped_after_its_time([&](auto limit, auto late) -> task<> { (void)co_await late(make(limit)); });
}

/// The awaitable of a send may only be moved.
template <class Channel, class Limit>
struct sends_once {
    Channel& channel;
    Limit limit;
    [[nodiscard]] auto operator co_await() const {
        return pilfer::try_send_for(channel, 1, limit).operator co_await();
    }
};

TEST(coroutine_limits_ends, a_cancellation_counts_if_the_time_was_over_first) {
    const watchdog w(patience);
    locked_objects all;
    expect_stopped_by([&](auto d) { return pilfer::wait_for(all.latch, d); });
    expect_stopped_by([&](auto d) { return pilfer::try_acquire_for(all.permits, d); });
    expect_stopped_by([&](auto d) { return pilfer::try_scoped_lock_for(all.mutex, d); });
    expect_stopped_by([&](auto d) { return pilfer::try_scoped_lock_for(all.shared, d); });
    expect_stopped_by([&](auto d) { return pilfer::try_scoped_lock_shared_for(all.shared, d); });
    expect_stopped_by([&](auto d) { return pilfer::wait_for(all.event, d); });
    expect_stopped_by([&](auto d) { return pilfer::wait_for(all.result, d); });
    expect_stopped_by([&](auto d) { return pilfer::try_receive_for(all.empty, d); });
    expect_stopped_after_its_time([&](auto limit, auto late) -> task<> {
        (void)co_await late(sends_once<pilfer::channel<int>, decltype(limit)>{all.full, limit});
    });
    all.make_ready();
}

/// A cancellation, the time and the unlock at once.
TEST_P(coroutine_limits_cancel, races_the_time) {
    for (std::uint64_t round = 0; round < hundredth_of(20'000); ++round) {
        pool.run([&] {
            pilfer::mutex m;
            std::atomic<bool> begun{false};
            m.lock();
            pilfer::scope s;
            for (int i = 0; i < 3; ++i) {
                s.fork([&] {
                    pool.run([](pilfer::mutex& of, std::atomic<bool>& begins, std::uint64_t us) -> task<> {
                        begins = true;
                        for (;;) { // until it is cancelled
                            {
                                const auto guard =
                                    co_await pilfer::try_scoped_lock_for(of, std::chrono::microseconds(us));
                            }
                            co_await pilfer::resume_after(1us);
                        }
                    }(m, begun, round % 20));
                });
            }
            until([&] { return begun.load(); });
            if (round % 2 == 0) {
                m.unlock();
            }
            for (std::atomic<std::uint64_t> i{0}; i < round * 37 % 400;) {
                ++i;
            }
            s.cancel();
            s.sync();
            if (round % 2 != 0) {
                m.unlock();
            }
            EXPECT_TRUE(m.try_lock()) << "leaked";
            m.unlock();
        });
    }
}

} // namespace
