// The checked build stops a program whose counts do not agree. Each test breaks one of them on purpose.
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "observe/checks.hpp"
#include "pool/pool_core.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
namespace detail = pilfer::detail;

[[nodiscard]] bool asleep(detail::pool_core& core, unsigned worker) {
    return !core.idle().is_running(worker) && !core.idle().is_searching(worker);
}

class checked_pool : public guarded {
protected:
    /// The end of a program that does `harm` to a pool at rest.
    static void expect_stopped(const char* text, const std::function<void(detail::pool_core&)>& harm) {
        const auto result = in_child([&] {
            pilfer::pool pool(workers(2));
            const std::uint64_t n = pool.run([] { return fib_spawn(8) + fib_fork(8) + fib_join(8); });
            detail::pool_core& core = pool.core();
            while (!asleep(core, 0) || !asleep(core, 1)) { // counters have one writer each
                std::this_thread::yield();
            }
            harm(core);
            pool.shutdown();
            return n == 3 * fib(8) ? 0 : 1;
        });
        if (!detail::checked_build) {
            EXPECT_TRUE(result.exited_with(0)) << result;
            EXPECT_EQ(result.output, "");
            return;
        }
        EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
        EXPECT_TRUE(result.said(text)) << result;
        EXPECT_TRUE(result.said("pilfer: check failed: ")) << result;
    }
};

TEST_F(checked_pool, a_correct_pool_ends_without_a_message) {
    const auto result = in_child([] {
        pilfer::pool pool(workers(3));
        return pool.run([] { return fib_spawn(10) + fib_fork(10) + fib_join(10); }) == 3 * fib(10) ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
    EXPECT_EQ(result.output, "");
}

TEST_F(checked_pool, counts_exactly_without_the_option) {
    pilfer::pool pool(workers(1));
    pool.run([] { (void)pilfer::join([] {}, [] {}, [] {}); });
    EXPECT_EQ(pool.settings().debug.count_all, detail::checked_build);
    EXPECT_EQ(pool.counters().announced, detail::checked_build ? 2U : 0U);
}

TEST_F(checked_pool, a_task_that_was_announced_and_never_run) {
    expect_stopped("announced, taken: ", [](auto& core) { core.at(0).count.announced.add(); });
}

TEST_F(checked_pool, a_task_that_was_taken_twice) {
    expect_stopped("announced, taken: ", [](auto& core) { core.at(1).count.run_stolen.add(); });
    expect_stopped("announced, taken: ", [](auto& core) { core.at(1).count.run_inline.add(); });
}

TEST_F(checked_pool, a_submission_that_ran_twice) {
    expect_stopped("accepted submissions, those run or dropped: 1, 2",
                   [](auto& core) { core.at(0).count.run_submitted.add(); });
}

TEST_F(checked_pool, a_frame_that_waits_for_ever) {
    expect_stopped("suspended, resumed: ", [](auto& core) { core.at(0).count.suspends.add(); });
}

TEST_F(checked_pool, a_theft_without_an_outcome) {
    expect_stopped("steals tried, their outcomes: ", [](auto& core) { core.at(0).count.steals_tried.add(); });
}

TEST_F(checked_pool, a_context_that_was_not_returned) {
    expect_stopped("contexts alive, given back: ", [](auto& core) { (void)core.stacks.take(1); });
}

TEST_F(checked_pool, a_record_that_was_not_returned) {
    expect_stopped("small records made, given back: ", [](auto& core) { (void)core.records.take(0); });
    expect_stopped("large records made, given back: ", [](auto& core) { (void)core.records.take(1); });
}

TEST_F(checked_pool, a_context_that_is_left_runnable) {
    static detail::suspension lost;
    const auto result = in_child([] {
        pilfer::pool pool(workers(1));
        pool.run([] {});
        pool.shutdown();
        if (!detail::checked_build) {
            return 0;
        }
        // The threads are gone: a context that is put there now stays.
        pool.core().runnable.push(&lost);
        detail::check_end(pool.core());
        return 1;
    });
    if (detail::checked_build) {
        EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
        EXPECT_TRUE(result.said("no context is left runnable")) << result;
    }
}

TEST_F(checked_pool, a_context_that_is_returned_twice) {
    expect_stopped("a context becomes pooled that was pooled and not cached", [](auto& core) {
        if (detail::checked_build) { // elsewhere the pool would really have it twice
            detail::context* c = core.stacks.take(1);
            core.stacks.give(c);
            c->next.store(0);
            core.stacks.give(c);
        }
    });
}

TEST_F(checked_pool, a_context_that_two_workers_resume) {
    expect_stopped("a context becomes running that was running and not suspended", [](auto& core) {
        if (detail::checked_build) {
            detail::context* c = core.stacks.take(1);
            c->change(detail::context_state::cached, detail::context_state::running);
            c->change(detail::context_state::running, detail::context_state::suspended);
            c->change(detail::context_state::suspended, detail::context_state::running);
            c->change(detail::context_state::suspended, detail::context_state::running);
        }
    });
}

TEST_F(checked_pool, a_std_mutex_held_across_a_wait) {
    const auto waits = [](const std::function<void()>& wait) {
        return in_child([&] {
            pilfer::pool pool(workers(2));
            pool.run([&] {
                std::mutex outer;
                std::mutex inner;
                const pilfer::checked_lock first(outer);
                {
                    const pilfer::checked_lock second(inner); // released before the wait
                }
                wait();
            });
            return 0;
        });
    };
    const auto judge = [](const child_result& result, const char* what) {
        if (!detail::checked_build) {
            EXPECT_TRUE(result.exited_with(0)) << result;
            return;
        }
        EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
        EXPECT_TRUE(result.said(what)) << result;
        EXPECT_TRUE(result.said("while it holds the lock that it took at ")) << result;
        EXPECT_TRUE(result.said("checked_test.cpp:")) << result;
    };
    judge(waits([] { pilfer::sleep_for(std::chrono::milliseconds(1)); }), "a task waits for a time");
    judge(waits([] { pilfer::yield(); }), "a task waits for its turn");
    // No report if the task does not wait, or for threads that are no workers.
    EXPECT_TRUE(waits([] {}).exited_with(0));
    std::mutex foreign;
    const pilfer::checked_lock lock(foreign);
    pilfer::sleep_for(std::chrono::microseconds(1));
}

} // namespace
