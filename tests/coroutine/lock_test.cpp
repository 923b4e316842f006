// Coroutines that lock mutexes, among themselves and beside tasks and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coroutine/cancelled.hpp"
#include "sync/support.hpp"
#include "waits/waits.hpp"

namespace {

using namespace coroutine_tests;
using mutex_guard = pilfer::coroutine_lock<pilfer::mutex>;

class coroutine_locks : public over_workers {};
class coroutine_lock_ends : public guarded {};

// ---- exclusion --------------------------------------------------------------------------------

/// A plain count, and a flag that is set while a lock is held.
struct guarded_count {
    pilfer::mutex mutex;
    long count = 0;
    std::atomic<bool> inside{false};
    void enter() { EXPECT_FALSE(inside.exchange(true)) << "two holders"; }
    void leave() {
        ++count;
        inside = false;
    }
};

/// Some holds suspend: for a moment, or behind all that is queued.
task<> counts(pilfer::pool& p, guarded_count& c, int rounds) {
    for (int i = 0; i < rounds; ++i) {
        auto guard = co_await pilfer::scoped_lock(c.mutex);
        c.enter();
        if (i % 8 == 3) {
            co_await p.schedule();
        } else if (i % 32 == 5) {
            co_await pilfer::resume_after(1us);
        }
        c.leave();
        if (i % 2 == 0) {
            guard.unlock();
            EXPECT_FALSE(guard.owns_lock());
        }
    }
}

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

// ---- cancellation -----------------------------------------------------------------------------

class coroutine_lock_cancel : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_lock_cancel, testing::Values(1U, 2U, 3U, 8U));

task<> waits_for_lock(pilfer::mutex& m, std::atomic<int>& begun, int& got) {
    ++begun;
    const auto guard = co_await pilfer::scoped_lock(m);
    ++got;
}

TEST_P(coroutine_lock_cancel, ends_a_wait_for_a_lock) {
    pool.run([&] {
        pilfer::mutex m;
        m.lock();
        std::atomic<int> begun{0};
        int got = 0;
        pilfer::scope s;
        for (int i = 0; i < 5; ++i) {
            s.fork([&] { pool.run(waits_for_lock(m, begun, got)); });
        }
        const auto outside = pool.async(waits_for_lock(m, begun, got)); // in no scope: stays
        until([&] { return begun == 6; });
        s.cancel();
        s.sync();
        EXPECT_EQ(got, 0);
        m.unlock();
        outside.get();
        EXPECT_EQ(got, 1);
        EXPECT_TRUE(m.try_lock()) << "leaked";
        m.unlock();
    });
}

TEST_P(coroutine_lock_cancel, a_free_lock_is_taken_and_the_next_wait_throws) {
    pool.run([&] {
        pilfer::mutex m;
        bool has = false;
        bool after = false;
        pilfer::scope s;
        s.fork([&] {
            until([] { return pilfer::cancelled(); });
            pool.run([](pilfer::mutex& mutex, bool& in, bool& later) -> task<> {
                {
                    const auto guard = co_await pilfer::scoped_lock(mutex);
                    in = true;
                    EXPECT_FALSE(pilfer::cancelled()) << "it holds a lock";
                    try {
                        co_await pilfer::resume_after(100us);
                    } catch (const pilfer::stopped&) {
                        ADD_FAILURE() << "a holder was taken out of its wait";
                        throw;
                    }
                    EXPECT_FALSE(pilfer::cancelled());
                }
                EXPECT_TRUE(pilfer::cancelled());
                co_await pilfer::resume_after(1h);
                later = true;
            }(m, has, after));
        });
        s.fork([&] { s.cancel(); });
        s.sync();
        EXPECT_TRUE(m.try_lock());
        m.unlock();
        EXPECT_FALSE(after);
        // The child may have been dropped before it began.
        (void)has;
    });
}

