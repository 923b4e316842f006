// The checked build stops a program in which a ready task grows old beside a worker that sleeps.
#include <chrono>
#include <string>
#include <thread>
#include <tuple>

#include "support/child.hpp"
#include "waits/lost_wake_up.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

/// How many workers, and whether the owner of the task is blocked in the system or computes.
class overdue_task : public ::testing::TestWithParam<std::tuple<unsigned, bool>> {
    watchdog m_watchdog{patience};
};

TEST_P(overdue_task, a_task_whose_wake_up_was_lost_stops_the_program) {
    const unsigned n = std::get<0>(GetParam());
    const bool blocked = std::get<1>(GetParam());
    const auto result = in_child([n, blocked] {
        pilfer::pool pool(workers(n));
        return pool.run([blocked] {
            wait_until_others_sleep();
            lost_wake_up task;
            task.push();
            // The watch counts no time in which other processes have the CPUs. On a busy machine its 10 ms
            // take longer, but they add up. The loop therefore runs until the watch, or the watchdog of this
            // child, ends the program.
            do {
                if (blocked) {
                    std::this_thread::sleep_for(1ms);
                }
            } while (pilfer::detail::checked_build && !task.ran);
            pilfer::scope s;
            while (!task.ran) { // the next announcement wakes the others, which take both
                s.fork([] {});
                std::this_thread::sleep_for(20us);
            }
            return 0;
        });
    });
    if (!pilfer::detail::checked_build) {
        EXPECT_TRUE(result.exited_with(0)) << result;
        EXPECT_EQ(result.output, "");
        return;
    }
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("pilfer: check failed: a ready task of worker ")) << result;
    EXPECT_TRUE(result.said(" (0 shared, 1 private) lay there for 1")) << result;
    EXPECT_TRUE(result.said(" slept and nobody looked for work")) << result;
}

INSTANTIATE_TEST_SUITE_P(workers, overdue_task,
                         ::testing::Combine(::testing::Values(2U, 3U, 8U), ::testing::Bool()),
                         [](const auto& of) {
                             return std::to_string(std::get<0>(of.param)) +
                                    (std::get<1>(of.param) ? "_blocked" : "_computing");
                         });

} // namespace
