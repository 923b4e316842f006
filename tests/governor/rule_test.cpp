// How many workers to run: the rule alone, by hand.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "governor/rule.hpp"

namespace {

using pilfer::governor::interval;
using pilfer::governor::rule;

constexpr std::uint64_t look = 50 * rule::millisecond;

[[nodiscard]] interval seen(unsigned active, unsigned wanted, double lacks,
                            std::optional<double> stalled = 0.0) {
    return {look, look, active, wanted, static_cast<std::uint64_t>(lacks * look), stalled};
}

/// How many looks of that kind it takes until the answer is another one than `active`.
[[nodiscard]] unsigned looks_until_change(rule& r, const interval& i, unsigned at_most = 1000) {
    for (unsigned n = 1; n <= at_most; ++n) {
        if (r.next(i) != i.active) {
            return n;
        }
    }
    return 0;
}

TEST(governor_rule, workers_with_a_cpu_stay) {
    rule r;
    EXPECT_EQ(looks_until_change(r, seen(8, 8, 0.0)), 0U);
    EXPECT_EQ(looks_until_change(r, seen(8, 8, 0.29)), 0U);
    EXPECT_EQ(looks_until_change(r, seen(1, 1, 0.0)), 0U);
}

TEST(governor_rule, a_shortage_in_two_looks_parks_as_many_as_lack_a_cpu) {
    for (const auto& [lacks, left] : std::vector<std::pair<double, unsigned>>{
             {0.3, 7}, {0.5, 7}, {1.0, 7}, {1.6, 6}, {4.0, 4}, {7.0, 1}, {8.0, 1}, {100.0, 1}}) {
        rule r;
        EXPECT_EQ(r.next(seen(8, 8, lacks)), 8U);
        EXPECT_EQ(r.next(seen(8, 8, lacks)), left) << lacks;
    }
}

TEST(governor_rule, one_look_does_nothing) {
    rule r;
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(r.next(seen(4, 4, i % 2 == 0 ? 2.0 : 0.0)), 4U);
    }
}

TEST(governor_rule, one_worker_stays) {
    rule r;
    EXPECT_EQ(looks_until_change(r, seen(1, 4, 0.9)), 0U);
}

TEST(governor_rule, another_worker_is_tried_after_a_calm_that_doubles_with_each_failure) {
    rule r;
    EXPECT_EQ(r.next(seen(2, 2, 1.0)), 2U);
    EXPECT_EQ(r.next(seen(2, 2, 1.0)), 1U);
    std::uint64_t calm = rule::least_patience / look;
    for (unsigned failures = 0; failures < 10; ++failures) {
        EXPECT_EQ(looks_until_change(r, seen(1, 2, 0.0)), calm) << failures;
        EXPECT_EQ(r.next(seen(2, 2, 1.0)), 1U) << "a trial ends at the first shortage";
        calm = std::min<std::uint64_t>(2 * calm, rule::most_patience / look);
    }
    EXPECT_EQ(calm, rule::most_patience / look);
}

TEST(governor_rule, a_trial_that_lasts_makes_it_patient_again) {
    rule r;
    EXPECT_EQ(looks_until_change(r, seen(2, 2, 1.0)), 2U);
    EXPECT_EQ(looks_until_change(r, seen(1, 2, 0.0)), rule::least_patience / look);
    EXPECT_EQ(r.next(seen(2, 2, 1.0)), 1U);
    EXPECT_EQ(looks_until_change(r, seen(1, 2, 0.0)), 2 * rule::least_patience / look);
    EXPECT_EQ(looks_until_change(r, seen(2, 2, 0.0), rule::lasting / look + 1), 0U);
    EXPECT_EQ(looks_until_change(r, seen(2, 2, 1.0)), 2U) << "a shortage as any other";
    EXPECT_EQ(looks_until_change(r, seen(1, 2, 0.0)), rule::least_patience / look);
}

TEST(governor_rule, it_is_more_patient_while_others_wait_but_not_for_ever) {
    for (const std::optional<double> stalled : {std::optional(0.5), std::optional(0.2)}) {
        rule r;
        EXPECT_EQ(looks_until_change(r, seen(4, 4, 1.0)), 2U);
        EXPECT_EQ(looks_until_change(r, seen(3, 4, 0.0, stalled)), rule::most_patience / look);
    }
    rule unknown;
    EXPECT_EQ(looks_until_change(unknown, seen(4, 4, 1.0, std::nullopt)), 2U);
    EXPECT_EQ(looks_until_change(unknown, seen(3, 4, 0.0, std::nullopt)), rule::least_patience / look);
}

TEST(governor_rule, advice_from_outside_wins) {
    rule r;
    EXPECT_EQ(r.next(seen(8, 3, 0.0)), 3U);
    EXPECT_EQ(r.next(seen(8, 0, 0.0)), 1U);
    EXPECT_EQ(looks_until_change(r, seen(3, 3, 0.0)), 0U);
}

} // namespace
