// Coroutines on the one-lock back-end: cancellations and time limits of their waits.
#include <gtest/gtest.h>

#include <chrono>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::task;

[[nodiscard]] pilfer::options one_lock(unsigned n) {
    pilfer::options o = workers(n);
    o.backend = pilfer::backend::one_lock;
    return o;
}

/// None of them becomes ready by itself. The locks belong to the thread of the test.
struct objects {
    pilfer::mutex mutex;
    pilfer::shared_mutex shared;
    pilfer::binary_semaphore permits{0};
    pilfer::mutex of_condition;
    pilfer::condition_variable condition;
    pilfer::latch latch{2};
    pilfer::barrier<> barrier{2};
    pilfer::synchronized<int> object{0};
    pilfer::monitor<int> monitor{0};

    /// f() while the locks are held.
    template <class F>
    void while_held(F f) {
        mutex.lock();
        shared.lock();
        object.call([&](int&) { f(); });
        shared.unlock();
        mutex.unlock();
    }
    [[nodiscard]] bool are_free() {
        const bool all = mutex.try_lock() && shared.try_lock() && of_condition.try_lock();
        if (all) {
            mutex.unlock();
            shared.unlock();
            of_condition.unlock();
        }
        return all && object.try_call([](int& n) { return n; }) == 0 &&
               monitor.call([](int& n) { return n; }) == 0;
    }
};
enum what {
    a_lock,
    a_shared_lock,
    a_part,
    a_permit,
    a_condition,
    a_latch,
    a_call,
    a_state,
    a_barrier,
    whats
};
constexpr int have_limits = a_barrier;

const auto is_one = [](const int& n) { return n == 1; };
const auto changes = [](int& n) { ++n; };

task<> waits_for(objects& all, int kind) {
    switch (kind) {
    case a_lock:
        (void)co_await pilfer::scoped_lock(all.mutex);
        break;
    case a_shared_lock:
        (void)co_await pilfer::scoped_lock(all.shared);
        break;
    case a_part:
        (void)co_await pilfer::scoped_lock_shared(all.shared);
        break;
    case a_permit:
        co_await pilfer::acquire(all.permits);
        break;
    case a_condition: {
        auto guard = co_await pilfer::scoped_lock(all.of_condition);
        co_await pilfer::wait(all.condition, guard);
        break;
    }
    case a_latch:
        co_await pilfer::arrive_and_wait(all.latch);
        break;
    case a_call:
        co_await pilfer::call(all.object, changes);
        break;
    case a_state:
        co_await pilfer::call_when(all.monitor, is_one, changes);
        break;
    default:
        co_await pilfer::arrive_and_wait(all.barrier);
        break;
    }
}

/// Gives true if it was in time.
task<bool> waits_within(objects& all, int kind, std::chrono::microseconds limit) {
    switch (kind) {
    case a_lock:
        co_return (co_await pilfer::try_scoped_lock_for(all.mutex, limit)).owns_lock();
    case a_shared_lock:
        co_return (co_await pilfer::try_scoped_lock_for(all.shared, limit)).owns_lock();
    case a_part:
        co_return (co_await pilfer::try_scoped_lock_shared_for(all.shared, limit)).owns_lock();
    case a_permit:
        co_return co_await pilfer::try_acquire_for(all.permits, limit);
    case a_condition: {
        auto guard = co_await pilfer::scoped_lock(all.of_condition);
        co_return co_await pilfer::wait_for(all.condition, guard, limit) == pilfer::cv_status::no_timeout;
    }
    case a_latch:
        co_return co_await pilfer::wait_for(all.latch, limit);
    case a_call:
        co_return (co_await pilfer::try_call_for(all.object, limit, changes)).has_value();
    default:
        co_return (co_await pilfer::try_call_when_for(all.monitor, limit, is_one, changes)).has_value();
    }
}

/// A child of a scope is a plain call there, so another task cancels.
template <class Wait>
void is_stopped(pilfer::pool& pool, bool late, Wait wait) {
    pool.run([&] {
        pilfer::event begins;
        bool was_stopped = false;
        pilfer::scope s;
        const auto cancels = pool.async([&] {
            begins.wait();
            if (late) {
                pilfer::sleep_for(20us);
            }
            s.cancel();
        });
        s.fork([&] {
            try {
                pool.run([](pilfer::event& e, Wait& waits) -> task<> {
                    e.set();
                    co_await waits();
                }(begins, wait));
            } catch (const pilfer::stopped&) {
                was_stopped = true;
                throw;
            }
        });
        s.sync();
        cancels.get();
        EXPECT_TRUE(was_stopped);
    });
}

TEST(one_lock_coroutines, leave_each_wait_if_they_are_cancelled) {
    const watchdog dog{patience};
    for (const unsigned n : {1U, 2U, 3U}) {
        pilfer::pool pool(one_lock(n));
        for (int kind = 0; kind < whats; ++kind) {
            for (int round = 0; round < 10; ++round) {
                objects all;
                all.while_held([&] {
                    is_stopped(pool, round % 2 != 0, [&] { return waits_for(all, kind); });
                    if (kind < have_limits) {
                        is_stopped(pool, round % 2 != 0,
                                   [&]() -> task<> { (void)co_await waits_within(all, kind, 1h); });
                    }
                });
                EXPECT_TRUE(all.are_free()) << kind;
            }
        }
    }
}

TEST(one_lock_coroutines, leave_each_wait_at_its_time) {
    const watchdog dog{patience};
    for (const unsigned n : {1U, 2U, 3U}) {
        pilfer::pool pool(one_lock(n));
        for (int kind = 0; kind < have_limits; ++kind) {
            objects all;
            all.while_held([&] {
                for (const auto limit : {-1us, 0us, 1us, 200us}) {
                    EXPECT_FALSE(pool.run(waits_within(all, kind, limit))) << kind;
                    EXPECT_FALSE(pool.run([&] { return pool.run(waits_within(all, kind, limit)); })) << kind;
                }
            });
            EXPECT_TRUE(all.are_free()) << kind;
        }
    }
}

TEST(one_lock_coroutines, meet_at_latches_and_barriers) {
    const watchdog dog{patience};
    for (const unsigned n : {1U, 2U, 3U}) {
        pilfer::pool pool(one_lock(n));
        int phase = 0;
        const auto completion = [&phase]() noexcept { ++phase; };
        pilfer::barrier barrier(5, completion);
        pilfer::latch latch(5);
        std::vector<pilfer::future<void>> all;
        for (int i = 0; i < 5; ++i) {
            all.push_back(pool.async([](auto& b, pilfer::latch& l, const int& now) -> task<> {
                for (int k = 0; k < 20; ++k) {
                    EXPECT_EQ(now, k);
                    co_await pilfer::arrive_and_wait(b);
                    EXPECT_EQ(now, k + 1);
                }
                co_await pilfer::arrive_and_wait(l);
            }(barrier, latch, phase)));
        }
        for (auto& f : all) {
            f.get();
        }
        EXPECT_EQ(phase, 20);
        EXPECT_TRUE(latch.try_wait());
    }
}

} // namespace
