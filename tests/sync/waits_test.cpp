// Semaphores, latches, barriers and events between tasks, between threads, and mixed.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class semaphore_waits : public over_workers {};
class latch_waits : public over_workers {};
class barrier_phases : public over_workers {};
class event_waits : public over_workers {};
class waits_elsewhere : public support::guarded {};
PILFER_OVER_WORKERS(semaphore_waits);
PILFER_OVER_WORKERS(latch_waits);
PILFER_OVER_WORKERS(barrier_phases);
PILFER_OVER_WORKERS(event_waits);

static_assert(pilfer::binary_semaphore::max() == 1);
static_assert(pilfer::counting_semaphore<7>::max() >= 7);

TEST_P(semaphore_waits, never_lets_in_more_than_it_has) {
    pilfer::pool pool(with_workers());
    pilfer::counting_semaphore<3> s(3);
    std::atomic<int> inside{0};
    std::atomic<int> over{0};
    std::atomic<int> through{0};
    all_at_once(pool, 12, 2, [&](unsigned self) {
        for (int i = 0; i < 30; ++i) {
            if (self % 2 == 0) {
                s.acquire();
            } else if (!s.try_acquire_for(std::chrono::microseconds(20 * i))) {
                ++over;
                continue;
            }
            EXPECT_LE(inside.fetch_add(1), 2);
            let_others_run();
            inside.fetch_sub(1);
            s.release();
            ++through;
        }
    });
    EXPECT_EQ(through + over, 14 * 30);
    EXPECT_TRUE(s.try_acquire() && s.try_acquire() && s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

TEST_P(semaphore_waits, a_thousand_waiters_and_releases_of_many) {
    pilfer::pool pool(with_workers());
    pilfer::counting_semaphore<> s(0);
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(pool.async([&] { s.acquire(); }));
    }
    until_suspended(pool, 1000);
    s.release(0);
    s.release(300);
    s.release(701);
    for (auto& f : all) {
        f.get();
    }
    EXPECT_TRUE(s.try_acquire()) << "one was left";
    EXPECT_FALSE(s.try_acquire_until(std::chrono::steady_clock::now()));
}

TEST_P(semaphore_waits, permits_are_conserved_when_time_limits_race_releases) {
    pilfer::pool pool(with_workers());
    pilfer::counting_semaphore<> s(0);
    std::atomic<unsigned> got{0};
    all_at_once(pool, 8, 2, [&](unsigned self) {
        for (unsigned i = 0; i < 100; ++i) {
            if (self % 2 == 0) {
                s.release();
            } else {
                got += s.try_acquire_for(std::chrono::microseconds(i % 16)) ? 1 : 0;
            }
        }
    });
    while (s.try_acquire()) {
        ++got;
    }
    EXPECT_EQ(got, 500U);
}

TEST_P(latch_waits, opens_for_tasks_and_threads) {
    pilfer::pool pool(with_workers());
    pilfer::latch l(20);
    std::atomic<int> arrived{0};
    all_at_once(pool, 18, 2, [&](unsigned) {
        ++arrived;
        l.arrive_and_wait();
        EXPECT_EQ(arrived, 20);
    });
    EXPECT_TRUE(l.try_wait());
    l.wait();
}

TEST_P(latch_waits, may_be_ended_by_a_task_that_saw_it_open) {
    pilfer::pool pool(with_workers());
    pool.run([&] {
        for (int i = 0; i < 100; ++i) {
            std::optional<pilfer::latch> l(std::in_place, 3);
            std::atomic<int> down{0};
            pilfer::scope s;
            s.fork([&] {
                down += 2;
                l->count_down(2);
            });
            s.fork([&] {
                ++down;
                l->count_down();
            });
            while (!l->wait_for(1us)) {
            }
            EXPECT_EQ(down, 3);
            l.reset(); // the last one to count down may still be inside the call: sanitizers would see it
            s.sync();
        }
    });
}

TEST_P(barrier_phases, phases_with_a_completion) {
    constexpr unsigned parties = 6;
    constexpr unsigned phases = 15;
    pilfer::pool pool(with_workers());
    std::array<unsigned, parties> at{};
    unsigned completed = 0;
    pilfer::barrier barrier(parties, [&]() noexcept {
        let_others_run(); // it may wait
        ++completed;
        for (const unsigned a : at) {
            EXPECT_EQ(a, completed);
        }
    });
    all_at_once(pool, parties - 1, 1, [&](unsigned self) {
        for (unsigned i = 1; i <= phases; ++i) {
            at[self] = i;
            if (i % 3 == 0) {
                auto token = barrier.arrive();
                while (!barrier.wait_for(token, 1us)) {
                }
                barrier.wait(std::move(token)); // over: it returns at once
            } else {
                barrier.arrive_and_wait();
            }
            EXPECT_EQ(completed, i);
        }
    });
    EXPECT_EQ(completed, phases);
}

TEST_P(barrier_phases, tasks_that_drop_are_not_awaited) {
    pilfer::pool pool(with_workers());
    unsigned completed = 0;
    const auto count = [&]() noexcept { ++completed; };
    pilfer::barrier<decltype(count)> barrier(8, count);
    all_at_once(pool, 6, 2, [&](unsigned self) {
        for (unsigned i = 0; i < self; ++i) {
            barrier.arrive_and_wait();
        }
        barrier.arrive_and_drop();
    });
    EXPECT_EQ(completed, 8U);
}

TEST_P(event_waits, lets_all_pass_until_it_is_reset) {
    pilfer::pool pool(with_workers());
    pilfer::event e;
    int written = 0;
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 1000; ++i) {
        all.push_back(pool.async([&] {
            e.wait();
            EXPECT_EQ(written, 1);
        }));
    }
    std::thread outside([&] {
        EXPECT_TRUE(e.wait_for(for_ever));
        EXPECT_EQ(written, 1);
    });
    until_suspended(pool, 1000);
    EXPECT_FALSE(e.is_set());
    written = 1;
    e.set();
    e.reset(); // the waiting task continues nevertheless
    for (auto& f : all) {
        f.get();
    }
    if (e.is_set()) {
        ADD_FAILURE();
    }
    EXPECT_FALSE(e.wait_until(std::chrono::steady_clock::now() + 10us));
    e.set(); // for the thread, which may have come late
    outside.join();
    e.wait();
    EXPECT_TRUE(e.is_set());
    EXPECT_TRUE(pilfer::event(true).is_set());
}

