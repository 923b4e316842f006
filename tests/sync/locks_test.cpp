// Mutexes, shared mutexes and condition variables between tasks, between threads, and mixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <shared_mutex>

#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class mutual_exclusion : public over_workers {};
class shared_locks : public over_workers {};
class condition_waits : public over_workers {};
class lock_scripts : public support::guarded {};
PILFER_OVER_WORKERS(mutual_exclusion);
PILFER_OVER_WORKERS(shared_locks);
PILFER_OVER_WORKERS(condition_waits);

TEST_P(mutual_exclusion, excludes_tasks_and_threads_from_each_other) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    std::uint64_t plain = 0;
    const auto rounds = support::hundredth_of(100'000);
    all_at_once(pool, 6, 2, [&](unsigned) {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::lock_guard hold(m);
            ++plain;
        }
    });
    EXPECT_EQ(plain, 8 * rounds);
}

TEST_P(mutual_exclusion, may_be_held_across_a_wait) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    std::uint64_t plain = 0;
    std::atomic<int> inside{0};
    all_at_once(pool, 16, 1, [&](unsigned) {
        for (int i = 0; i < 20; ++i) {
            const std::unique_lock hold(m);
            EXPECT_EQ(inside.fetch_add(1), 0);
            const auto before = plain;
            let_others_run();
            plain = before + 1;
            inside.fetch_sub(1);
        }
    });
    EXPECT_EQ(plain, 17U * 20U);
}

TEST_P(mutual_exclusion, is_free_again_after_time_limits_that_race_the_unlock) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    std::uint64_t plain = 0;
    std::atomic<std::uint64_t> got{0};
    all_at_once(pool, 8, 2, [&](unsigned self) {
        for (unsigned i = 0; i < 40; ++i) {
            bool mine = true;
            if (self % 3 == 0) {
                m.lock();
            } else if (self % 3 == 1) {
                mine = m.try_lock_for(std::chrono::microseconds(i));
            } else {
                mine = m.try_lock_until(std::chrono::system_clock::now() + std::chrono::microseconds(10 * i));
            }
            if (mine) {
                ++plain;
                if (i % 4 == 0) {
                    pilfer::sleep_for(std::chrono::microseconds(10));
                }
                m.unlock();
                ++got;
            }
        }
    });
    EXPECT_EQ(plain, got.load());
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST_P(mutual_exclusion, a_thousand_waiters_all_get_it) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    unsigned plain = 0;
    m.lock();
    std::vector<pilfer::future<void>> waiting;
    for (unsigned i = 0; i < 1000; ++i) {
        waiting.push_back(pool.async([&] {
            const std::lock_guard hold(m);
            ++plain;
        }));
    }
    until_suspended(pool, 1000);
    m.unlock(); // by the thread that locked it; the tasks hand it on
    for (auto& f : waiting) {
        f.get();
    }
    EXPECT_EQ(plain, 1000U);
}

TEST_P(mutual_exclusion, scoped_lock_over_two) {
    pilfer::pool pool(with_workers());
    pilfer::mutex a;
    pilfer::mutex b;
    int left = 1000;
    int right = 0;
    all_at_once(pool, 6, 2, [&](unsigned self) {
        for (int i = 0; i < 50; ++i) {
            if (self % 2 == 0) {
                const std::scoped_lock both(a, b);
                --left;
                ++right;
            } else {
                const std::scoped_lock both(b, a);
                EXPECT_EQ(left + right, 1000);
            }
        }
    });
    EXPECT_EQ(right, 200);
}

TEST_P(mutual_exclusion, dining_philosophers) {
    constexpr unsigned seats = 7;
    pilfer::pool pool(with_workers());
    std::array<pilfer::mutex, seats> forks;
    std::array<std::atomic<bool>, seats> used{};
    std::array<unsigned, seats> meals{};
    all_at_once(pool, seats - 2, 2, [&](unsigned self) {
        const unsigned left = self;
        const unsigned right = (self + 1) % seats;
        for (int i = 0; i < 50; ++i) {
            const std::lock_guard first(forks[std::min(left, right)]); // the order keeps them from a cycle
            const std::lock_guard second(forks[std::max(left, right)]);
            EXPECT_FALSE(used[left].exchange(true) || used[right].exchange(true));
            if (i % 8 == 0) {
                let_others_run();
            }
            ++meals[self];
            used[left] = used[right] = false;
        }
    });
    for (const unsigned m : meals) {
        EXPECT_EQ(m, 50U);
    }
}

