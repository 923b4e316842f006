// Tests that know nothing of schedules, in a program of GoogleTest.
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

} // namespace
