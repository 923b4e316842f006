// Schedules that are repeated in a program that they were not found in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace {

using pilfer::test::require;
using pilfer::test::result;
using pilfer::test::schedules;
using pilfer::test::strategy;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// `additions` steps of each of two tasks, which lose some of them.
void lose(int additions) {
    pilfer::test::atomic<int> n{0};
    const auto add = [&] {
        for (int i = 0; i < additions; ++i) {
            n = n + 1;
        }
    };
    (void)pilfer::join(add, add);
    require(n == 2 * additions, "additions");
}

[[nodiscard]] result repeat(const std::string& schedule, const std::function<void()>& body) {
    return schedules(1, {.replay = schedule}, body);
}

[[nodiscard]] std::string found(const std::function<void()>& body, strategy how = strategy::mixed,
                                bool minimise = true) {
    const result r = schedules(10'000, {.strategy = how, .minimise = minimise}, body);
    EXPECT_FALSE(r);
    EXPECT_TRUE(r.fits);
    return r.schedule;
}

const auto two_tasks = [] { (void)pilfer::join([] {}, [] {}); };

TEST(misfit, of_a_candidate) {
    const result r = repeat("d1:0.7", two_tasks);
    EXPECT_FALSE(r);
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message,
                HasSubstr("does not fit this program: its choice 0 is candidate 7, and there were only "
                          "the candidates 0 to 1"));
    EXPECT_EQ(r.schedule, "d1:0.7");
}

TEST(misfit, of_a_choice) {
    const result r = repeat("d1:999", two_tasks);
    EXPECT_FALSE(r);
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message, ContainsRegex("it has a choice 999, and there were only [0-9]+ choices"));
    EXPECT_THAT(r.message, HasSubstr("run the test without PILFER_SCHEDULE"));
}

TEST(misfit, of_the_number_of_choices) {
    const result r = repeat(found([] { lose(1); }), [] { lose(3); });
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message, ContainsRegex("was found with [0-9]+ choices, and there were [0-9]+"));
}

TEST(misfit, of_steps) {
    const auto body = [](const char* what, bool fails) {
        (void)pilfer::join([&] { pilfer::test::point(what); }, [&] { pilfer::test::point(what); });
        require(!fails, "never");
    };
    const std::string schedule = found([&] { body("reads", true); });
    EXPECT_TRUE(repeat(schedule, [&] { body("reads", true); }).fits);
    const result r = repeat(schedule, [&] { body("writes", false); });
    EXPECT_FALSE(r);
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message, HasSubstr("other steps"));
}

TEST(misfit, of_a_seed) {
    const auto body = [] { lose(3'000); }; // so many choices that only the seed is short enough
    const result first = schedules(100, {.strategy = strategy::random, .minimise = false}, body);
    ASSERT_FALSE(first);
    ASSERT_THAT(first.schedule, StartsWith("r1:"));
    EXPECT_TRUE(repeat(first.schedule, body).fits);
    EXPECT_FALSE(repeat(first.schedule, [] { lose(1); }).fits);
    EXPECT_TRUE(repeat(first.schedule.substr(0, first.schedule.find('@')), two_tasks).fits)
        << "nothing is known";
}

TEST(misfit, does_not_hide_a_failure) {
    const result r = repeat("d1:999", [] { require(false, "always"); });
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message,
                AllOf(HasSubstr("always"), HasSubstr("does not fit"), HasSubstr("may be another one")));
}

TEST(misfit, of_a_repaired_program) {
    const std::string schedule = found([] { lose(1); });
    const result r = repeat(schedule, [] {
        pilfer::test::atomic<int> n{0};
        (void)pilfer::join([&] { n += 1; }, [&] { n += 1; });
        require(n == 2);
    });
    EXPECT_FALSE(r) << "the schedule shows nothing about it";
    EXPECT_FALSE(r.fits);
}

TEST(fitting, passes) {
    for (const char* const schedule : {"d1:", "d1:0", "r1:5", "c1:1:2:3"}) {
        const result r = repeat(schedule, two_tasks);
        EXPECT_TRUE(r) << schedule << r;
        EXPECT_TRUE(r.fits);
    }
}

TEST(search_of_all, ends_if_body_is_not_repeatable) {
    int calls = 0;
    const result r = schedules(10'000, {.strategy = strategy::exhaustive}, [&] {
        ++calls;
        if (calls < 100) {
            (void)pilfer::join(two_tasks, two_tasks);
        }
    });
    EXPECT_FALSE(r);
    EXPECT_FALSE(r.complete);
    EXPECT_THAT(r.message,
                AllOf(HasSubstr("the search cannot go on"), HasSubstr("does not do the same each time")));
}

} // namespace
