// A cancellation ends waits for semaphores, latches, barriers, conditions and shared mutexes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <shared_mutex>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class cancelled_wait : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};

    /// Ten tasks that call `wait` are cancelled there.
    template <class F>
    void cancels(F wait) {
        pool.run([&] {
            std::atomic<int> begun{0};
            std::atomic<int> left{0};
            pilfer::scope s;
            for (int i = 0; i < 10; ++i) {
                s.spawn([&] {
                    ++begun;
                    try {
                        wait();
                        ADD_FAILURE() << "not stopped";
                    } catch (const pilfer::stopped&) {
                        ++left;
                        throw;
                    }
                });
            }
            while (begun < 10) {
                pilfer::yield();
            }
            s.cancel();
            s.sync();
            EXPECT_EQ(left, 10);
        });
    }
};
INSTANTIATE_TEST_SUITE_P(workers, cancelled_wait, testing::Values(1U, 2U, 3U, 8U));

TEST_P(cancelled_wait, of_a_semaphore) {
    pilfer::counting_semaphore<> s(0);
    cancels([&] { s.acquire(); });
    cancels([&] { (void)s.try_acquire_for(1h); });
    s.release(1);
    EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

TEST_P(cancelled_wait, of_a_latch) {
    pilfer::latch l(11);
    cancels([&] { l.wait(); });
    cancels([&] { (void)l.wait_for(1h); });
    cancels([&] { l.arrive_and_wait(); });
    EXPECT_FALSE(l.try_wait());
    l.count_down(); // their counts stay
    EXPECT_TRUE(l.try_wait());
}

TEST_P(cancelled_wait, of_a_condition_variable) {
    pilfer::condition_variable c;
    pilfer::mutex m;
    const auto locked = [&](auto wait) {
        cancels([&] {
            std::unique_lock lock(m);
            try {
                wait(lock);
            } catch (const pilfer::stopped&) {
                EXPECT_TRUE(lock.owns_lock());
                EXPECT_FALSE(m.try_lock());
                throw;
            }
        });
    };
    locked([&](auto& lock) { c.wait(lock); });
    locked([&](auto& lock) { c.wait(lock, [] { return false; }); });
    locked([&](auto& lock) { (void)c.wait_for(lock, 1h); });
    locked([&](auto& lock) { (void)c.wait_for(lock, 1h, [] { return false; }); });
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

TEST_P(cancelled_wait, of_a_shared_mutex) {
    pilfer::shared_mutex m;
    m.lock();
    cancels([&] { m.lock_cancellable(); });
    cancels([&] { m.lock_shared_cancellable(); });
    m.unlock();
    m.lock_shared();
    cancels([&] { m.lock_cancellable(); });
    m.unlock_shared();
    m.lock_cancellable(); // no waiter is left in the queue
    EXPECT_FALSE(m.try_lock_shared());
    m.unlock();
    m.lock_shared_cancellable();
    EXPECT_TRUE(m.try_lock_shared());
    EXPECT_FALSE(m.try_lock());
    m.unlock_shared();
    m.unlock_shared();
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

// A task that got it by this call holds a lock like any other.
TEST_P(cancelled_wait, a_task_that_got_a_shared_mutex_is_a_holder) {
    pilfer::shared_mutex m;
    for (const bool shared : {false, true}) {
        pilfer::event go_on;
        std::atomic<bool> inside{false};
        std::atomic<bool> finished{false};
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                shared ? m.lock_shared_cancellable() : m.lock_cancellable();
                inside = true;
                go_on.wait();
                finished = !pilfer::cancelled();
                shared ? m.unlock_shared() : m.unlock();
                EXPECT_TRUE(pilfer::cancelled());
            });
            while (!inside) {
                pilfer::yield();
            }
            s.cancel();
            go_on.set();
            s.sync();
        });
        EXPECT_TRUE(finished);
    }
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

// A writer that leaves lets the later readers in the queue go, though the lock is not given.
TEST_P(cancelled_wait, readers_pass_a_writer_that_was_stopped) {
    pilfer::shared_mutex m;
    pool.run([&] {
        m.lock_shared();
        pilfer::scope s;
        std::atomic<int> begun{0};
        s.spawn([&] {
            ++begun;
            m.lock_cancellable();
            ADD_FAILURE() << "the lock was shared";
        });
        while (begun < 1) {
            pilfer::yield();
        }
        while (m.try_lock_shared()) { // once it waits, no reader passes it
            m.unlock_shared();
            pilfer::yield();
        }
        std::atomic<int> read{0};
        pilfer::scope others;
        for (int i = 0; i < 5; ++i) {
            others.spawn([&] {
                const std::shared_lock guard(m);
                ++read;
            });
        }
        EXPECT_EQ(read, 0);
        s.cancel();
        s.sync();
        others.sync(); // this one still shares it
        EXPECT_EQ(read, 5);
        m.unlock_shared();
    });
    EXPECT_TRUE(m.try_lock());
    m.unlock();
}