/// The lock is held across a wait while the cancellation comes, which acts after the unlock.
TEST_P(coroutine_lock_cancel, does_not_reach_a_holder) {
    for (int round = 0; round < 20; ++round) {
        pool.run([&] {
            pilfer::mutex m;
            pilfer::event holds;
            pilfer::event go;
            std::atomic<int> steps{0};
            pilfer::scope s;
            s.fork([&] {
                pool.run([](pilfer::mutex& mutex, pilfer::event& h, pilfer::event& g,
                            std::atomic<int>& n) -> task<> {
                    {
                        const auto guard = co_await pilfer::scoped_lock(mutex);
                        pilfer::scope empty; // lives across the wait
                        h.set();
                        co_await g;
                        EXPECT_FALSE(mutex.try_lock());
                        ++n;
                        co_await pilfer::resume_after(10us);
                        std::atomic<int> ran{0};
                        empty.fork([&] { ++ran; });
                        empty.sync();
                        EXPECT_EQ(ran, 1) << "the scope began under the lock";
                        ++n;
                    }
                    co_await pilfer::resume_after(1h);
                    ++n;
                }(m, holds, go, steps));
            });
            holds.wait();
            s.cancel();
            go.set();
            s.sync();
            EXPECT_EQ(steps, 2);
            EXPECT_TRUE(m.try_lock());
            m.unlock();
        });
    }
}

/// A scope that began under the lock, and outlives it, can be stopped from outside afterwards.
TEST_P(coroutine_lock_cancel, reaches_a_scope_that_outlives_the_lock) {
    for (int round = 0; round < 20; ++round) {
        pool.run([&] {
            pilfer::mutex m;
            pilfer::event holds;
            pilfer::event go;
            bool was_stopped = false;
            pilfer::scope s;
            s.fork([&] {
                pool.run([](pilfer::mutex& mutex, pilfer::event& h, pilfer::event& g, bool& out) -> task<> {
                    auto guard = co_await pilfer::scoped_lock(mutex);
                    pilfer::scope inner;
                    h.set();
                    co_await g;
                    EXPECT_FALSE(pilfer::cancelled());
                    guard.unlock();
                    EXPECT_TRUE(pilfer::cancelled());
                    try {
                        co_await pilfer::resume_after(1h);
                    } catch (const pilfer::stopped&) {
                        out = true;
                        throw;
                    }
                }(m, holds, go, was_stopped));
            });
            holds.wait();
            s.cancel();
            go.set();
            s.sync();
            EXPECT_TRUE(was_stopped);
        });
    }
}

/// It begins no scope under the lock, so only its own place keeps the cancellation off.
TEST_P(coroutine_lock_cancel, does_not_end_the_wait_for_a_time_of_a_holder) {
    pool.run([&] {
        pilfer::mutex m;
        pilfer::event holds;
        bool waited = false;
        pilfer::scope s;
        s.fork([&] {
            pool.run([](pilfer::mutex& mutex, pilfer::event& h, bool& done) -> task<> {
                const auto guard = co_await pilfer::scoped_lock(mutex);
                h.set();
                try {
                    co_await pilfer::resume_after(20ms);
                } catch (const pilfer::stopped&) {
                    ADD_FAILURE() << "a holder was taken out of its wait";
                    throw;
                }
                done = true;
            }(m, holds, waited));
        });
        holds.wait();
        s.cancel();
        s.sync();
        EXPECT_TRUE(waited);
        EXPECT_TRUE(m.try_lock());
        m.unlock();
    });
}

/// A holder that is not cancelled waits for a second lock to the end.
TEST_P(coroutine_lock_cancel, does_not_end_the_second_wait_of_a_holder) {
    pool.run([&] {
        pilfer::mutex first;
        pilfer::mutex second;
        pilfer::event holds;
        bool both = false;
        pilfer::scope s;
        second.lock();
        s.fork([&] {
            pool.run([](pilfer::mutex& a, pilfer::mutex& b, pilfer::event& e, bool& all) -> task<> {
                const auto one = co_await pilfer::scoped_lock(a);
                e.set();
                const auto two = co_await pilfer::scoped_lock(b);
                all = true;
            }(first, second, holds, both));
        });
        holds.wait();
        s.cancel();
        pilfer::sleep_for(100us);
        EXPECT_FALSE(both);
        second.unlock();
        s.sync();
        EXPECT_TRUE(both);
    });
}

