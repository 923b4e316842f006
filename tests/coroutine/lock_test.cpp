// Coroutines that lock mutexes, among themselves and beside tasks and threads.
#include <gtest/gtest.h>

#include <atomic>
#include <coroutine>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coroutine/cancelled.hpp"
#include "coroutine/locks.hpp"
#include "sync/support.hpp"

namespace {

using namespace coroutine_tests;

class coroutine_locks : public over_workers {};

// ---- exclusion --------------------------------------------------------------------------------

TEST_P(coroutine_locks, exclude_each_other) {
    pilfer::pool pool(with_workers());
    guarded_count c;
    const int rounds = static_cast<int>(hundredth_of(10'000));
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(pool.async(counts(pool, c, rounds)));
    }
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(c.count, 20L * rounds);
    EXPECT_TRUE(c.mutex.try_lock());
    c.mutex.unlock();
}

TEST_P(coroutine_locks, exclude_tasks_and_threads) {
    pilfer::pool pool(with_workers());
    guarded_count c;
    const int rounds = static_cast<int>(hundredth_of(10'000));
    const auto locks = [&](unsigned) {
        for (int i = 0; i < rounds; ++i) {
            const std::lock_guard guard(c.mutex);
            c.enter();
            if (i % 16 == 7) {
                pilfer::sleep_for(1us);
            }
            c.leave();
        }
    };
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 8; ++i) {
        all.push_back(pool.async(counts(pool, c, rounds)));
    }
    sync_tests::all_at_once(pool, 4, 2, locks);
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(c.count, 14L * rounds);
}

TEST_P(coroutine_locks, thousands_wait_without_a_stack) {
    pilfer::pool pool(with_workers());
    guarded_count c;
    c.mutex.lock(); // of this thread
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(pool.async(counts(pool, c, 1)));
    }
    EXPECT_EQ(pool.counters().suspends, 0U);
    c.mutex.unlock();
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(c.count, 1000);
    EXPECT_EQ(pool.counters().suspends, 0U) << "a coroutine has kept its stack";
}

// ---- order ------------------------------------------------------------------------------------

TEST_P(coroutine_locks, waiters_come_in_order) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    std::vector<int> order;
    std::atomic<int> entered{0};
    const auto one = [](pilfer::mutex& mutex, std::vector<int>& out, std::atomic<int>& n, int i) -> task<> {
        ++n;
        const auto guard = co_await pilfer::scoped_lock(mutex);
        out.push_back(i);
    };
    m.lock();
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(pool.async(one(m, order, entered, i)));
        EXPECT_TRUE(eventually([&] { // it is in the list
            std::ostringstream out;
            pool.dump(out);
            const std::string text = out.str();
            const std::string waits = "waits for a mutex (0x";
            int waiting = 0;
            for (std::size_t at = text.find(waits); at != std::string::npos; at = text.find(waits, at + 1)) {
                ++waiting;
            }
            return waiting == i + 1;
        }));
    }
    m.unlock();
    for (auto& f : all) {
        f.get();
    }
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
    EXPECT_EQ(order.size(), 20U);
}

/// A task that locks again and again, without letting anything else run, must let the coroutine in.
TEST_F(coroutine_lock_ends, a_waiting_coroutine_is_passed_a_bounded_number_of_times) {
    pilfer::pool pool(workers(1));
    pilfer::mutex m;
    std::atomic<bool> begun{false};
    bool has = false;
    int passed = 0;
    pool.run([&] {
        m.lock();
        const auto waits =
            pool.async([](pilfer::mutex& mutex, std::atomic<bool>& begins, bool& in) -> task<> {
                begins = true;
                const auto guard = co_await pilfer::scoped_lock(mutex);
                in = true;
            }(m, begun, has));
        until([&] { return begun.load(); }); // the one worker returns when the coroutine is in the list
        m.unlock();
        for (; !has && passed < 1000; ++passed) {
            const std::lock_guard guard(m);
        }
        waits.get();
    });
    EXPECT_TRUE(has);
    EXPECT_LE(passed, 65);
    EXPECT_GE(passed, 10) << "newcomers take a free mutex";
}

// ---- the guard --------------------------------------------------------------------------------

task<mutex_guard> locked(pilfer::mutex& m) { co_return co_await pilfer::scoped_lock(m); }