TEST_F(waits_elsewhere, a_task_waits_for_another_pool_and_a_thread) {
    pilfer::pool one(workers(1));
    pilfer::pool other(workers(1));
    pilfer::event e;
    pilfer::binary_semaphore s(0);
    auto waiter = one.async([&] {
        e.wait();
        s.acquire();
        return 1;
    });
    other.run([&] { e.set(); });
    std::thread([&] { s.release(); }).join();
    EXPECT_EQ(waiter.get(), 1);
}

// If no further stack is available, tasks that have not started run on top of waiting ones.
TEST_F(waits_elsewhere, waits_without_a_free_stack) {
    auto o = workers(2);
    o.max_contexts = 3;
    pilfer::pool pool(o);
    pilfer::event e;
    std::atomic<unsigned> through{0};
    std::vector<pilfer::future<void>> all;
    // All are submitted before one begins: a task that comes when all stacks wait has none to start on.
    std::atomic<unsigned> begun{0};
    std::atomic<bool> go{false};
    for (int i = 0; i < 2; ++i) {
        all.push_back(pool.async([&] {
            ++begun;
            while (!go) {
                std::this_thread::yield();
            }
        }));
    }
    ASSERT_TRUE(support::eventually([&] { return begun == 2; }));
    for (int i = 0; i < 40; ++i) {
        all.push_back(pool.async([&] {
            (void)e.wait_for(for_ever);
            ++through;
        }));
    }
    all.push_back(pool.async([&] { e.set(); })); // on top of the others, at last
    go = true;
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(through, 40U);
}

TEST_F(waits_elsewhere, impossible_counts_are_refused) {
    EXPECT_THROW(pilfer::counting_semaphore<5>(-1), std::invalid_argument);
    EXPECT_THROW(pilfer::counting_semaphore<5>(6), std::invalid_argument);
    EXPECT_THROW(pilfer::binary_semaphore(2), std::invalid_argument);
    EXPECT_THROW(pilfer::latch(-1), std::invalid_argument);
    EXPECT_THROW(pilfer::barrier<>(-1), std::invalid_argument);
    pilfer::latch open(0);
    EXPECT_TRUE(open.try_wait());
}

} // namespace
