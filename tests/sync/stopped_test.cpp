// Waits for semaphores, latches and conditions that a cancellation ends: row D7.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class row_D7_waits : public testing::TestWithParam<unsigned> {
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
INSTANTIATE_TEST_SUITE_P(workers, row_D7_waits, testing::Values(1U, 2U, 3U, 8U));

TEST_P(row_D7_waits, of_a_semaphore) {
    pilfer::counting_semaphore<> s(0);
    cancels([&] { s.acquire(); });
    cancels([&] { (void)s.try_acquire_for(1h); });
    s.release(1);
    EXPECT_TRUE(s.try_acquire());
    EXPECT_FALSE(s.try_acquire());
}

TEST_P(row_D7_waits, of_a_latch) {
    pilfer::latch l(11);
    cancels([&] { l.wait(); });
    cancels([&] { (void)l.wait_for(1h); });
    cancels([&] { l.arrive_and_wait(); });
    EXPECT_FALSE(l.try_wait());
    l.count_down(); // what those have counted stays
    EXPECT_TRUE(l.try_wait());
}

TEST_P(row_D7_waits, of_a_condition_variable) {
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

// Who holds another lock waits to the end.
TEST_P(row_D7_waits, not_those_of_a_holder) {
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

// What is released goes to one that waits, or stays: never to one that was stopped.
TEST_P(row_D7_waits, nothing_released_is_lost) {
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
