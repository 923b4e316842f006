// A task that holds the only thread of its schedules: what is said, and that the program goes on without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace {

using namespace std::chrono_literals;
using pilfer::test::options;
using pilfer::test::result;
using pilfer::test::schedules;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Real time, in which the tasks of these tests do nothing, whatever the load of the machine.
constexpr auto brief = 300ms;

/// In most schedules the second task locks while the first one yields.
void hold_std_mutex() {
    std::mutex m;
    const auto use = [&m] {
        const std::lock_guard lock(m);
        pilfer::yield();
    };
    pilfer::scope s;
    s.fork(pilfer::named("ann", use));
    s.fork(pilfer::named("bob", use));
    s.sync();
}

TEST(blocked_thread, is_reported_with_its_task_and_the_others) {
    const result r = schedules(1'000, {.patience = brief}, &hold_std_mutex);
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, ContainsRegex("^task [23] \"(ann|bob)\" blocks the thread"));
    EXPECT_THAT(r.message, HasSubstr("hold_std_mutex"));
    EXPECT_THAT(r.message,
                ContainsRegex("The other tasks:\n(.*\n)*  task [23] \"(ann|bob)\" waits for its turn"));
    EXPECT_THAT(r.message, HasSubstr("A std::mutex"));
    EXPECT_THAT(r.trace, ContainsRegex("task [23] \"(ann|bob)\" yields"));
    const result again = schedules(1, {.patience = brief, .replay = r.schedule}, &hold_std_mutex);
    ASSERT_FALSE(again);
    EXPECT_TRUE(again.fits) << again;
    EXPECT_EQ(again.message.substr(0, 20), r.message.substr(0, 20));
    EXPECT_EQ(again.trace, r.trace);
}

int read_what_never_comes(int file) {
    char byte = 0;
    return static_cast<int>(read(file, &byte, 1));
}

TEST(blocked_thread, is_reported_for_any_call) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const result r = schedules(10, {.patience = brief}, [&] { (void)read_what_never_comes(ends[0]); });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("task 1 blocks the thread"));
    EXPECT_THAT(r.message, HasSubstr("read_what_never_comes"));
    close(ends[0]);
    close(ends[1]);
}

TEST(blocked_thread, never_goes_on) {
    std::mutex held;
    held.lock();
    std::atomic<bool> goes_on{false};
    const result r = schedules(10, {.patience = brief}, [&] {
        const std::lock_guard lock(held);
        goes_on = true;
    });
    EXPECT_FALSE(r);
    held.unlock();
    for (int i = 0; i < 20; ++i) { // time for a thread that would go on
        EXPECT_TRUE(schedules(100, [] { pilfer::join([] {}, [] {}); }));
    }
    EXPECT_FALSE(goes_on);
}

TEST(blocked_thread, after_another_failure_is_what_counts) {
    std::mutex held;
    held.lock();
    const result r = schedules(10, {.patience = brief}, [&] {
        try {
            pilfer::test::require(false, "first");
        } catch (const pilfer::test::failure&) {
        }
        held.lock();
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, testing::StartsWith("task 1 blocks the thread"));
    EXPECT_THAT(r.message, ContainsRegex("Before that: .*first"));
}

TEST(endless_computation, is_reported) {
    const std::atomic<bool> over{false};
    const result r = schedules(10, {.patience = brief}, [&] {
        pilfer::scope s;
        s.fork([] {});
        while (!over) {
        }
        s.sync();
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("task 1 computes without a step"));
    EXPECT_THAT(r.message, HasSubstr("pilfer::test::atomic"));
    EXPECT_THAT(r.trace, HasSubstr("task 1 forks task 2"));
}

#if !defined(PILFER_SANITIZED) // a sanitizer's allocator is a part of the program

/// Nearly always inside of the allocator, whose locks the rest of the program needs.
TEST(endless_computation, leaves_the_allocator_to_others) {
    for (int i = 0; i < 10; ++i) {
        const result r = schedules(10, {.patience = 30ms}, [] {
            const std::atomic<bool> over{false};
            std::array<std::unique_ptr<std::string>, 200> kept;
            for (std::size_t n = 0; !over; ++n) {
                kept[n % kept.size()] = std::make_unique<std::string>(2'000 + n * 7'919 % 9'000, 'x');
            }
        });
        ASSERT_FALSE(r);
        EXPECT_THAT(r.message, HasSubstr("task 1 computes without a step"));
    }
}

#endif

TEST(computing_task, goes_on_if_it_makes_a_step_in_the_last_moment) {
    using clock = std::chrono::steady_clock;
    int reported = 0;
    for (const auto longer : {-3ms, -2ms, -1ms, 0ms, 1ms, 2ms, 3ms}) { // around the end of the patience
        const result r = schedules(20, {.patience = 16ms, .minimise = false}, [&] {
            for (const auto end = clock::now() + 16ms + longer; clock::now() < end;) {
            }
            pilfer::join([] {}, [] {});
        });
        reported += r ? 0 : 1;
        if (!r) {
            EXPECT_THAT(r.message, HasSubstr("computes without a step"));
        }
    }
    EXPECT_TRUE(schedules(100, [] { pilfer::join([] {}, [] {}); })) << "after " << reported << " reports";
}

TEST(slow_task, is_not_reported) {
    const result r = schedules(3, {.patience = 60s}, [] { std::this_thread::sleep_for(20ms); });
    EXPECT_TRUE(r) << r;
    EXPECT_TRUE(schedules(3, {.patience = 0ns}, [] { std::this_thread::sleep_for(20ms); }));
}

TEST(patience, is_not_negative) {
    EXPECT_THROW((void)schedules(1, {.patience = -1s}, [] {}), std::invalid_argument);
}

} // namespace