// The lock and the cancellation come at one time: one of them counts, and no waiter is left.
TEST_P(cancelled_wait, a_shared_mutex_is_either_locked_or_not) {
    pilfer::shared_mutex m;
    int inside = 0;
    std::atomic<int> had{0};
    for (std::uint64_t round = 0; round < support::hundredth_of(20'000); ++round) {
        pool.run([&] {
            m.lock();
            pilfer::scope below;
            for (int i = 0; i < 4; ++i) {
                below.spawn([&, i] {
                    if (i % 2 == 0) {
                        m.lock_cancellable();
                        ++inside;
                        ++had;
                        m.unlock();
                    } else {
                        m.lock_shared_cancellable();
                        m.unlock_shared();
                    }
                });
            }
            auto other = pool.async([&] { below.cancel(); });
            if (round % 2 == 0) {
                pilfer::yield();
            }
            m.unlock();
            other.get();
            below.sync();
            ASSERT_TRUE(m.try_lock());
            m.unlock();
        });
    }
    EXPECT_EQ(inside, had);
}

// Their arrivals count for the phase, and they are not expected again.
TEST_P(cancelled_wait, of_a_barrier) {
    int completed = 0;
    auto complete = [&completed]() noexcept { ++completed; };
    pilfer::barrier b(11, complete);
    cancels([&] { b.arrive_and_wait(); });
    EXPECT_EQ(completed, 0);
    b.arrive_and_wait(); // the last of the phase
    EXPECT_EQ(completed, 1);
    b.arrive_and_wait(); // the only one
    EXPECT_EQ(completed, 2);
}

// Stopped before it arrives: it does, and is dropped. Under a lock it waits to the end.
TEST_P(cancelled_wait, a_barrier_has_the_arrival_of_a_stopped_task) {
    pilfer::barrier b(2);
    pilfer::mutex m;
    bool came = false;
    pool.run([&] {
        std::atomic<bool> inside{false};
        pilfer::scope s;
        s.spawn([&] {
            {
                const std::lock_guard guard(m);
                inside = true;
                b.arrive_and_wait();
                came = true;
            }
            b.arrive_and_wait();
            ADD_FAILURE() << "not stopped";
        });
        while (!inside) {
            pilfer::yield();
        }
        s.cancel();
        b.arrive_and_wait();
        s.sync();
    });
    EXPECT_TRUE(came);
    b.arrive_and_wait(); // that one's second arrival
    b.arrive_and_wait(); // alone
}

// A phase ends while a task is stopped: that task continues or is dropped. The remaining ones never wait for
// it in vain.
TEST_P(cancelled_wait, no_task_waits_at_a_barrier_in_vain) {
    for (std::uint64_t round = 0; round < support::hundredth_of(20'000); ++round) {
        pilfer::barrier b(4);
        pool.run([&] {
            pilfer::scope below;
            for (int i = 0; i < 3; ++i) {
                below.spawn([&] {
                    while (!pilfer::cancelled()) { // the last of a phase does not wait
                        b.arrive_and_wait();
                    }
                    b.arrive_and_drop();
                });
            }
            b.arrive_and_wait(); // all have begun
            auto other = pool.async([&] { below.cancel(); });
            if (round % 8 < 4) {
                pilfer::yield();
            }
            for (std::uint64_t phase = 0; phase < round % 4; ++phase) {
                b.arrive_and_wait();
            }
            other.get();
            b.arrive_and_drop();
            below.sync();
        });
    }
}

// A task that holds another lock waits to the end.
TEST_P(cancelled_wait, waits_of_a_holder_are_not_cancelled) {
    pilfer::counting_semaphore<> s(0);
    pilfer::mutex m;
    bool acquired = false;
    pool.run([&] {
        pilfer::scope own;
        own.spawn([&] {
            const std::lock_guard guard(m);
            s.acquire();
            acquired = true;
        });
        while (m.try_lock()) {
            m.unlock();
            pilfer::yield();
        }
        own.cancel();
        s.release();
        own.sync();
    });
    EXPECT_TRUE(acquired);
    EXPECT_FALSE(s.try_acquire());
}

// A release goes to a waiter, or stays: it never goes to a stopped task.
TEST_P(cancelled_wait, no_release_is_lost) {
    for (std::uint64_t round = 0; round < support::hundredth_of(20'000); ++round) {
        pilfer::counting_semaphore<> s(0);
        std::atomic<int> acquired{0};
        pool.run([&] {
            pilfer::scope below;
            for (int i = 0; i < 4; ++i) {
                below.spawn([&] {
                    s.acquire();
                    ++acquired;
                });
            }
            auto other = pool.async([&] { s.release(3); });
            if (round % 2 == 0) {
                pilfer::yield();
            }
            below.cancel();
            other.get();
            below.sync();
        });
        int stayed = 0;
        while (s.try_acquire()) {
            ++stayed;
        }
        ASSERT_EQ(acquired + stayed, 3);
    }
}

} // namespace