/// An unlock and a cancellation at any moment: exactly one ends the wait, and the lock is not lost.
TEST_P(coroutine_lock_cancel, races_the_unlock) {
    const std::uint64_t rounds = hundredth_of(100'000);
    std::uint64_t got = 0;
    for (std::uint64_t round = 0; round < rounds; ++round) {
        pool.run([&] {
            pilfer::mutex m;
            std::atomic<int> begun{0};
            int has = 0;
            bool was_stopped = false;
            m.lock();
            pilfer::scope s;
            s.fork([&] {
                try {
                    pool.run(waits_for_lock(m, begun, has));
                } catch (const pilfer::stopped&) {
                    was_stopped = true;
                    throw;
                }
            });
            until([&] { return begun == 1; });
            const auto spin = [](std::uint64_t turns) {
                for (std::atomic<std::uint64_t> i{0}; i < turns;) {
                    ++i;
                }
            };
            const auto done = pilfer::async([&] {
                spin(round * 53 % 400);
                s.cancel();
            });
            spin(round * 37 % 400);
            m.unlock();
            done.get();
            if (round % 3 == 0) {
                const std::lock_guard also(m); // passes it, if it was called
            }
            s.sync();
            EXPECT_NE(has == 1, was_stopped);
            got += static_cast<std::uint64_t>(has);
            EXPECT_TRUE(m.try_lock()) << "leaked";
            m.unlock();
        });
    }
    EXPECT_LE(got, rounds);
}

/// Many wait, hold and are cancelled at once; those that remain get the lock.
TEST_P(coroutine_lock_cancel, storms_lose_no_lock) {
    for (std::uint64_t round = 0; round < hundredth_of(3'000); ++round) {
        guarded_count c;
        pool.run([&] {
            const auto loops = [](guarded_count& n, pilfer::pool& p) -> task<> {
                for (;;) {
                    {
                        const auto guard = co_await pilfer::scoped_lock(n.mutex);
                        n.enter();
                        co_await p.schedule();
                        n.leave();
                    }
                    co_await p.schedule();
                }
            };
            const auto stays = pool.async(counts(pool, c, 10));
            pilfer::scope s;
            for (int i = 0; i < 6; ++i) {
                s.fork([&] { pool.run(loops(c, pool)); });
            }
            s.fork([&] {
                for (int i = 0; i < 20; ++i) {
                    const std::lock_guard guard(c.mutex);
                    c.enter();
                    c.leave();
                }
                s.cancel();
            });
            s.sync();
            stays.get();
        });
        EXPECT_TRUE(c.mutex.try_lock()) << "leaked";
        c.mutex.unlock();
    }
}

// ---- reports ----------------------------------------------------------------------------------

TEST_F(coroutine_lock_ends, a_dump_names_the_wait_for_a_mutex) {
    pilfer::pool pool(workers(2));
    pilfer::mutex m;
    m.lock();
    std::atomic<int> begun{0};
    int got = 0;
    const auto waits = pool.async(waits_for_lock(m, begun, got));
    std::string text;
    EXPECT_TRUE(eventually([&] {
        std::ostringstream out;
        pool.dump(out);
        text = out.str();
        return text.find("waits for a mutex (0x") != std::string::npos;
    })) << text;
    EXPECT_NE(text.find("), which is held"), std::string::npos) << text;
    EXPECT_NE(text.find("waits_for_lock"), std::string::npos) << text;
    m.unlock();
    waits.get();
}

/// `body` waits for ever, and `text` appears on standard error.
template <class Body>
void expect_named(const char* text, Body body) {
    const auto says = in_child([&] {
        waits::own_stderr err;
        std::thread([&body] { body(); }).detach();
        err.await(text);
        err.give_back();
        return 0;
    });
    if (pilfer::detail::checked_build) {
        EXPECT_TRUE(says.killed_by(SIGABRT)) << says;
    } else {
        EXPECT_TRUE(says.exited_with(0)) << says;
    }
}

task<> locks_both(pilfer::mutex& a, pilfer::mutex& b, pilfer::latch& all) {
    const auto first = co_await pilfer::scoped_lock(a);
    all.arrive_and_wait();
    co_await pilfer::resume_after(1us); // on any worker
    const auto second = co_await pilfer::scoped_lock(b);
}

TEST_F(coroutine_lock_ends, a_cycle_through_coroutines_is_named_at_once) {
    expect_named("a cycle of tasks or threads that wait for each other's mutexes: ", [] {
        pilfer::pool pool(workers(3));
        pilfer::mutex m[3];
        pilfer::latch all(3);
        auto a = pool.async(locks_both(m[0], m[1], all));
        auto b = pool.async(locks_both(m[1], m[2], all));
        const std::lock_guard first(m[2]);
        all.arrive_and_wait();
        const std::lock_guard second(m[0]);
    });
}

TEST_F(coroutine_lock_ends, a_coroutine_that_locks_twice_is_named_at_once) {
    expect_named("a mutex is locked twice by the same task or thread", [] {
        pilfer::pool pool(workers(1));
        pilfer::mutex m;
        pool.run([](pilfer::mutex& mutex) -> task<> {
            const auto first = co_await pilfer::scoped_lock(mutex);
            const auto second = co_await pilfer::scoped_lock(mutex);
        }(m));
    });
}

/// The guard's end would write to the root, which is gone.
TEST_F(coroutine_lock_ends, a_lock_that_outlives_its_coroutine_ends_the_program) {
    const auto keeps = [](mutex_guard& out) -> task<> {
        static pilfer::mutex m;
        out = co_await pilfer::scoped_lock(m);
    };
    using way = void (*)(pilfer::pool&, task<>);
    constexpr way ways[] = {[](pilfer::pool& p, task<> t) { p.run(std::move(t)); },
                            [](pilfer::pool& p, task<> t) { p.async(std::move(t)).get(); },
                            [](pilfer::pool& p, task<> t) { p.submit(std::move(t)); }};
    for (const way begin : ways) {
        const auto says = in_child([&] {
            pilfer::pool pool(workers(1));
            begin(pool, keeps(*new mutex_guard));
            pool.shutdown();
            return 0;
        });
        EXPECT_TRUE(says.killed_by(SIGABRT)) << says;
        EXPECT_TRUE(says.said("a coroutine ended that holds a lock of the library")) << says;
    }
}

/// The parameter lives until the frame ends, after the coroutine.
task<> keeps_in_a_parameter(pilfer::pool& p, pilfer::mutex& m, bool suspends, mutex_guard parameter) {
    parameter = co_await pilfer::scoped_lock(m);
    if (suspends) {
        co_await p.schedule();
    }
}
task<> fails_with_a_lock(pilfer::pool& p, pilfer::mutex& m, bool suspends, mutex_guard parameter) {
    parameter = co_await pilfer::scoped_lock(m);
    if (suspends) {
        co_await p.schedule();
    }
    throw std::runtime_error("its own");
}
task<mutex_guard> gives_away(pilfer::mutex& m) { co_return co_await pilfer::scoped_lock(m); }

void expect_free(pilfer::mutex& m) {
    EXPECT_FALSE(pilfer::detail::this_activation()->holds_lock());
    EXPECT_TRUE(m.try_lock()) << "still locked";
    m.unlock();
}

/// A root: no coroutine awaits it that could hold the lock.
TEST_F(coroutine_lock_ends, a_root_that_ends_with_a_lock_throws_and_unlocks) {
    if (pilfer::detail::checked_build) {
        return; // it aborts there
    }
    pilfer::mutex m;
    std::atomic<int> refused{0};
    std::atomic<int> own{0};
    pilfer::options o = workers(2);
    o.on_error = [&](const std::exception_ptr& e) { // NOLINT(performance-unnecessary-value-param)
        try {
            std::rethrow_exception(e);
        } catch (const pilfer::usage_error&) {
            ++refused;
        } catch (const std::runtime_error&) {
            ++own;
        }
    };
    pilfer::pool pool(o);
    const auto submit = [&](task<> t, const std::atomic<int>& errors) {
        const int before = errors;
        pool.submit(std::move(t));
        while (errors == before) {
            std::this_thread::yield();
            pilfer::yield();
        }
        m.lock(); // it may run yet
        m.unlock();
    };
    const auto all_ways = [&] {
        for (const bool suspends : {false, true}) {
            const auto ends = [&] { return keeps_in_a_parameter(pool, m, suspends, mutex_guard()); };
            const auto fails = [&] { return fails_with_a_lock(pool, m, suspends, mutex_guard()); };
            EXPECT_THROW(pool.run(ends()), pilfer::usage_error);
            expect_free(m);
            EXPECT_THROW(pool.run(fails()), std::runtime_error);
            expect_free(m);
            EXPECT_THROW(pool.async(ends()).get(), pilfer::usage_error);
            expect_free(m);
            EXPECT_THROW(pool.async(fails()).get(), std::runtime_error);
            expect_free(m);
            submit(ends(), refused);
            submit(fails(), own);
        }
        EXPECT_THROW((void)pool.run(gives_away(m)), pilfer::usage_error);
        expect_free(m);
        EXPECT_THROW((void)pool.async(gives_away(m)).take(), pilfer::usage_error);
        expect_free(m);
    };
    all_ways();
    pool.run(all_ways);
    pilfer::pool other(workers(1));
    other.run(all_ways);
    pool.run([&] { // no count of locks is left
        for (int i = 0; i < 100; ++i) {
            pool.async([&] { expect_free(*std::make_unique<pilfer::mutex>()); }).get();
        }
    });
    EXPECT_EQ(refused, 6);
    EXPECT_EQ(own, 6);
}

} // namespace
