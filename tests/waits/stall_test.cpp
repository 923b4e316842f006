// The report of a pool in which every task waits for another waiting task.
// Optimised in every build: a report has room for short traces only.
#include <gmock/gmock.h>

#include "waits/stalls.hpp"

namespace {

using namespace waits;
using testing::HasSubstr;
using testing::Not;

TEST_F(reported_stall, of_two_futures_that_wait_for_each_other_is_named_as_a_cycle_once) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, 2));
        static ring<2> r;
        r.start(p, {&first_waits, &second_waits});
        err.await(stall);
        err.listen(600ms); // six intervals more
        const bool once = err.count(stall) == 1;
        err.give_back();
        return once ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("a cycle of waits:"));
    EXPECT_THAT(result.output, HasSubstr("waits for a future (0x"));
    EXPECT_THAT(result.output, HasSubstr("), which is suspended on context "));
    if (has_stacks) {
        EXPECT_THAT(result.output, HasSubstr(" in first_waits"));
        EXPECT_THAT(result.output, HasSubstr(" in second_waits"));
    }
}

TEST_F(reported_stall, of_a_promise_that_is_never_set) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, 2));
        static pilfer::promise<int> never;
        static const pilfer::future<int> waits = p.async([] { return first_waits(never.get_future()); });
        static const pilfer::future<int> behind = never.get_future().then(p, [](int i) { return i; });
        static const pilfer::future<void> both = p.async([] { (void)pilfer::when_all(waits, behind).get(); });
        (void)never.get_future().wait_for(1ms); // comes, goes, and is no reason to be silent
        err.await(stall);
        err.await("), which is incomplete"); // a report may have come before both tasks wait
        err.await("), which is not set");
        err.await(has_stacks ? " in first_waits" : stall);
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("waits for a promise (0x"));
    EXPECT_THAT(result.output, HasSubstr("), which is not set"));
    EXPECT_THAT(result.output, HasSubstr("waits for a combination of futures (0x"));
    EXPECT_THAT(result.output, HasSubstr("), which is incomplete"));
    EXPECT_THAT(result.output, Not(HasSubstr("a cycle of waits")));
    if (has_stacks) {
        EXPECT_THAT(result.output, HasSubstr(" in first_waits"));
    }
}

TEST_F(reported_stall, of_a_promise_that_is_never_set_with_distant_timers) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, 2));
        static pilfer::promise<int> never;
        static const auto far = pilfer::every(p, std::chrono::hours(1), [] {});
        p.submit([] { pilfer::sleep_for(std::chrono::hours(1)); });
        static const pilfer::future<int> waits = p.async([] { return first_waits(never.get_future()); });
        err.await(stall);
        err.await("), which is not set");
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(reported_stall, is_not_a_wait_for_a_sleeping_task) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(50, 2));
        static const pilfer::future<int> sleeps = p.async([] {
            pilfer::sleep_for(std::chrono::hours(1));
            return 1;
        });
        static const pilfer::future<int> waits = p.async([] { return first_waits(sleeps); });
        p.submit([] {
            pilfer::scope s;
            s.spawn([] { pilfer::sleep_for(std::chrono::hours(1)); });
            s.sync();
        });
        p.submit([] {
            pilfer::event never;
            (void)never.wait_for(std::chrono::hours(1));
        });
        while (suspended(p) < 5) {
            std::this_thread::sleep_for(100us);
        }
        err.listen(600ms);
        const bool silent = err.count(stall) == 0;
        err.give_back();
        return silent ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// No worker is left that could notice it.
TEST_F(reported_stall, of_workers_that_all_block_beside_a_ready_task) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::options o = reporting_after(100, 2);
        o.max_extra_workers = 0;
        pilfer::pool& p = lasting(o);
        static int ends[2];
        static std::atomic<int> inside{0};
        if (pipe(ends) != 0) {
            return 1;
        }
        for (int i = 0; i < 2; ++i) {
            p.submit([] {
                pilfer::blocking([] {
                    ++inside;
                    char c = 0;
                    return read(ends[0], &c, 1);
                });
            });
        }
        while (inside < 2) {
            std::this_thread::sleep_for(100us);
        }
        p.submit([] { (void)!write(ends[1], "ab", 2); });
        err.await("all workers of pool");
        err.listen(500ms);
        const bool once = err.count("all workers of pool") == 1;
        err.give_back();
        return once ? 0 : 2;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("have been inside blocking()"));
    EXPECT_THAT(result.output, HasSubstr("(options.max_extra_workers: 0)"));
}

TEST_F(reported_stall, of_a_task_that_waits_for_itself) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, 1));
        static ring<1> r;
        r.start(p, {&first_waits});
        err.await(stall);
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("a wait for itself:"));
    EXPECT_THAT(result.output, HasSubstr("which runs on this very context"));
}

/// The task of a future waits for a child that waits for the future. `offer(f, after)`: makes the child.
template <class Parent>
child_result parent_and_child(unsigned n, Parent parent) {
    return in_child([n, parent] {
        own_stderr err;
        pilfer::pool& p = lasting(reporting_after(100, n));
        static pilfer::future<int> own;
        static std::atomic<bool> there{false};
        own = p.async([parent] {
            while (!there.load()) {
                std::this_thread::sleep_for(100us);
            }
            return parent(own);
        });
        there = true;
        err.await(stall);
        err.give_back();
        return 0;
    });
}

