// Tests that know nothing of schedules, in a program of GoogleTest.
#include <atomic>
#include <chrono>
#include <cstdlib>

#include <gtest/gtest.h>

#include <pilfer/pilfer.hpp>

namespace {

int sum_of_two(bool right) {
    pilfer::pool pool({.workers = 2});
    pilfer::counting_semaphore<> one(right ? 1 : 2);
    int sum = 0;
    const auto add = [&] {
        one.acquire();
        const int was = sum;
        pilfer::yield();
        sum = was + 1;
        one.release();
    };
    pool.run([&] { pilfer::join(add, add); });
    return sum;
}

TEST(sum, right) { EXPECT_EQ(sum_of_two(true), 2); }
TEST(sum, wrong) { EXPECT_EQ(sum_of_two(false), 2); }

/// The program's only pool. Its destructor runs inside the task that calls exit(), while other tasks wait for
/// ever, run, and are about to begin.
void exit_in_a_task(int code) {
    static auto* const nobody_sends = new pilfer::channel<int>(1); // outlives the task that waits
    static pilfer::pool pool({.workers = 2});
    pool.submit([] { (void)nobody_sends->receive(); });
    pool.submit([code] { pilfer::join([code] { std::exit(code); }, [] { pilfer::yield(); }); });
    pilfer::sleep_for(std::chrono::hours(1));
    FAIL() << "the program has not ended";
}

TEST(exit, in_main) {
    static std::atomic<bool> is_done{false};
    (void)std::atexit([] { std::_Exit(is_done ? 0 : 5); }); // after the pool's destructor
    static pilfer::pool pool({.workers = 2});
    pool.submit([] {
        pilfer::sleep_for(std::chrono::hours(1));
        is_done = true;
    });
    std::exit(0);
}
TEST(exit, with_zero) { exit_in_a_task(0); }
TEST(exit, with_a_code) { exit_in_a_task(4); }

} // namespace
