// A recording: a run that fails does so again, one that does not passes again, and its text can be kept.
#include "explore/recorded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using namespace recorded_runs;
using bugs::shared;
using pilfer::test::require;
using std::chrono::microseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

[[nodiscard]] std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// ---- errors that a run on several workers shows now and then ---------------------------------------

void lost_update() {
    shared<int> count{0};
    const auto add = [&] {
        const int before = count;
        linger();
        count = before + 1;
    };
    both(add, add);
    require(count == 2, "both additions count");
}

void lock_order() {
    pilfer::mutex accounts;
    pilfer::mutex journal;
    const auto lock_both = [](pilfer::mutex& first, pilfer::mutex& second) {
        const lock a(first);
        linger();
        const lock b(second);
    };
    both([&] { lock_both(accounts, journal); }, [&] { lock_both(journal, accounts); });
}

void missed_notice() {
    pilfer::mutex m;
    pilfer::condition_variable changed;
    shared<bool> ready{false};
    both(
        [&] {
            ready = true;
            changed.notify_one();
        },
        [&] {
            lock l(m);
            while (!ready) {
                linger();
                changed.wait(l);
            }
        });
}

void check_then_insert() {
    pilfer::mutex m;
    int computed = 0;
    bool present = false;
    const auto get = [&] {
        lock l(m);
        if (!present) {
            l.unlock();
            linger();
            l.lock();
            ++computed;
            present = true;
        }
    };
    both(get, get);
    require(computed == 1, "a value is computed once");
}

void permits() {
    pilfer::counting_semaphore<> slots(2);
    pilfer::channel<int> both_have(2);
    pilfer::scope s;
    for (int i = 0; i < 2; ++i) {
        s.fork([&, i] {
            slots.acquire();
            linger();
            slots.acquire(); // the other one holds it
            (void)both_have.send(i);
            slots.release(2);
        });
    }
    s.sync();
    both_have.close();
}

void first_message() {
    pilfer::channel<int> queue(4);
    pilfer::scope s;
    for (int i = 0; i < 3; ++i) {
        s.fork([&, i] {
            linger();
            (void)queue.send(i);
        });
    }
    const int first = *queue.receive();
    s.sync();
    require(first == 2, "the last one is first");
}

/// The function of a timer loses an update, if it runs meanwhile.
void update_beside_a_timer() {
    shared<int> count{0};
    pilfer::latch done(1);
    (void)pilfer::after(microseconds(100), [&] {
        ++count;
        done.count_down();
    });
    for (int i = 0; i < 4; ++i) {
        const int before = count;
        linger();
        count = before + 1;
    }
    done.wait();
    require(count == 5, "all additions count");
}

/// One call serves the other one, which finds what it has left.
void order_of_monitor_calls() {
    pilfer::monitor<std::vector<int>> m;
    const auto call = [&](int i) {
        m.call_when([](const std::vector<int>& v) { return !v.empty(); },
                    [i](std::vector<int>& v) { v.push_back(i); });
    };
    pilfer::scope s;
    for (int i = 1; i < 4; ++i) {
        s.fork([&, i] {
            linger();
            call(i);
        });
    }
    m.call([](std::vector<int>& v) { v.push_back(0); });
    s.sync();
    m.read([](const std::vector<int>& v) { require(v[1] != 1, "the first one is not first"); });
}

struct error {
    const char* name;
    void (*body)();
};
constexpr error errors[] = {{"lost_update", &lost_update},
                            {"lock_order", &lock_order},
                            {"missed_notice", &missed_notice},
                            {"check_then_insert", &check_then_insert},
                            {"order_of_futures", &order_of_futures},
                            {"permits", &permits},
                            {"first_message", &first_message},
                            {"update_beside_a_timer", &update_beside_a_timer},
                            {"order_of_monitor_calls", &order_of_monitor_calls}};

class recorded : public testing::TestWithParam<error> {};

TEST_P(recorded, fails_again) {
    const recording r = run_that(false, GetParam().body);
    EXPECT_THAT(r.schedule, StartsWith("recorded 1\n"));
    for (int i = 0; i < 3; ++i) {
        const result again = repeat(r.schedule, GetParam().body);
        EXPECT_FALSE(again);
        EXPECT_TRUE(again.fits) << again.message << '\n' << r.schedule;
        EXPECT_EQ(first_line(again.message), first_line(r.message)) << r.schedule;
        EXPECT_EQ(again.schedule, r.schedule);
    }
}

INSTANTIATE_TEST_SUITE_P(record, recorded, testing::ValuesIn(errors),
                         [](const auto& each) { return std::string(each.param.name); });

class repaired : public testing::TestWithParam<bugs::bug> {};

TEST_P(repaired, passes_again) {
    const auto body = [] { GetParam().body(true); };
    for (unsigned i = 0; i < 4; ++i) {
        const recording r = record({.workers = 1 + i}, body);
        ASSERT_TRUE(r) << r.message;
        const result again = repeat(r.schedule, body);
        if (r.schedule.find("\nn ") == std::string::npos) {
            ASSERT_TRUE(again) << again.message << '\n' << r.schedule;
            ASSERT_TRUE(again.fits);
        } else {
            ASSERT_FALSE(again.fits);
            ASSERT_THAT(again.message, HasSubstr("cannot be repeated"));
        }
    }
}

INSTANTIATE_TEST_SUITE_P(record, repaired, testing::ValuesIn(bugs::all),
                         [](const auto& each) { return std::string(each.param.name); });

// ---- the text -----------------------------------------------------------------------------------

