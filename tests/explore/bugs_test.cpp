// Errors that only some schedules show: each is found, its schedule repeats it, and the repaired program
// passes.
#include "explore/bugs.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ostream>
#include <string>

namespace {

using pilfer::test::options;
using pilfer::test::result;
using pilfer::test::schedules;
using pilfer::test::strategy;

constexpr std::uint64_t most = 10'000;
// A sanitizer looks at memory, and the legs without one at more schedules.
#if defined(PILFER_SANITIZED)
constexpr std::uint64_t enough = 500;
#else
constexpr std::uint64_t enough = most;
#endif

class planted : public testing::TestWithParam<bugs::bug> {
protected:
    [[nodiscard]] static result broken(const options& o, std::uint64_t n = most) {
        return schedules(n, o, [] { GetParam().body(false); });
    }
};

TEST_P(planted, is_found_by_chance) { EXPECT_FALSE(broken({.strategy = strategy::random})); }
TEST_P(planted, is_found_by_priorities) { EXPECT_FALSE(broken({.strategy = strategy::pct})); }
TEST_P(planted, is_found_among_all) { EXPECT_FALSE(broken({.strategy = strategy::exhaustive})); }

TEST_P(planted, comes_again) {
    const result first = broken({});
    ASSERT_FALSE(first);
    EXPECT_LE(first.schedule.size(), 4096U);
    EXPECT_FALSE(first.trace.empty());
    for (int i = 0; i < 10; ++i) {
        const result again = broken({.replay = first.schedule}, 1);
        ASSERT_FALSE(again) << i << ", " << first.schedule;
        ASSERT_EQ(again.message, first.message);
        ASSERT_EQ(again.trace, first.trace);
    }
}

TEST_P(planted, is_not_found_once_repaired) {
    for (const auto how : {strategy::mixed, strategy::exhaustive}) {
        const result r = schedules(enough, {.strategy = how}, [] { GetParam().body(true); });
        EXPECT_TRUE(r) << r;
        EXPECT_TRUE(r.schedules == enough || r.complete);
    }
}

INSTANTIATE_TEST_SUITE_P(explore, planted, testing::ValuesIn(bugs::all),
                         [](const auto& each) { return std::string(each.param.name); });

} // namespace
