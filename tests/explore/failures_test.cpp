// Failures of schedules, with their messages and traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

namespace {

using namespace std::chrono_literals;
using pilfer::test::require;
using pilfer::test::result;
using pilfer::test::schedules;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::PrintToString;
template <class T>
using shared = pilfer::test::atomic<T>;
using lock = std::unique_lock<pilfer::mutex>;

/// Fails in most schedules.
void lose_an_update() {
    shared<int> n{0};
    const auto add = [&] { n = n + 1; };
    (void)pilfer::join(add, add);
    require(n == 2, "two additions");
}

TEST(schedules, a_requirement_names_its_place) {
    const result r = schedules(1'000, &lose_an_update);
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message,
                ContainsRegex("failures_test.cpp:[0-9]+: a requirement does not hold: two additions"));
    EXPECT_THAT(PrintToString(r), HasSubstr("PILFER_SCHEDULE=" + r.schedule));
    EXPECT_THAT(r.trace, ContainsRegex("loads atomic 1 \\(failures_test.cpp:[0-9]+\\)"));
    EXPECT_LT(r.failed, r.schedules);
}

TEST(schedules, a_requirement_fails_though_somebody_catches) {
    const result r = schedules(10, [] {
        try {
            require(false, "caught");
        } catch (const pilfer::test::failure&) {
        }
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("caught"));
    EXPECT_THROW(require(false), pilfer::test::failure) << "outside of schedules, too";
}

TEST(schedules, an_exception_of_body_fails) {
    const result r = schedules(10, [] { throw std::runtime_error("no such file"); });
    ASSERT_FALSE(r);
    EXPECT_EQ(r.failed, 0U);
    EXPECT_EQ(r.message, "body has thrown no such file");
    EXPECT_FALSE(schedules(10, [] { throw 5; }));
}

TEST(schedules, an_exception_without_a_waiter_fails) {
    const result r = schedules(10, [] { pilfer::after(1ms, [] { throw std::runtime_error("later"); }); });
    ASSERT_FALSE(r);
    EXPECT_EQ(r.message, "a task without a waiter has thrown later");
}

TEST(schedules, a_deadlock_names_who_waits_for_whom) {
    const result r = schedules(1'000, [] {
        pilfer::mutex a;
        pilfer::mutex b;
        pilfer::scope s;
        s.fork(pilfer::named("ann", [&] {
            const lock x(a);
            const lock y(b);
        }));
        s.fork(pilfer::named("bob", [&] {
            const lock x(b);
            const lock y(a);
        }));
        s.sync();
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("a deadlock"));
    EXPECT_THAT(
        r.message,
        ContainsRegex(
            "\"ann\" waits for mutex [12], that is for task [23] \"bob\"\n    in .*failures_test.cpp"));
    EXPECT_THAT(
        r.message,
        ContainsRegex(
            "\"bob\" waits for mutex [12], that is for task [23] \"ann\"\n    in .*failures_test.cpp"));
    EXPECT_THAT(r.message, ContainsRegex("task 1 waits for the children of scope [0-9]+, that is for task"));
}

TEST(schedules, a_wait_after_the_end_of_body_fails) {
    const result r = schedules(10, [] {
        auto never = std::make_shared<pilfer::event>();
        (void)pilfer::async([never] { never->wait(); });
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("body has ended, and tasks wait for ever"));
    EXPECT_THAT(r.message, HasSubstr("waits for event 1"));
}

TEST(schedules, a_schedule_without_an_end_fails) {
    const result r = schedules(10, {.steps = 500}, [] {
        const shared<bool> flag{false};
        while (!flag) {
        }
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("no end after 500 steps"));
    const result timer = schedules(1, {.steps = 500}, [] { (void)pilfer::every(1s, [] {}); });
    ASSERT_FALSE(timer);
    EXPECT_THAT(timer.message, HasSubstr("an alarm is set each time"));
}

TEST(schedules, a_thread_outside_fails) {
    const result r = schedules(1, [] {
        pilfer::event told;
        std::thread other([&] { told.set(); });
        other.join();
        told.wait();
        pilfer::promise<int> p;
        auto f = p.get_future();
        pilfer::scope s;
        s.fork([&] { (void)f.get(); });
        pilfer::yield();
        std::thread([&] { p.set_value(1); }).join();
        s.sync();
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("a thread outside the pool"));
}

TEST(schedules, a_wait_for_another_pool_is_no_deadlock) {
    pilfer::pool other;
    pilfer::event asked;
    const result r = schedules(1, [&] { other.async([&] { asked.wait(); }).wait(); });
    asked.set();
    ASSERT_FALSE(r);
    EXPECT_THAT(r.message, testing::StartsWith("a task waits for another pool, which is not explored"));
}

TEST(trace, names_objects_by_kind_and_order) {
    const result r = schedules(1, [] {
        pilfer::channel<int> c(1);
        pilfer::mutex m;
        pilfer::shared_mutex rw;
        pilfer::promise<int> p;
        auto f = p.get_future();
        { const lock l(m); }
        (void)c.send(1);
        { const std::shared_lock l(rw); }
        { const lock l(m); }
        p.set_value(1);
        (void)f.get();
        require(false);
    });
    ASSERT_FALSE(r);
    for (const char* const step :
         {"locks mutex 1 ", "sends into channel 2 ", "locks shared mutex 3 with others ", "unlocks mutex 1 ",
          "sets the promise of future 4 ", "waits for future 4 "}) {
        EXPECT_THAT(r.trace, HasSubstr(step));
    }
}

TEST(trace, has_the_names_of_objects) {
    const result r = schedules(10, [] {
        pilfer::channel<int> c(1);
        pilfer::mutex m;
        const pilfer::object_name jobs(c, "jobs");
        const pilfer::object_name accounts(m, "accounts");
        { const lock l(m); }
        (void)c.receive(); // for ever
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.trace, HasSubstr("locks mutex 1 \"accounts\""));
    EXPECT_THAT(r.message, HasSubstr("waits for channel 2 \"jobs\"'s next value"));
}

int next_line = 0;

/// Has a frame during its wait, however it is optimised. It is not inlined, and the wait is not the last
/// thing that it does. Otherwise the caller's frame would be the only one.
[[gnu::noinline]] void wait_below(pilfer::event& e) {
    next_line = __LINE__ + 1;
    require(!e.wait_for(1ms), "nothing sets it");
}

TEST(trace, has_lines_of_the_users_code) {
    const result r = schedules(1, [] {
        pilfer::event e;
        wait_below(e);
        pilfer::future<int> f = pilfer::async([] { return 1; });
        (void)f.get();
        require(false);
    });
    ASSERT_FALSE(r);
    EXPECT_THAT(r.trace,
                HasSubstr("waits for event 1 (failures_test.cpp:" + std::to_string(next_line) + ")"));
    EXPECT_THAT(r.trace, ContainsRegex("waits for future [0-9]+ \\(failures_test.cpp:[0-9]+\\)"));
    EXPECT_THAT(r.trace, ContainsRegex("task 2 begins\n"));
}

TEST(schedules, go_on_after_a_failure) {
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(schedules(1'000, &lose_an_update));
        EXPECT_TRUE(schedules(100, [] {}));
        EXPECT_FALSE(schedules(1, [] { pilfer::event().wait(); }));
    }
    pilfer::pool usual;
    EXPECT_EQ(usual.run([] { return 5; }), 5);
}

} // namespace
