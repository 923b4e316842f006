// Cancellations of coroutines that wait for a mutex or hold one.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "coroutine/cancelled.hpp"
#include "coroutine/locks.hpp"

namespace {

using namespace coroutine_tests;

class coroutine_lock_cancel : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_lock_cancel, testing::Values(1U, 2U, 3U, 8U));

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

} // namespace
