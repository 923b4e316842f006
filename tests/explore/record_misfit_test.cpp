// Recordings that cannot be repeated are refused: those of other programs, and runs that are not recorded
// completely.
#include "explore/recorded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace recorded_runs;
using std::chrono::microseconds;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

[[nodiscard]] recording of_two_tasks() {
    return record({.workers = 2}, [] {
        pilfer::mutex m;
        const auto work = [&] { const lock l(m); };
        both(work, work);
    });
}

TEST(misfit, of_another_operation) {
    const result r = repeat(of_two_tasks().schedule, [] {
        pilfer::counting_semaphore<> s(2);
        s.acquire();
    });
    EXPECT_FALSE(r);
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message,
                AllOf(HasSubstr("does not fit this program: operation 1 of 4 is \"task "),
                      HasSubstr("locks a mutex\""), HasSubstr("comes to \"acquires a semaphore\"")));
}

TEST(misfit, of_a_program_that_ends_early) {
    const result r = repeat(of_two_tasks().schedule, [] {
        pilfer::mutex m;
        const lock l(m);
    });
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message, HasSubstr("no task comes to it"));
}

TEST(misfit, of_a_program_that_goes_on) {
    const result r = repeat(record({.workers = 2}, [] {}).schedule, [] {
        pilfer::mutex m;
        const lock l(m);
    });
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message, HasSubstr("it ends here, and task 1 comes to \"locks a mutex\""));
}

TEST(misfit, of_a_repaired_program) {
    const result r = repeat(run_that(false, &order_of_futures).schedule, [] {
        pilfer::mutex m;
        auto first = pilfer::async([&] { const lock l(m); });
        auto second = pilfer::async([&] { const lock l(m); });
        first.get();
        second.get();
    });
    EXPECT_FALSE(r);
    EXPECT_FALSE(r.fits);
    EXPECT_THAT(r.message,
                AnyOf(HasSubstr("has failed, and this one has not"), HasSubstr("no task comes to it")));
}

void cannot_be_repeated(const char* why, void (*body)()) {
    const recording r = record({.workers = 2}, body);
    ASSERT_TRUE(r) << r.message;
    const result again = repeat(r.schedule, body);
    EXPECT_FALSE(again);
    EXPECT_FALSE(again.fits);
    EXPECT_THAT(again.message, AllOf(HasSubstr("cannot be repeated"), HasSubstr(why)));
}

TEST(refusal, names_the_reason) {
    using namespace std::chrono_literals;
    cannot_be_repeated("sync_for", [] {
        pilfer::scope s;
        (void)s.sync_for(1ms);
        s.sync();
    });
    cannot_be_repeated("a cancellation", [] {
        pilfer::scope s;
        s.cancel();
        try {
            s.sync();
        } catch (const pilfer::stopped&) {
        }
    });
    cannot_be_repeated("a deadline", [] {
        pilfer::scope s;
        const pilfer::deadline d(s, 1h);
        s.sync();
    });
    cannot_be_repeated("a timer that goes on after the end", [] { (void)pilfer::every(1h, [] {}); });
    cannot_be_repeated("timer::over", [] { (void)pilfer::after(1ms, [] {}).over(); });
    cannot_be_repeated("a timer that no task of its pool has set", [] {
        pilfer::pool other({.workers = 1});
        (void)pilfer::after(other, 1ms, [] {});
    });
    cannot_be_repeated("an operation of a thread that is no worker", [] {
        auto t = pilfer::after(1h, [] {});
        std::thread([&] { (void)t.cancel(); }).join();
    });
    cannot_be_repeated("a wait with a time limit", [] {
        pilfer::monitor<int> m(0);
        (void)m.try_call_when_for(
            1ms, [](const int& i) { return i != 0; }, [](int&) {});
    });
    cannot_be_repeated("a thread that is no worker", [] {
        pilfer::mutex m;
        std::thread([&] { const lock l(m); }).join();
    });
    cannot_be_repeated("a wait for a test::atomic", [] {
        pilfer::test::atomic<int> n{0};
        both([&] { n = 1, n.notify_all(); }, [&] { n.wait(0); });
    });
    cannot_be_repeated("a child that another task has forked", [] {
        pilfer::scope s;
        for (int i = 0; i < 20; ++i) {
            s.fork([&s] {
                pilfer::yield();
                s.fork([] { linger(); });
            });
        }
        s.sync();
    });
    cannot_be_repeated("a wait for another pool", [] {
        pilfer::pool other({.workers = 1});
        other.run([] { std::this_thread::sleep_for(300ms); });
    });
    cannot_be_repeated("a graph", [] {
        pilfer::graph g;
        (void)g.task([] {});
        g.run();
    });
    cannot_be_repeated("input or output by pilfer::io", [] {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        char byte = 1;
        (void)pilfer::io::write(ends[1], &byte, 1); // without a wait
        (void)close(ends[0]);
        (void)close(ends[1]);
    });
}

/// Tasks put into a small buffer and take from it, so owners wait inside of their children.
[[nodiscard]] std::uint64_t order_of_a_buffer() {
    struct buffer {
        std::vector<std::uint64_t> v;
        std::uint64_t sum = 1;
    };
    pilfer::monitor<buffer> m;
    pilfer::scope s;
    for (std::uint64_t i = 0; i < 4; ++i) {
        s.fork([&m, i] {
            for (std::uint64_t k = 0; k < 8; ++k) {
                if (k % 3 == i % 3) {
                    std::this_thread::sleep_for(microseconds(20));
                }
                m.call_when([](const buffer& b) { return b.v.size() < 2; },
                            [&](buffer& b) { b.v.push_back(i * 10 + k); });
            }
        });
        s.fork([&m, i] {
            for (int k = 0; k < 8; ++k) {
                m.call_when([](const buffer& b) { return !b.v.empty(); },
                            [&](buffer& b) {
                                b.sum = b.sum * 31 + b.v.back() + i * 1'000;
                                b.v.pop_back();
                            });
            }
        });
    }
    s.sync();
    return m.read([](const buffer& b) { return b.sum; });
}

TEST(refusal, of_own_children_in_another_order) {
    for (unsigned i = 0; i < 10'000; ++i) {
        std::uint64_t first = 0;
        const recording r = record({.workers = 3}, [&] { first = order_of_a_buffer(); });
        std::uint64_t second = 0;
        const result again = repeat(r.schedule, [&] { second = order_of_a_buffer(); });
        if (has_passed_over_a_child(r)) {
            EXPECT_THAT(again.message, HasSubstr("cannot be repeated"));
            return;
        }
        ASSERT_TRUE(again) << again.message << '\n' << r.schedule;
        ASSERT_EQ(second, first) << r.schedule;
    }
    FAIL() << "no owner has passed over a child";
}

TEST(refusal, of_a_timer_that_runs_at_the_end) {
    for (int i = 0; i < 300; ++i) {
        const recording r = record({.workers = 3}, [] {
            (void)pilfer::every(microseconds(1), [] {});
            linger();
        });
        ASSERT_THAT(r.schedule, HasSubstr("\nn a timer that goes on after the end\n"));
    }
}

} // namespace