// Chandy and Misra, "The drinking philosophers problem" (1984). In this form a thirsty philosopher asks for
// any set of bottles at once. Here one mutex guards all bottles, with a condition for each.
TEST_P(condition_waits, drinking_philosophers) {
    constexpr unsigned seats = 6;
    pilfer::pool pool(with_workers());
    pilfer::mutex table;
    std::array<pilfer::condition_variable, seats> put_down;
    std::array<bool, seats> taken{};
    std::array<unsigned, seats> drinks{};
    all_at_once(pool, seats - 1, 1, [&](unsigned self) {
        for (unsigned i = 0; i < 40; ++i) {
            const unsigned wanted = 1 + (i * 7 + self * 3) % 3; // 1: left, 2: right, 3: both
            const unsigned left = self;
            const unsigned right = (self + 1) % seats;
            std::unique_lock hold(table);
            put_down[self].wait(hold, [&] {
                return !((wanted & 1) != 0 && taken[left]) && !((wanted & 2) != 0 && taken[right]);
            });
            taken[left] = taken[left] || (wanted & 1) != 0;
            taken[right] = taken[right] || (wanted & 2) != 0;
            hold.unlock();
            let_others_run();
            hold.lock();
            taken[left] = taken[left] && (wanted & 1) == 0;
            taken[right] = taken[right] && (wanted & 2) == 0;
            ++drinks[self];
            put_down[(self + seats - 1) % seats].notify_one();
            put_down[right].notify_one();
        }
    });
    for (const unsigned d : drinks) {
        EXPECT_EQ(d, 40U);
    }
}

TEST_P(condition_waits, predicate_between_tasks_and_threads) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    pilfer::condition_variable changed;
    unsigned turn = 0;
    constexpr unsigned all = 5;
    std::vector<unsigned> order;
    all_at_once(pool, 3, 2, [&](unsigned self) {
        for (unsigned round = 0; round < 20; ++round) {
            std::unique_lock hold(m);
            changed.wait(hold, [&] { return turn % all == self; });
            order.push_back(self);
            ++turn;
            changed.notify_all();
        }
    });
    ASSERT_EQ(order.size(), 100U);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(order[i], i % all);
    }
}

TEST_P(condition_waits, each_notification_reaches_one_waiter_or_its_time_was_over) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    pilfer::condition_variable c;
    unsigned tickets = 0;
    std::atomic<unsigned> used{0};
    std::atomic<unsigned> over{0};
    std::atomic<bool> done{false};
    constexpr unsigned tasks = 12;
    std::thread notifier([&] {
        for (unsigned i = 0; i < 200; ++i) {
            const std::lock_guard hold(m);
            ++tickets;
            c.notify_one();
        }
        done = true;
        c.notify_all();
    });
    all_at_once(pool, tasks, 2, [&](unsigned self) {
        for (bool last = false; !last;) {
            std::unique_lock hold(m);
            last = done;
            if (c.wait_for(hold, std::chrono::microseconds(self * 20), [&] { return tickets > 0; })) {
                --tickets;
                ++used;
                last = false;
            } else {
                ++over;
            }
        }
    });
    notifier.join();
    EXPECT_EQ(used + tickets, 200U);
    EXPECT_EQ(tickets, 0U);
    EXPECT_GE(over.load(), tasks + 2);
}

TEST_P(condition_waits, notify_all_with_a_thousand_waiters) {
    pilfer::pool pool(with_workers());
    pilfer::mutex m;
    pilfer::condition_variable c;
    unsigned waiting = 0;
    unsigned through = 0;
    bool go = false;
    std::vector<pilfer::future<void>> all;
    for (unsigned i = 0; i < 1000; ++i) {
        all.push_back(pool.async([&] {
            std::unique_lock hold(m);
            ++waiting;
            c.wait(hold, [&] { return go; });
            ++through;
        }));
    }
    ASSERT_TRUE(support::eventually([&] {
        const std::lock_guard hold(m);
        return waiting == 1000;
    }));
    {
        const std::lock_guard hold(m);
        EXPECT_EQ(through, 0U);
        go = true;
    }
    c.notify_all();
    for (auto& f : all) {
        f.get();
    }
    EXPECT_EQ(through, 1000U);
}