TEST_P(coroutine_locks, guards_move_and_end_where_they_should) {
    pilfer::pool pool(with_workers());
    const auto body = [](pilfer::pool& p) -> task<> {
        pilfer::mutex a;
        pilfer::mutex b;
        mutex_guard none;
        EXPECT_FALSE(none.owns_lock());
        none.unlock();
        auto first = co_await locked(a); // a child gives it to its awaiter
        EXPECT_TRUE(first.owns_lock());
        EXPECT_FALSE(a.try_lock());
        auto second = co_await pilfer::scoped_lock(b);
        co_await p.schedule();
        mutex_guard moved(std::move(first));
        EXPECT_FALSE(first.owns_lock()); // NOLINT(bugprone-use-after-move): that is the point
        EXPECT_FALSE(a.try_lock());
        moved = std::move(second); // unlocks a
        EXPECT_TRUE(a.try_lock());
        EXPECT_FALSE(b.try_lock());
        a.unlock();
        co_await p.schedule();
        moved.unlock();
        EXPECT_TRUE(b.try_lock());
        b.unlock();
        const auto again = pilfer::scoped_lock(a);
        for (int i = 0; i < 3; ++i) {
            const auto guard = co_await again;
            EXPECT_FALSE(a.try_lock());
        }
        EXPECT_TRUE(a.try_lock());
        a.unlock();
    };
    pool.run(body(pool));
    pool.run([&] { pool.run(body(pool)); });
}

TEST_P(coroutine_locks, an_exception_unlocks) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    const auto throws = [](pilfer::pool& p, pilfer::mutex& mutex) -> task<> {
        const auto guard = co_await pilfer::scoped_lock(mutex);
        co_await p.schedule();
        throw std::runtime_error("under the lock");
    };
    for (int i = 0; i < 3; ++i) {
        EXPECT_THROW(pool.run(throws(pool, m)), std::runtime_error);
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    }
}

TEST_P(coroutine_locks, are_held_in_other_pools) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(2));
    guarded_count c;
    const auto moves = [](pilfer::pool& here, pilfer::pool& there, guarded_count& n, int rounds) -> task<> {
        for (int i = 0; i < rounds; ++i) {
            const auto guard = co_await pilfer::scoped_lock(n.mutex);
            n.enter();
            co_await there.schedule();
            EXPECT_TRUE(runs_in(there));
            n.leave();
            co_await here.schedule();
        }
    };
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(pool.async(moves(pool, other, c, 20)));
        all.push_back(other.async(moves(other, pool, c, 20)));
    }
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(c.count, 160);
}

TEST_P(coroutine_locks, locks_of_functions_do_not_live_across_a_wait) {
    pilfer::pool pool(with_workers());
    pilfer::mutex taken;
    taken.lock();
    pool.run([](pilfer::mutex& busy) -> task<> {
        pilfer::mutex plain;
        pilfer::mutex ready;
        const auto guard = co_await pilfer::scoped_lock(ready);
        {
            const std::lock_guard own(plain);
            pilfer::mutex another;
            const auto free = co_await pilfer::scoped_lock(another); // does not suspend
            bool refused = false;
            try {
                const auto never = co_await pilfer::scoped_lock(busy);
            } catch (const pilfer::usage_error&) {
                refused = true;
            }
            EXPECT_TRUE(refused);
            refused = false;
            try {
                co_await pilfer::resume_after(1h);
            } catch (const pilfer::usage_error&) {
                refused = true;
            }
            EXPECT_TRUE(refused);
        }
        co_await pilfer::resume_after(1us); // the lock of co_await may stay
        EXPECT_FALSE(ready.try_lock());
    }(taken));
    taken.unlock();
    EXPECT_TRUE(taken.try_lock());
    taken.unlock();
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
other_coroutine locks_elsewhere(guarded_count& c, std::atomic<int>& ended) {
    for (int i = 0; i < 10; ++i) {
        const auto guard = co_await pilfer::scoped_lock(c.mutex);
        c.enter();
        co_await pilfer::resume_after(1us);
        c.leave();
    }
    ++ended;
}

TEST_P(coroutine_locks, coroutines_of_others_can_lock) {
    pilfer::pool pool(with_workers());
    guarded_count c;
    std::atomic<int> ended{0};
    for (int i = 0; i < 4; ++i) {
        locks_elsewhere(c, ended); // outside of all pools
        pool.run([&] { locks_elsewhere(c, ended); });
    }
    pool.run(counts(pool, c, 20));
    EXPECT_TRUE(eventually([&] { return ended == 8; }));
    EXPECT_EQ(c.count, 8 * 10 + 20);
}

TEST_P(coroutine_locks, the_end_of_a_pool_waits_for_waiting_coroutines) {
    for (const auto mode : {pilfer::shutdown_mode::drain, pilfer::shutdown_mode::drop}) {
        pilfer::mutex m;
        m.lock();
        std::atomic<bool> waits{false};
        bool got = false;
        pilfer::pool pool(with_workers());
        pool.submit([](pilfer::mutex& mutex, std::atomic<bool>& begun, bool& done) -> task<> {
            begun = true;
            const auto guard = co_await pilfer::scoped_lock(mutex);
            done = true;
        }(m, waits, got));
        while (!waits) {
            std::this_thread::yield();
        }
        std::thread ends([&] { pool.shutdown(mode); });
        std::this_thread::sleep_for(1ms);
        m.unlock();
        ends.join();
        EXPECT_TRUE(got);
    }
}

PILFER_OVER_WORKERS(coroutine_locks);

} // namespace
