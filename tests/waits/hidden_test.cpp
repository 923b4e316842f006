// The watch for ready tasks beside sleepers: it sees a task whose wake-up was lost, and nothing if all is
// well.
#include "observe/hidden.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "support/harness.hpp"
#include "waits/lost_wake_up.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::detail::hidden_watch;

class hidden_task_watch : public ::testing::TestWithParam<unsigned> {
    watchdog m_watchdog{patience};
};

TEST_P(hidden_task_watch, sees_a_task_whose_wake_up_was_lost) {
    if (pilfer::detail::checked_build) {
        GTEST_SKIP() << "a checked pool stops the program itself: overdue_test.cpp";
    }
    pilfer::pool pool(workers(GetParam()));
    for (const bool blocked : {false, true}) { // the owner: inside a call of the system, or computing
        hidden_watch watch;
        std::atomic<bool> pushed{false};
        std::atomic<bool> seen{false};
        auto owner = pool.async([&] {
            wait_until_others_sleep();
            lost_wake_up task;
            task.push();
            pushed = true;
            while (!seen) {
                if (blocked) {
                    std::this_thread::sleep_for(1ms);
                }
            }
            // The next announcement wakes the others, which take both.
            pilfer::scope s;
            std::atomic<bool> second{false};
            s.fork([&] { second = true; });
            while (!task.ran || !second) {
                std::this_thread::sleep_for(20us);
            }
        });
        const auto begin = std::chrono::steady_clock::now();
        bool quiet = true;
        while (!seen) {
            if (std::chrono::steady_clock::now() - begin > 12s) {
                quiet = false; // the watch counts no time in which others have the CPUs
                seen = true;
            } else if (const auto hidden = watch.look()) {
                EXPECT_TRUE(pushed);
                EXPECT_GT(hidden->microseconds, 10'000U);
                EXPECT_NE(hidden->owner, hidden->sleeper);
                EXPECT_NE(hidden->text().find("lay there for"), std::string::npos);
                seen = true;
            }
            std::this_thread::sleep_for(1ms);
        }
        owner.get();
        if (!quiet) {
            GTEST_SKIP() << "in 12 s there were no 10 ms in which this machine had nothing else to do";
        }
    }
}

INSTANTIATE_TEST_SUITE_P(workers, hidden_task_watch, ::testing::Values(2U, 3U, 8U),
                         ::testing::PrintToStringParamName());

/// Bursts, so that workers lie down and are woken all the time, and long tasks whose children stay private.
class no_hidden_task : public over_workers {};

TEST_P(no_hidden_task, no_ready_task_is_old_beside_a_sleeper) {
    pilfer::pool pool(with_workers());
    std::atomic<bool> over{false};
    std::optional<pilfer::detail::hidden_task> worst;
    std::atomic<std::uint64_t> looks{0};
    std::thread watcher([&] {
        hidden_watch watch;
        do {
            if (auto hidden = watch.look(); hidden && !worst) {
                worst = hidden;
            }
            looks = watch.looks();
            std::this_thread::sleep_for(1ms);
        } while (!over);
    });
    while (looks == 0) { // on a machine that is busy the work would be over before the first one
        std::this_thread::sleep_for(100us);
    }
    for (unsigned round = 0; round < 30; ++round) {
        pool.run([&] {
            std::atomic<bool> ran{GetParam() == 1};
            pilfer::scope s;
            s.fork([&] {
                (void)fib_spawn(8);
                ran = true;
            });
            while (!ran) { // a long task that looks at nothing
                std::this_thread::sleep_for(20us);
            }
            (void)fib_join(12);
            s.sync();
        });
        std::this_thread::sleep_for(std::chrono::microseconds(round * 40));
    }
    over = true;
    watcher.join();
    EXPECT_FALSE(worst.has_value()) << worst->text();
}

PILFER_OVER_WORKERS(no_hidden_task);

} // namespace
