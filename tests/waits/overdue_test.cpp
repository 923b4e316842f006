// The checked build stops a program in which a ready task grows old beside a worker that sleeps.
#include <chrono>
#include <string>
#include <thread>
#include <tuple>

#include "support/child.hpp"
#include "waits/told_nobody.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

/// How many workers, and whether the owner of the task is blocked in the system or computes.
class row_B8_overdue : public ::testing::TestWithParam<std::tuple<unsigned, bool>> {
    watchdog m_watchdog{patience};
};

TEST_P(row_B8_overdue, a_task_that_nobody_was_told_of_stops_the_program) {
    const unsigned n = std::get<0>(GetParam());
    const bool blocked = std::get<1>(GetParam());
    const auto result = in_child([n, blocked] {
        pilfer::pool pool(workers(n));
        return pool.run([blocked] {
            wait_until_others_sleep();
            told_nobody task;
            task.push();
            // The watch counts no time in which others have the CPUs: on a busy machine its 10 ms take
            // longer, but they add up, so this goes on until it, or the watchdog of this child, ends the
            // program.
            do {
                if (blocked) {
                    std::this_thread::sleep_for(1ms);
                }
            } while (pilfer::detail::checked_build && !task.ran);
            pilfer::scope s;
            while (!task.ran) { // what is announced next wakes the others, who take both
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

INSTANTIATE_TEST_SUITE_P(workers, row_B8_overdue,
                         ::testing::Combine(::testing::Values(2U, 3U, 8U), ::testing::Bool()),
                         [](const auto& of) {
                             return std::to_string(std::get<0>(of.param)) +
                                    (std::get<1>(of.param) ? "_blocked" : "_computing");
                         });

} // namespace