TEST_F(reported_stall, of_a_stolen_branch_that_waits_for_the_task_that_joins_it) {
    const auto result = parent_and_child(2, [](const pilfer::future<int>& own) {
        std::atomic<bool> stolen{false};
        pilfer::join(
            [&] {
                while (!stolen.load()) {
                    std::this_thread::sleep_for(100us);
                }
            },
            [&] {
                stolen = true;
                return first_waits(own);
            });
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("a cycle of waits:"));
    EXPECT_THAT(result.output, HasSubstr("waits for another branch of its join (0x"));
}

TEST_F(reported_stall, of_a_forked_child_that_waits_for_its_parent) {
    const auto result = parent_and_child(2, [](const pilfer::future<int>& own) {
        std::atomic<bool> stolen{false};
        pilfer::scope s;
        s.fork([&] {
            stolen = true;
            (void)first_waits(own);
        });
        while (!stolen.load()) {
            std::this_thread::sleep_for(100us);
        }
        s.sync();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("a cycle of waits:"));
    EXPECT_THAT(result.output, HasSubstr(", 1 of which has not ended, among them context "));
}

TEST_F(reported_stall, of_spawned_children_that_wait_for_their_parent) {
    const auto result = parent_and_child(1, [](const pilfer::future<int>& own) {
        pilfer::scope s;
        s.spawn([&] { (void)first_waits(own); });
        s.spawn([&] { (void)second_waits(own); });
        s.sync();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("a cycle of waits:"));
    EXPECT_THAT(result.output, HasSubstr("waits for the children of a scope (0x"));
    EXPECT_THAT(result.output, HasSubstr(", 2 of which have not ended, among them context "));
    EXPECT_THAT(result.output, HasSubstr("waits for a future (0x"));
    if (has_stacks) {
        EXPECT_THAT(result.output, HasSubstr(" in first_waits"));
        EXPECT_THAT(result.output, HasSubstr(" in second_waits"));
    }
}

/// The child in the middle has a scope of its own, and is a child of the outer one.
TEST_F(reported_stall, of_a_spawned_grandchild_is_a_cycle_of_three) {
    const auto result = parent_and_child(1, [](const pilfer::future<int>& own) {
        pilfer::scope outer;
        outer.spawn([&] {
            pilfer::scope inner;
            inner.spawn([&] { (void)first_waits(own); });
            inner.sync();
        });
        outer.sync();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    const std::string& said = result.output;
    const std::size_t from = said.find("a cycle of waits:");
    ASSERT_NE(from, std::string::npos) << said;
    const std::string cycle = said.substr(from, said.find("suspended on worker", from) - from);
    EXPECT_EQ(std::count(cycle.begin(), cycle.end(), ';'), 2) << cycle;
}

/// The worker never lies down: a queued task lacks only a stack.
TEST_F(reported_stall, of_a_pool_without_another_stack) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::options o = reporting_after(100, 1);
        o.max_contexts = 1;
        pilfer::pool& p = lasting(o);
        static ring<1> r;
        r.start(p, {&first_waits});
        while (suspended(p) == 0) {
            std::this_thread::sleep_for(100us);
        }
        const auto queued = p.async([] {});
        err.await(stall);
        err.listen(500ms);
        const bool once = err.count(stall) == 1;
        err.give_back();
        return once && !queued.ready() ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("no further context can be had (options.max_contexts"));
    EXPECT_THAT(result.output, HasSubstr("a wait for itself:"));
}

TEST_F(reported_stall, across_two_pools_is_one_cycle) {
    const auto result = in_child([] {
        own_stderr err;
        pilfer::pool& one = lasting(reporting_after(100, 1));
        pilfer::pool& two = lasting(reporting_after(0, 1));
        static pilfer::future<int> own;
        static std::atomic<bool> there{false};
        own = one.async([&two] {
            while (!there.load()) {
                std::this_thread::sleep_for(100us);
            }
            return two.run([] { return second_waits(own); });
        });
        there = true;
        err.await(stall);
        err.give_back();
        return 0;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_THAT(result.output, HasSubstr("a cycle of waits:"));
    EXPECT_THAT(result.output, HasSubstr("waits for the task that it gave to another pool's run() (0x"));
    EXPECT_THAT(result.output, testing::ContainsRegex("context [0-9]+ of pool [0-9]+ waits for a future"));
}

/// Waits as a join does, for an end that the test itself brings about.
struct by_hand {
    pilfer::detail::completion<pilfer::detail::std_atom> end;
    void wait() { pilfer::detail::wait_for(end, nullptr); }
    void complete() {
        if (const auto who = end.complete(); who != 0) {
            pilfer::detail::make_runnable(reinterpret_cast<pilfer::detail::suspension*>(who));
        }
    }
};

TEST_F(reported_stall, is_withdrawn_if_the_wait_ends_after_all) {
    for (const unsigned n : {1U, 3U}) {
        const auto result = in_child([n] {
            own_stderr err;
            by_hand h;
            int sum = 0;
            {
                pilfer::pool p(reporting_after(100, n));
                const auto waiting = p.async([&] {
                    h.wait();
                    return 41;
                });
                err.await(stall);
                sum += p.run([] { return 1; }); // the pool still works
                err.await(stall, 2);            // that was the end of one standstill
                h.complete();
                sum += waiting.get();
            }
            err.give_back();
            return sum;
        });
        EXPECT_TRUE(result.exited_with(42)) << result;
    }
}

} // namespace
