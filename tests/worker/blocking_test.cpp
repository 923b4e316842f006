// Calls that block the thread: on threads that are no workers, so that the workers do not block.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <pilfer/blocking.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/scope.hpp>
#include <pilfer/timer.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;

class blocking : public over_workers {};
PILFER_OVER_WORKERS(blocking);

TEST_P(blocking, workers_keep_running_while_eight_calls_block) {
    pilfer::pool pool(with_workers());
    std::counting_semaphore<> bytes(0);
    std::set<std::thread::id> threads;
    std::mutex m;
    std::atomic<unsigned> returned{0};
    pool.run([&] {
        pilfer::scope s;
        for (unsigned i = 0; i < 8; ++i) {
            s.fork([&] {
                pilfer::blocking([&] {
                    EXPECT_EQ(pilfer::detail::this_worker(), nullptr);
                    {
                        const std::lock_guard lock(m);
                        threads.insert(std::this_thread::get_id());
                    }
                    bytes.acquire(); // given only by a task that starts when all of them block
                });
                EXPECT_NE(pilfer::detail::this_worker(), nullptr);
                ++returned;
            });
        }
        const auto all_block = [&] {
            const std::lock_guard lock(m);
            return threads.size() == 8;
        };
        s.fork([&] { (void)fib_join(12); });
        while (!all_block()) {
            pilfer::sleep_for(std::chrono::microseconds(200));
        }
        EXPECT_EQ(fib_join(15), fib(15));
        bytes.release(8);
        s.sync();
    });
    EXPECT_EQ(returned, 8U);
}

TEST_P(blocking, reads_of_pipes_that_a_ready_task_writes) {
    pilfer::pool pool(with_workers());
    for (unsigned round = 0; round < 5; ++round) {
        std::array<int, 2> ends{};
        ASSERT_EQ(pipe(ends.data()), 0);
        std::atomic<unsigned> read_bytes{0};
        pool.run([&] {
            pilfer::scope s;
            s.fork([&] { EXPECT_EQ(write(ends[1], "abcd", 4), 4); }); // the oldest, run last
            for (unsigned i = 0; i < 4; ++i) {
                s.fork([&] {
                    char c = 0;
                    read_bytes +=
                        static_cast<unsigned>(pilfer::blocking([&] { return read(ends[0], &c, 1); }));
                });
            }
            s.sync();
        });
        EXPECT_EQ(read_bytes, 4U);
        (void)close(ends[0]);
        (void)close(ends[1]);
    }
}

TEST_P(blocking, results_of_every_kind) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        int object = 7;
        EXPECT_EQ(&pilfer::blocking([&]() -> int& { return object; }), &object);
        EXPECT_EQ(*pilfer::blocking([] { return std::make_unique<int>(3); }), 3);
        static_assert(std::is_void_v<decltype(pilfer::blocking([] {}))>);
        EXPECT_THROW(pilfer::blocking([] { throw std::out_of_range("there"); }), std::out_of_range);
        EXPECT_EQ(pilfer::blocking([] { return pilfer::blocking([] { return 5; }); }), 5);
    });
    const auto here = std::this_thread::get_id();
    EXPECT_EQ(pilfer::blocking([] { return std::this_thread::get_id(); }), here) << "a foreign thread's";
}

TEST_P(blocking, over_the_cap_a_call_runs_in_place) {
    pilfer::options o = with_workers();
    o.max_extra_workers = 2;
    pilfer::pool pool(o);
    std::atomic<unsigned> in_place{0};
    std::atomic<unsigned> elsewhere{0};
    const auto n = static_cast<unsigned>(hundredth_of(50'000, 50));
    pool.run([&] {
        pilfer::scope s;
        for (unsigned i = 0; i < n; ++i) {
            s.fork([&] {
                pilfer::blocking(
                    [&] { ++(pilfer::detail::this_worker() == nullptr ? elsewhere : in_place); });
            });
        }
        s.sync();
    });
    EXPECT_EQ(in_place + elsewhere, n);
    EXPECT_GE(elsewhere, 2U);

    pilfer::options none = with_workers();
    none.max_extra_workers = 0;
    pilfer::pool without(none);
    EXPECT_TRUE(without.run(
        [] { return pilfer::blocking([] { return pilfer::detail::this_worker() != nullptr; }); }));
}

TEST_P(blocking, a_long_call_is_no_stall) {
    pilfer::options o = with_workers();
    o.debug.stall_report = 1;
    testing::internal::CaptureStderr();
    {
        pilfer::pool pool(o);
        pool.run(
            [] { pilfer::blocking([] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }); });
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(blocking, the_own_pool_cannot_be_shut_down_inside) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(with_workers());
    pool.run([&] {
        EXPECT_THROW(pilfer::blocking([&] { pool.shutdown(); }), pilfer::usage_error);
        pilfer::blocking([&] { other.shutdown(); });
    });
    EXPECT_EQ(pool.run([] { return 1; }), 1) << "it goes on";
    EXPECT_THROW(other.run([] {}), pilfer::pool_closed);
}

} // namespace
