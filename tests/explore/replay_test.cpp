// Schedules that are repeated: in the program that they were found in, and in another one, which they do not
// fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <stdexcept>
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

const auto lose_an_update = [] { lose(1); };
const auto two_tasks = [] { (void)pilfer::join([] {}, [] {}); };

// ---- in the program that they were found in -------------------------------------------------------

TEST(replay, repeats_a_failure_exactly) {
    const result first = schedules(1'000, lose_an_update);
    ASSERT_FALSE(first);
    for (int i = 0; i < 100; ++i) {
        const result again = schedules(5, {.replay = first.schedule}, lose_an_update);
        ASSERT_FALSE(again);
        EXPECT_EQ(again.schedules, 1U);
        EXPECT_EQ(again.message, first.message);
        EXPECT_EQ(again.trace, first.trace);
    }
}

TEST(replay, by_seed) {
    const result first = schedules(1'000, {.minimise = false}, lose_an_update);
    ASSERT_FALSE(first);
    const result second = schedules(1'000, {.minimise = false}, lose_an_update);
    EXPECT_EQ(first.failed, second.failed);
    EXPECT_EQ(first.schedule, second.schedule);
}

TEST(replay, is_asked_for_by_the_environment) {
    const result first = schedules(1'000, lose_an_update);
    ASSERT_FALSE(first);
    ASSERT_EQ(setenv("PILFER_SCHEDULE", first.schedule.c_str(), 1), 0);
    const result again = schedules(1'000, lose_an_update);
    ASSERT_EQ(setenv("PILFER_SCHEDULE", "d1:x", 1), 0);
    EXPECT_THROW((void)schedules(1, [] {}), std::invalid_argument);
    ASSERT_EQ(unsetenv("PILFER_SCHEDULE"), 0);
    EXPECT_EQ(again.schedules, 1U);
    EXPECT_EQ(again.message, first.message);
}

TEST(replay, is_offered_by_a_program_that_aborts) {
    const auto aborts = [] {
        (void)schedules(1'000, {.strategy = strategy::pct}, [] {
            pilfer::test::atomic<int> n{0};
            const auto add = [&] { n = n + 1; };
            (void)pilfer::join(add, add);
            if (n != 2) {
                std::abort();
            }
        });
    };
    EXPECT_DEATH(aborts(), "the program ends in a test of schedules; PILFER_SCHEDULE=[cd]1:");
}

TEST(replay, of_a_long_schedule_is_short) {
    const auto body = [] {
        pilfer::test::atomic<int> n{0};
        pilfer::scope s;
        for (int i = 0; i < 2; ++i) {
            s.fork([&] {
                for (int k = 0; k < 3'000; ++k) {
                    n = n + 1;
                }
            });
        }
        s.sync();
        require(n == 6'000, "nothing is lost");
    };
    const result r =
        schedules(200, {.strategy = strategy::random, .steps = 1'000'000, .minimise = false}, body);
    ASSERT_FALSE(r);
    EXPECT_LE(r.schedule.size(), 4'096U);
    EXPECT_THAT(r.schedule, testing::StartsWith("r1:"));
    EXPECT_FALSE(schedules(1, {.steps = 1'000'000, .replay = r.schedule}, body));
}

TEST(replay, fewer_preemptions_are_left) {
    const auto noise = [] {
        pilfer::test::atomic<int> n{0};
        pilfer::test::atomic<int> other{0};
        pilfer::scope s;
        for (int i = 0; i < 4; ++i) {
            s.fork([&] {
                other += 1;
                other += 1;
                other += 1;
            });
        }
        s.fork([&] { n = n + 1; });
        s.fork([&] { n = n + 1; });
        s.sync();
        require(n == 2);
    };
    const result whole = schedules(1'000, {.strategy = strategy::random, .minimise = false}, noise);
    const result least = schedules(1'000, {.strategy = strategy::random}, noise);
    ASSERT_FALSE(whole);
    ASSERT_FALSE(least);
    EXPECT_LT(least.schedule.size(), whole.schedule.size() / 2) << least.schedule << ", " << whole.schedule;
    EXPECT_LE(std::count(least.schedule.begin(), least.schedule.end(), '-'), 3) << least.schedule;
}

TEST(replay, says_that_body_is_not_repeatable) {
    int calls = 0;
    const result r = schedules(10, {.minimise = false}, [&] { require(++calls != 1); });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("did not lead there again"));
}

// ---- in another one, or one that is not repeatable ------------------------------------------------

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