TEST_P(shared_locks, readers_share_and_writers_do_not) {
    pilfer::pool pool(with_workers());
    pilfer::shared_mutex m;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::atomic<unsigned> writes{0};
    all_at_once(pool, 10, 2, [&](unsigned self) {
        for (unsigned i = 0; i < 40; ++i) {
            if ((self + i) % 4 == 0) {
                std::unique_lock hold(m, std::defer_lock);
                if (i % 2 == 0) {
                    hold.lock();
                } else if (!hold.try_lock_for(std::chrono::microseconds(i))) {
                    continue;
                }
                ++a;
                let_others_run();
                ++b;
                ++writes;
            } else {
                std::shared_lock hold(m, std::defer_lock);
                if (i % 3 != 0) {
                    hold.lock();
                } else if (!hold.try_lock_until(std::chrono::steady_clock::now() +
                                                std::chrono::microseconds(i))) {
                    continue;
                }
                const auto seen = a;
                EXPECT_EQ(seen, b);
                let_others_run();
                EXPECT_EQ(seen, a);
            }
        }
    });
    EXPECT_EQ(a, writes.load());
    EXPECT_TRUE(m.try_lock());
    EXPECT_FALSE(m.try_lock_shared());
    m.unlock();
}

TEST_F(lock_scripts, readers_are_inside_together_and_a_writer_is_not_passed) {
    pilfer::pool pool(workers(2));
    pilfer::shared_mutex m;
    constexpr unsigned readers = 5;
    pilfer::latch together(readers);
    all_at_once(pool, readers - 1, 1, [&](unsigned) {
        const std::shared_lock hold(m);
        together.arrive_and_wait(); // ends only with all of them inside
    });
    m.lock_shared();
    auto writer = pool.async([&] { const std::unique_lock hold(m); });
    until_suspended(pool, 1);
    EXPECT_FALSE(m.try_lock_shared()) << "a reader passed a writer who waits";
    EXPECT_FALSE(m.try_lock_shared_for(1us));
    m.unlock_shared();
    writer.get();
    EXPECT_TRUE(m.try_lock_shared());
    EXPECT_TRUE(m.try_lock_shared());
    EXPECT_FALSE(m.try_lock());
    m.unlock_shared();
    m.unlock_shared();
}

TEST_F(lock_scripts, readers_queued_after_a_writer_that_times_out_get_the_lock) {
    pilfer::pool pool(workers(2));
    pilfer::shared_mutex m;
    m.lock_shared();
    pilfer::event queued;
    auto writer = pool.async([&] {
        queued.set();
        return m.try_lock_for(20ms);
    });
    queued.wait();
    auto reader = pool.async([&] { const std::shared_lock hold(m); });
    reader.get(); // ends although the first reader stays inside
    EXPECT_FALSE(writer.get());
    m.unlock_shared();
}

// On one worker no other task runs between an unlock and the next lock of a task. The task therefore passes
// the waiter each time, until the waiter's turn has come.
TEST_F(lock_scripts, a_waiter_is_passed_over_64_times_at_most) {
    for (const unsigned n : {1U, 2U, 8U}) {
        pilfer::pool pool(workers(n));
        pilfer::mutex m;
        unsigned passes = 0;
        pool.run([&] {
            m.lock();
            std::atomic<bool> served{false};
            auto waiter = pilfer::async([&] {
                const std::lock_guard hold(m);
                served = true;
            });
            const auto waits = [&] { // this frame runs, so it is the other one
                const auto c = pool.counters();
                return c.suspends != c.resumes;
            };
            while (!waits()) {
                let_others_run();
            }
            for (bool mine = true; mine;) {
                m.unlock();
                mine = !served && m.try_lock();
                passes += mine && !served ? 1 : 0;
                ASSERT_LE(passes, 64U);
            }
            waiter.get();
        });
        if (n == 1) {
            EXPECT_EQ(passes, 63U) << "the unlock of who held it before counts as the first pass";
        }
    }
}

