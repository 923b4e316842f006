// The settings that a pool makes of its options.
#include <stdexcept>
#include <string>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;

class number_of_workers : public guarded {};

TEST_F(number_of_workers, an_explicit_number_is_obeyed) {
    const auto before = thread_count();
    for (const unsigned n : {1U, 2U, 16U, 64U}) {
        pilfer::pool pool(workers(n));
        EXPECT_EQ(pool.workers(), n);
        EXPECT_EQ(pool.settings().workers, n);
        EXPECT_EQ(thread_count() - before, n);
    }
    EXPECT_TRUE(threads_become(before));
}

TEST_F(number_of_workers, the_environment_applies_without_an_option) {
    const auto result = in_child([] {
        setenv("PILFER_WORKERS", "5", 1);
        const auto before = thread_count();
        pilfer::pool automatic;
        const bool five = automatic.workers() == 5 && thread_count() - before == 5;
        pilfer::pool explicit_number(workers(3));
        return five && explicit_number.workers() == 3 && pilfer::pool::common().workers() == 5 ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(number_of_workers, a_wrong_environment_is_an_error) {
    for (const char* wrong : {"0", "4097", "-1", "two", "", "3x", " 3", "99999999999999999999"}) {
        const auto result = in_child([wrong] {
            setenv("PILFER_WORKERS", wrong, 1);
            try {
                const pilfer::pool pool;
            } catch (const std::invalid_argument& e) {
                return std::string(e.what()).find("PILFER_WORKERS") != std::string::npos ? 0 : 2;
            }
            return 1;
        });
        EXPECT_TRUE(result.exited_with(0)) << '"' << wrong << "\": " << result;
    }
}

TEST_F(number_of_workers, an_unused_scope_makes_no_pool) {
    const auto result = in_child([] {
        setenv("PILFER_WORKERS", "none", 1); // the common pool cannot be made
        const auto before = thread_count();
        {
            pilfer::scope unused;
            unused.sync();
            const pilfer::scope another;
        }
        if (thread_count() != before) {
            return 2;
        }
        try {
            pilfer::scope used;
            used.fork([] {});
        } catch (const std::invalid_argument&) {
            return 0;
        }
        return 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

TEST_F(number_of_workers, automatic_is_at_least_one_and_at_most_the_cpus) {
    const auto result = in_child([] {
        unsetenv("PILFER_WORKERS");
        const pilfer::pool pool;
        return pool.workers() >= 1 && pool.workers() <= std::max(1U, std::thread::hardware_concurrency()) ? 0
                                                                                                          : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// Wrong texts: tests/bad_input/process_test.cpp.
TEST_F(number_of_workers, the_environment_sets_stacks_without_an_option) {
    const std::pair<const char*, std::size_t> cases[] = {{"16384", 16'384},
                                                         {"16K", 16'384},
                                                         {"0016k", 16'384},
                                                         {"100001", 100'001},
                                                         {"1M", std::size_t{1} << 20},
                                                         {"2m", std::size_t{2} << 20},
                                                         {"512K", std::size_t{512} << 10},
                                                         {"1G", std::size_t{1} << 30},
                                                         {"1024M", std::size_t{1} << 30},
                                                         {"1073741824", std::size_t{1} << 30}};
    for (const auto& [text, bytes] : cases) {
        if (sanitized && bytes > std::size_t{1} << 20) {
            continue;
        }
        const auto result = in_child([word = text, wanted = bytes] {
            setenv("PILFER_STACK", word, 1);
            pilfer::pool automatic(workers(1));
            pilfer::options o = workers(1);
            o.stack_size = 32 * 1024;
            const pilfer::pool own(o);
            return automatic.settings().stack_size == wanted && own.settings().stack_size == 32 * 1024 &&
                           automatic.run([] { return fib_join(2); }) == 1
                       ? 0
                       : 1;
        });
        EXPECT_TRUE(result.exited_with(0)) << text << ": " << result;
    }
    const auto result = in_child([] {
        unsetenv("PILFER_STACK");
        return pilfer::pool(workers(1)).settings().stack_size == 256 * 1024 ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// It is there: half of it can be used, which the usual size has not got.
TEST_F(number_of_workers, a_stack_has_the_environments_size) {
    const auto result = in_child([] {
        setenv("PILFER_STACK", "8M", 1);
        pilfer::pool pool(workers(1));
        return pool.run([] {
            volatile char large[std::size_t{4} << 20];
            for (std::size_t i = sizeof large; i > 0; i -= 1024) {
                large[i - 1] = 1;
            }
            return large[sizeof large - 1] == 1 ? 0 : 1;
        });
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// Wrong values: tests/bad_input/options_test.cpp.
class bad_input_options : public guarded {};

TEST_F(bad_input_options, the_limits_themselves_are_accepted) {
    pilfer::options o = workers(1);
    o.stack_size = 16 * 1024;
    o.max_contexts = 1;
    {
        pilfer::pool pool(o);
        EXPECT_EQ(pool.run([] { return 5; }), 5);
    }
    o.stack_size = std::size_t{1} << 30;
    o.max_contexts = std::size_t{1} << 31;
    if (!sanitized) {
        pilfer::pool pool(o);
        EXPECT_EQ(pool.run([] { return 6; }), 6);
    }
}

class option_groups : public guarded {};

TEST_F(option_groups, a_pool_without_groups_has_their_defaults) {
    const pilfer::pool pool{{.workers = 2}};
    const pilfer::options& o = pool.settings();
    EXPECT_EQ(o.workers, 2U);
    EXPECT_EQ(o.balance.steal, pilfer::steal_amount::part(1, 4));
    EXPECT_EQ(o.balance.victim, pilfer::victim::random);
    EXPECT_EQ(o.balance.exposure, pilfer::exposure::on_demand);
    EXPECT_EQ(o.balance.unshare, pilfer::unshare::one);
    EXPECT_TRUE(o.debug.overflow_message);
    EXPECT_EQ(o.debug.stall_report, 10'000U);
    EXPECT_EQ(o.debug.dump_signal, 0);
    EXPECT_EQ(o.debug.trace_events, 0U);
    EXPECT_FALSE(o.debug.profile);
}

TEST_F(option_groups, balance_reaches_the_workers) {
    pilfer::pool pool{{.workers = 2,
                       .balance = {.steal = pilfer::steal_amount::half(),
                                   .victim = pilfer::victim::ring,
                                   .exposure = pilfer::exposure::always_public,
                                   .unshare = pilfer::unshare::all}}};
    const pilfer::balance_options& b = pool.settings().balance;
    EXPECT_EQ(b.steal, pilfer::steal_amount::half());
    EXPECT_EQ(b.victim, pilfer::victim::ring);
    EXPECT_EQ(b.exposure, pilfer::exposure::always_public);
    EXPECT_EQ(b.unshare, pilfer::unshare::all);
    EXPECT_EQ(pool.run([] { return fib_join(15); }), fib(15));
    EXPECT_GE(pool.counters().exposures, 100U) << "every announcement is public";
}

TEST_F(option_groups, debug_reaches_the_pool) {
    pilfer::pool pool{{.workers = 2, .debug = {.stall_report = 0, .count_all = true, .trace_events = 1'024}}};
    EXPECT_EQ(pool.settings().debug.stall_report, 0U);
    EXPECT_EQ(pool.settings().debug.trace_events, 1'024U);
    EXPECT_TRUE(pool.settings().debug.overflow_message) << "what a group does not name keeps its default";
    EXPECT_EQ(pool.run([] { return fib_join(15); }), fib(15));
    EXPECT_GE(pool.counters().announced, 100U) << "all tasks are counted";

    pilfer::pool recording{{.debug = {.profile = true}}};
    EXPECT_EQ(recording.workers(), 1U);
    EXPECT_EQ(recording.run([] { return fib_join(10); }), fib(10));
    EXPECT_GE(recording.profile().tasks, 10U);
}

TEST_F(option_groups, flat_members_and_groups_mix) {
    pilfer::pool pool{{.workers = 3,
                       .name = "mixed",
                       .balance = {.steal = pilfer::steal_amount::one()},
                       .debug = {.count_all = true}}};
    EXPECT_EQ(pool.workers(), 3U);
    EXPECT_EQ(pool.settings().name, "mixed");
    EXPECT_EQ(pool.settings().balance.steal, pilfer::steal_amount::one());
    EXPECT_TRUE(pool.settings().debug.count_all);
    EXPECT_EQ(pool.run([] { return fib_spawn(10); }), fib(10));
}

/// Every setting runs the same programs.
TEST_F(bad_input_options, every_combination_works) {
    for (const unsigned n : {1U, 2U, 5U}) {
        for (const auto exposure : {pilfer::exposure::on_demand, pilfer::exposure::always_public}) {
            for (const auto resume :
                 {pilfer::resume::anywhere, pilfer::resume::own_thread, pilfer::resume::elsewhere}) {
                for (const auto unshare : {pilfer::unshare::one, pilfer::unshare::all}) {
                    for (const bool count_all : {false, true}) {
                        pilfer::options o = workers(n);
                        o.balance.exposure = exposure;
                        o.resume = resume;
                        o.balance.unshare = unshare;
                        o.debug.count_all = count_all;
                        pilfer::pool pool(o);
                        EXPECT_EQ(pool.run([] { return fib_join(11); }), fib(11));
                        EXPECT_EQ(pool.run([] { return fib_spawn(10); }), fib(10));
                        EXPECT_EQ(pool.run([] { return fib_fork(10); }), fib(10));
                    }
                }
            }
        }
    }
}

} // namespace
