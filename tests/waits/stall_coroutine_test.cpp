// The report of a pool in which coroutines wait for each other, or beside contexts.
// Optimised in every build: a report has room for short traces only.
#include <gmock/gmock.h>

#include "waits/stalls.hpp"

namespace {

using namespace waits;
using testing::HasSubstr;
using testing::Not;

pilfer::task<int> awaits_other(const pilfer::future<int>& other, pilfer::latch& known) {
    co_await pilfer::wait(known);
    co_return co_await other;
}

TEST_F(reported_stall, of_coroutines_that_await_each_other_is_a_cycle) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, 2));
        static pilfer::latch known(1);
        static pilfer::future<int> first;
        static pilfer::future<int> second;
        first = p.async(awaits_other(second, known));
        second = p.async(awaits_other(first, known));
        known.count_down();
        err.await("a cycle of waits"); // a report may have come before all wait
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output,
                testing::ContainsRegex("a cycle of waits: coroutine 0x.* waits for a future [^;]*;\n"
                                       "    coroutine 0x.* waits for a future [^;]*\n"));
}

pilfer::task<> holds_and_awaits(pilfer::mutex& m, pilfer::latch& held, const pilfer::future<void>& end) {
    const auto guard = co_await pilfer::scoped_lock(m);
    held.count_down();
    co_await end;
}
pilfer::task<> wants(pilfer::mutex& m) { const auto guard = co_await pilfer::scoped_lock(m); }

/// No table of owners has it: two members wait for no lock.
TEST_F(reported_stall, of_coroutines_and_a_context_is_a_cycle) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, 2));
        static pilfer::mutex m;
        static pilfer::latch held(1);
        static pilfer::future<void> runs;
        runs = p.async([&p] {
            held.wait();
            p.run(wants(m));
        });
        p.submit(holds_and_awaits(m, held, runs));
        err.await("a cycle of waits"); // a report may have come before all wait
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output,
                testing::ContainsRegex("a cycle of waits: context [0-9]+ waits for a coroutine;\n"
                                       "    coroutine 0x.* waits for a mutex [^;]*, which is held;\n"
                                       "    coroutine 0x.* waits for a future [^;]*\n"));
}

pilfer::task<int> awaits_below(const pilfer::future<int>& other, pilfer::latch& known) {
    co_return co_await awaits_other(other, known);
}

TEST_F(reported_stall, of_coroutines_of_two_pools_is_a_cycle) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& one = lasting(reporting_after(100, 1));
        pilfer::pool& two = lasting(reporting_after(0, 1));
        static pilfer::latch known(1);
        static pilfer::future<int> first;
        static pilfer::future<int> second;
        first = one.async(awaits_other(second, known));
        second = two.async(awaits_below(first, known));
        known.count_down();
        err.await("a cycle of waits"); // a report may have come before all wait
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, testing::ContainsRegex("coroutine 0x[0-9a-f]* in "));
    EXPECT_THAT(result.output, testing::ContainsRegex("coroutine 0x[0-9a-f]* of pool [0-9]+ in "));
}

/// A coroutine that awaits a task which holds nothing is in no cycle.
TEST_F(reported_stall, of_a_row_of_coroutines_is_no_cycle) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, 2));
        static pilfer::promise<int> never;
        static pilfer::latch known(0);
        static const pilfer::future<int> end = never.get_future();
        static const pilfer::future<int> first = p.async(awaits_other(end, known));
        static const pilfer::future<int> second = p.async(awaits_other(first, known));
        static const pilfer::future<void> last = p.async([&p] { (void)p.run(awaits_other(second, known)); });
        err.await(stall);
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, Not(HasSubstr("a cycle of waits")));
}

pilfer::task<bool> has_an_hour(const pilfer::future<int>& f) {
    co_return co_await pilfer::wait_for(f, 1h) == pilfer::future_status::ready;
}

/// Contexts that wait for coroutines which their time will wake. The alarms are far away.
TEST_F(reported_stall, is_not_a_wait_for_coroutines_with_a_time_limit) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(50, 2));
        static pilfer::promise<int> never;
        static const pilfer::future<int> end = never.get_future();
        static const pilfer::future<bool> runs = p.async([&p] { return p.run(has_an_hour(end)); });
        static const pilfer::future<void> sleeps =
            p.async([&p] { p.run([]() -> pilfer::task<> { co_await pilfer::resume_after(1h); }()); });
        static const pilfer::future<bool> limited = p.async(has_an_hour(end));
        static const pilfer::future<bool> gets = p.async([] { return limited.get(); });
        while (suspended(p) < 3) {
            std::this_thread::sleep_for(100us);
        }
        err.listen(600ms); // twelve intervals
        const bool silent = err.count(stall) == 0;
        err.give_back();
        return silent ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// Beside them, a context that waits for a coroutine which nothing wakes is.
TEST_F(reported_stall, of_a_coroutine_beside_one_with_a_time_limit) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(50, 2));
        static pilfer::promise<int> never;
        static const pilfer::future<int> end = never.get_future();
        static pilfer::latch known(0);
        static const pilfer::future<bool> limited = p.async([&p] { return p.run(has_an_hour(end)); });
        static const pilfer::future<int> without = p.async(awaits_other(end, known));
        static const pilfer::future<int> gets = p.async([] { return without.get(); });
        err.await(stall);
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

} // namespace
