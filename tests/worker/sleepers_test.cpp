// options.max_contexts beside more waiting tasks than one stack has room for on top of each other.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include <pilfer/pilfer.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

enum class given { forked, submitted };

/// Workers, sleeping tasks, how they are given.
class few_contexts : public testing::TestWithParam<std::tuple<unsigned, unsigned, given>> {};

TEST_P(few_contexts, sleeping_tasks_do_not_overflow_a_stack) {
    const auto [workers, tasks, how] = GetParam();
    const watchdog dog(60);
    pilfer::pool pool({.workers = workers, .max_contexts = 1});
    std::atomic<unsigned> ended{0};
    const auto sleeper = [&ended] {
        pilfer::sleep_for(1ms);
        ended.fetch_add(1);
    };
    if (how == given::forked) {
        pool.run([&, n = tasks] {
            pilfer::scope s;
            for (unsigned i = 0; i < n; ++i) {
                s.fork(sleeper);
            }
            s.sync();
        });
    } else {
        for (unsigned i = 0; i < tasks; ++i) {
            pool.submit(sleeper);
        }
    }
    pool.shutdown();
    EXPECT_EQ(ended, tasks);
    EXPECT_LE(pool.counters().contexts_peak, workers + tasks / 4) << "most of them wait on top of others";
}

INSTANTIATE_TEST_SUITE_P(all, few_contexts,
                         testing::Combine(testing::Values(1U, 4U), testing::Values(1'000U, 10'000U),
                                          testing::Values(given::forked, given::submitted)),
                         [](const auto& one) {
                             return std::to_string(std::get<0>(one.param)) + "_workers_" +
                                    std::to_string(std::get<1>(one.param)) +
                                    (std::get<2>(one.param) == given::forked ? "_forked" : "_submitted");
                         });

} // namespace