TEST(text, that_ends_inside_a_limited_wait_goes_on_beyond) {
    const auto body = [] {
        pilfer::channel<int> c(1);
        require(!c.try_receive_for(std::chrono::milliseconds(1)).has_value(), "there is no value");
    };
    recording r;
    std::size_t end = std::string::npos;
    while (end == std::string::npos) { // the time may be over before the wait
        r = record({.workers = 2}, body);
        ASSERT_TRUE(r) << r.message;
        end = r.schedule.find("w reaches");
    }
    EXPECT_TRUE(repeat(r.schedule, body));
    EXPECT_TRUE(repeat(r.schedule.substr(0, end), body));
}

/// A task that comes to more operations than the recording has waits until no other task can run: what led
/// to the end of the recorded run comes first.
TEST(text, that_ends_early_is_followed_to_its_end_first) {
    const auto body = [] {
        pilfer::mutex m;
        bool changed = false;
        pilfer::scope s;
        s.fork([&] {
            const lock l(m);
            changed = true;
        });
        s.fork([&] { require(!changed, "nothing has changed"); });
        s.sync();
    };
    EXPECT_TRUE(repeat("recorded 1\nt 0\n", body));
}

/// The text has no begin of the child that another task has forked, so that child is nobody's until its end.
TEST(text, that_ends_before_a_child_begins_does_not_give_it_to_its_owner) {
    const auto body = [] {
        pilfer::scope s;
        s.fork([] { pilfer::test::point("first"); }); // its owner runs it
        s.fork([&s] {                                 // another task does
            s.fork([] { pilfer::test::point("late"); });
            pilfer::test::point("forked");
        });
        pilfer::test::point("goes on");
        s.sync();
    };
    std::ostringstream text;
    text << "recorded 1\nw forked\nw goes on\nw first\nt 0\nt " << std::hex
         << pilfer::detail::test_identity::name_of(2) << "\n1 0\n0 1\n0 2\n";
    const result r = repeat(text.str(), body);
    EXPECT_TRUE(r) << r.message;
}

TEST(text, cut_anywhere_is_no_crash) {
    const std::string all = run_that(false, &lost_update).schedule;
    for (std::size_t n = 0; n <= all.size(); ++n) {
        if (n == 0) {
            continue; // no text at all is no repetition
        }
        try {
            const result r = repeat(all.substr(0, n), &lost_update);
            EXPECT_TRUE(r.fits || !r.message.empty());
        } catch (const std::invalid_argument&) {
            EXPECT_LT(n, std::string("recorded 1\n").size());
        }
    }
}

TEST(text, malformed_is_refused) {
    for (const char* const text :
         {"recorded", "recorded 2\n", "recorded 1\n0 0\n", "recorded 1\nt 1\nw x\n1 0\n",
          "recorded 1\nt 1\nw x\n0 1\n", "recorded 1\nt 1\nt 1\n", "recorded 1\nt g\n",
          "recorded 1\nt 11111111111111111\n", "recorded 1\n\n", "recorded 1\nt 1\nw x\n0 0x\n",
          "recorded 1\nt 1\nw x\n0-0\n", "recorded 1\ne\nt 1\n", "recorded 1\nx\n"}) {
        EXPECT_THROW((void)repeat(text, [] {}), std::invalid_argument) << text;
    }
}

TEST(text, is_in_the_file_before_the_program_dies) {
    const std::string name = testing::TempDir() + "pilfer_recording_" + std::to_string(::getpid());
    const auto body = [](bool dies) {
        shared<int> n{0};
        both([&] { n = 1; }, [&] { n = 2; });
        if (dies) {
            std::_Exit(3);
        }
    };
    EXPECT_EXIT((void)record({.workers = 2, .file = name}, [&] { body(true); }), testing::ExitedWithCode(3),
                "");
    std::ifstream file(name);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    EXPECT_THAT(text, AllOf(StartsWith("recorded 1\n"), HasSubstr("w stores to an atomic\n")));
    EXPECT_TRUE(repeat(text, [&] { body(false); }));
    (void)std::remove(name.c_str());
}

// ---- calls, and names of tasks --------------------------------------------------------------------

TEST(names, an_entry_that_is_announced_again_keeps_its_own) {
    const recording r = record({.workers = 1}, [] {
        using namespace pilfer::v0::detail;
        worker* const w = this_worker();
        spark s([](spark*, worker*) noexcept -> suspension* { return nullptr; }, nullptr);
        const task_word entry = reinterpret_cast<task_word>(&s) | kind_spark;
        ASSERT_TRUE(announce(w, entry, way::keep));
        const std::uint64_t origin = s.test_origin();
        ASSERT_NE(reclaim(w, entry), nullptr);
        ASSERT_TRUE(announce_again(w, entry, way::keep));
        EXPECT_EQ(s.test_origin(), origin);
        EXPECT_FALSE(this_activation()->ctx->test.has_forked(origin + 1));
        ASSERT_NE(reclaim(w, entry), nullptr);
    });
    EXPECT_TRUE(r) << r.message;
}

TEST(call, is_checked) {
    EXPECT_THROW((void)record({}, {}), std::invalid_argument);
    EXPECT_THROW((void)record({.file = "/nowhere/at/all"}, [] {}), std::system_error);
    const recording r =
        record({.workers = 1}, [] { EXPECT_THROW((void)record({}, [] {}), pilfer::usage_error); });
    EXPECT_TRUE(r) << r.message;
    const recording thrown = record({.workers = 1}, [] { throw std::runtime_error("this"); });
    EXPECT_EQ(thrown.message, "body has thrown this");
}

} // namespace
