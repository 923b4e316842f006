// Recordings that cannot be repeated are refused: those of other programs, and runs that are not recorded
// completely.
#include "explore/recorded.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <coroutine>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <pilfer/co_call.hpp>
#include <pilfer/graph.hpp>
#include <pilfer/pipeline.hpp>
#include <pilfer/task.hpp>

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

struct of_another_library {
    [[nodiscard]] static bool await_ready() noexcept { return false; }
    [[nodiscard]] static bool await_suspend(std::coroutine_handle<>) noexcept { return false; }
    static void await_resume() noexcept {}
};

template <class A>
pilfer::task<void> comes_back(A what) {
    if constexpr (std::is_same_v<A, of_another_library>) {
        co_await what;
    } else {
        (void)co_await std::move(what);
    }
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
    cannot_be_repeated("a wait for another pool", [] {
        pilfer::pool other({.workers = 1});
        other.run([] { std::this_thread::sleep_for(300ms); });
    });
    cannot_be_repeated("a cancellation", [] {
        pilfer::graph g;
        (void)g.task([] { throw std::runtime_error("this"); });
        EXPECT_THROW(g.run(), std::runtime_error);
    });
    cannot_be_repeated("an exception in a pipeline", [] {
        int left = 3;
        EXPECT_THROW(pilfer::pipeline(2, pilfer::serial_in_order([&] {
                                          return --left != 0 ? std::optional(left) : std::nullopt;
                                      }),
                                      pilfer::parallel_stage([](int) { throw std::runtime_error("this"); })),
                     std::runtime_error);
    });
    cannot_be_repeated("a coroutine that waits for a time",
                       [] { pilfer::sync_wait(comes_back(pilfer::resume_after(1ms))); });
    cannot_be_repeated("a coroutine that waits with a time limit", [] {
        pilfer::event e;
        pilfer::sync_wait(comes_back(pilfer::wait_for(e, 1ms)));
    });
    cannot_be_repeated("a coroutine that calls an object", [] {
        pilfer::monitor<int> m(0);
        pilfer::sync_wait(comes_back(pilfer::call(m, [](int& i) { ++i; })));
    });
    cannot_be_repeated("a coroutine that awaits something of another library",
                       [] { pilfer::sync_wait(comes_back(of_another_library())); });
    cannot_be_repeated("input or output by pilfer::io", [] {
        int ends[2];
        ASSERT_EQ(pipe(ends), 0);
        char byte = 1;
        (void)pilfer::io::write(ends[1], &byte, 1); // without a wait
        (void)close(ends[0]);
        (void)close(ends[1]);
    });
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
