// Tests of schedules in test cases of Catch2.
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp> // version 3
#else
#include <catch2/catch.hpp>
#endif

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace {

int sum_of_two(bool right) {
    pilfer::test::atomic<int> sum{0};
    const auto add = [&] {
        if (right) {
            sum += 1;
        } else {
            sum = sum + 1;
        }
    };
    pilfer::join(add, add);
    return sum;
}

void explore(bool right) {
    const auto r = pilfer::test::schedules(
        1'000, [right] { pilfer::test::require(sum_of_two(right) == 2, "both additions count"); });
    INFO(r);
    CHECK(r.passed);
}

TEST_CASE("right") { explore(true); }
TEST_CASE("wrong") { explore(false); }

TEST_CASE("an assertion of the body") {
    const auto r = pilfer::test::schedules(1'000, [] { REQUIRE(sum_of_two(false) == 2); });
    INFO(r);
    CHECK(r.passed);
}

/// A test case that knows nothing of schedules.
TEST_CASE("usual") {
    pilfer::pool pool({.workers = 2});
    CHECK(pool.run([] { return sum_of_two(false); }) == 2);
}

} // namespace