// Each holder waits inside, so all others queue: eight tasks on one worker, and no clock.
TEST_F(lock_scripts, the_least_served_of_eight_has_a_quarter_of_the_most_served) {
    pilfer::pool pool(workers(1));
    pilfer::mutex m;
    std::array<unsigned, 8> served{};
    unsigned total = 0;
    const unsigned wanted = 8 * 64 * 4;
    all_at_once(pool, 8, 0, [&](unsigned self) {
        for (bool more = true; more;) {
            const std::lock_guard hold(m);
            more = total < wanted;
            if (more) {
                ++total;
                ++served[self];
                let_others_run();
            }
        }
    });
    const auto [least, most] = std::minmax_element(served.begin(), served.end());
    EXPECT_GE(*least * 4, *most);
}

TEST_F(lock_scripts, tasks_of_two_pools_and_threads_share_one) {
    pilfer::pool one(workers(2));
    pilfer::pool other(workers(3));
    pilfer::mutex m;
    pilfer::condition_variable c;
    unsigned turn = 0;
    const auto play = [&](unsigned self) {
        for (unsigned i = 0; i < 30; ++i) {
            std::unique_lock hold(m);
            c.wait(hold, [&] { return turn % 3 == self; });
            ++turn;
            c.notify_all();
        }
    };
    std::thread third([&] { play(2); });
    auto a = one.async([&] { play(0); });
    auto b = other.async([&] { play(1); });
    a.get();
    b.get();
    third.join();
    EXPECT_EQ(turn, 90U);
}

TEST_F(lock_scripts, a_thread_that_unlocks_and_exits_wakes_the_waiting_task) {
    pilfer::pool pool(workers(1));
    pilfer::mutex m;
    pilfer::future<void> task;
    bool had_it = false;
    std::thread([&] {
        m.lock();
        task = pool.async([&] {
            const std::lock_guard hold(m);
            had_it = true;
        });
        until_suspended(pool, 1);
        EXPECT_FALSE(had_it);
        m.unlock();
    }).join();
    task.get();
    EXPECT_TRUE(had_it);
}

// Others run on top of a waiting task (rule `worker.W4`), and may take locks that it does not hold.
TEST_F(lock_scripts, waits_without_a_free_stack) {
    auto o = workers(2);
    o.max_contexts = 4;
    pilfer::pool pool(o);
    pilfer::mutex m;
    pilfer::counting_semaphore<> ended(0);
    m.lock();
    std::vector<pilfer::future<void>> all;
    for (unsigned i = 0; i < 50; ++i) {
        all.push_back(pool.async([&] {
            m.lock();
            m.unlock();
            ended.release();
        }));
    }
    pilfer::sleep_for(1ms);
    m.unlock();
    for (auto& f : all) {
        f.get();
    }
    for (unsigned i = 0; i < 50; ++i) {
        EXPECT_TRUE(ended.try_acquire());
    }
}

TEST_F(lock_scripts, a_condition_without_its_lock_throws_and_does_not_wait) {
    pilfer::condition_variable c;
    pilfer::mutex m;
    std::unique_lock<pilfer::mutex> none(m, std::defer_lock);
    EXPECT_THROW(c.wait(none), std::system_error);
    c.notify_one(); // finds no waiter
    pilfer::pool pool(workers(1));
    EXPECT_THROW(pool.run([&] { (void)c.wait_for(none, 1s); }), std::system_error);
}

TEST_F(lock_scripts, no_time_left_means_one_try) {
    pilfer::pool pool(workers(1));
    const auto tries = [] {
        pilfer::mutex m;
        EXPECT_TRUE(m.try_lock_for(-1s));
        std::thread([&] { EXPECT_FALSE(m.try_lock_for(0s)); }).join();
        m.unlock();
        pilfer::condition_variable c;
        std::unique_lock hold(m);
        EXPECT_EQ(c.wait_for(hold, -1h), pilfer::cv_status::timeout);
        EXPECT_TRUE(c.wait_for(hold, 0s, [] { return true; }));
        EXPECT_TRUE(hold.owns_lock());
        hold.unlock();
        pilfer::shared_mutex s;
        EXPECT_TRUE(s.try_lock_shared_for(0s));
        EXPECT_FALSE(s.try_lock_for(0s));
        s.unlock_shared();
    };
    tries();
    pool.run(tries);
}

} // namespace
