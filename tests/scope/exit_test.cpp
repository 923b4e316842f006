// first_result_scope: one winner, the end of the losing tasks, and the protection of the winner.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "support/harness.hpp"

namespace {

class exits : public testing::TestWithParam<unsigned> {
protected:
    pilfer::pool pool{{.workers = GetParam()}};
    const std::uint64_t rounds = support::hundredth_of(10'000);
};
INSTANTIATE_TEST_SUITE_P(workers, exits, testing::Values(1U, 2U, 3U, 8U));

/// Goes on until the task is stopped.
[[noreturn]] void work_for_ever() {
    for (;;) {
        (void)pilfer::join([] {}, [] {});
        pilfer::yield();
    }
}

TEST_P(exits, one_winner) {
    pool.run([&] {
        pilfer::first_result_scope<int> s;
        for (std::uint64_t round = 0; round < 10 * rounds; ++round) {
            std::atomic<int> winner{-1};
            std::atomic<int> winners{0};
            for (int i = 0; i < 4; ++i) {
                const auto race = [&, i] {
                    if (s.exit([i] { return i; })) {
                        ++winners;
                        winner = i;
                    }
                };
                i % 2 == 0 ? s.fork(race) : s.spawn(race);
            }
            const std::optional<int> value = s.sync();
            ASSERT_TRUE(value.has_value());
            ASSERT_EQ(winners, 1);
            ASSERT_EQ(*value, winner);
        }
        EXPECT_FALSE(s.sync().has_value());
    });
}

TEST_P(exits, losing_tasks_leave) {
    pool.run([&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::atomic<int> begun{0};
            std::atomic<int> left{0};
            struct at_end {
                std::atomic<int>& n;
                ~at_end() { ++n; }
            };
            pilfer::first_result_scope<std::unique_ptr<int>> s;
            for (int i = 0; i < 3; ++i) {
                s.fork([&] {
                    const at_end at{left};
                    ++begun;
                    work_for_ever();
                });
            }
            s.fork([&] { // by a task two scopes further in
                pilfer::scope below;
                below.spawn([&] { EXPECT_TRUE(s.exit_value(std::make_unique<int>(7))); });
                below.sync();
                ADD_FAILURE() << "the task that exits is not stopped behind it";
            });
            const auto value = s.sync();
            ASSERT_TRUE(value.has_value() && *value != nullptr);
            EXPECT_EQ(**value, 7);
            EXPECT_EQ(begun, left);
        }
    });
}

TEST_P(exits, without_a_value_and_with_exceptions) {
    pool.run([&] {
        pilfer::first_result_scope<int> s;
        s.spawn([] {});
        EXPECT_FALSE(s.sync().has_value());
        s.spawn([&] { (void)s.exit([]() -> int { throw std::runtime_error("no value"); }); });
        EXPECT_THROW((void)s.sync(), std::runtime_error);
        s.cancel();
        EXPECT_FALSE(s.exit_value(1));
        EXPECT_FALSE(s.sync().has_value());
        EXPECT_TRUE(s.exit_value(2)); // by the owner
        EXPECT_FALSE(s.exit_value(3));
        EXPECT_EQ(s.sync(), 2);
    });
}

// A child has failed, so sync() throws: a value would be lost, and is not made.
TEST_P(exits, a_failed_child_refuses_the_exit) {
    pool.run([&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            pilfer::first_result_scope<int> s;
            std::atomic<int> refused{0};
            const auto exits_late = [&] {
                while (!pilfer::cancelled()) {
                    std::this_thread::yield();
                }
                EXPECT_FALSE(s.exit([]() -> int {
                    ADD_FAILURE() << "a value of a scope that has failed was made";
                    return 1;
                }));
                ++refused;
                EXPECT_THROW(work_for_ever(), pilfer::stopped) << "its caller is stopped as ever";
            };
            const bool beside = GetParam() > 1 && round % 2 == 0;
            std::atomic<bool> begun{false};
            if (beside) {
                s.fork([&] {
                    begun = true;
                    exits_late();
                });
            }
            s.spawn([&] {
                while (beside && !begun) {
                    pilfer::yield();
                }
                throw std::logic_error("the first one");
            });
            while (beside && refused == 0) { // else the rest may have been stolen, and come first
                pilfer::yield();
            }
            if (beside || GetParam() == 1) {
                EXPECT_FALSE(s.exit_value(2)) << "by the owner";
            }
            EXPECT_THROW((void)s.sync(), std::logic_error);
            EXPECT_EQ(refused, beside ? 1 : 0);
            s.spawn([&] { EXPECT_TRUE(s.exit_value(3)); });
            ASSERT_EQ(s.sync(), 3) << "the next round";
        }
    });
}

// The value spawns children, and opens a nested scope, whose child is stolen if there is a thief.
TEST_P(exits, scopes_and_children_of_the_value_run) {
    pool.run([&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            pilfer::first_result_scope<int> s;
            s.fork([] { work_for_ever(); });
            s.fork([&] {
                pilfer::scope between; // cancelled by the other task
                between.fork([] { work_for_ever(); });
                between.spawn([&] {
                    (void)s.exit([&] {
                        std::atomic<int> ran{0};
                        pilfer::scope own;
                        for (int i = 0; i < 10; ++i) {
                            own.spawn([&] { ++ran; });
                            own.fork([&] {
                                pilfer::scope nested;
                                nested.fork([&] {
                                    pilfer::yield();
                                    EXPECT_FALSE(pilfer::cancelled());
                                    (void)pilfer::join([&] { ++ran; }, [&] { ++ran; });
                                });
                                nested.sync();
                            });
                        }
                        own.sync();
                        return ran.load();
                    });
                });
                between.sync();
            });
            ASSERT_EQ(s.sync(), 30);
        }
    });
}

// (c) meanwhile an outer scope exits elsewhere.
TEST_P(exits, an_outer_exit_ends_the_protection) {
    pool.run([&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::atomic<bool> making{false};
            pilfer::first_result_scope<int> outer;
            outer.fork([&] {
                pilfer::first_result_scope<int> inner;
                inner.fork([&] {
                    (void)inner.exit([&]() -> int {
                        making = true;
                        work_for_ever();
                    });
                    ADD_FAILURE() << "the value of a stopped exit was made";
                });
                (void)inner.sync();
                ADD_FAILURE() << "the sync of a stopped owner returned";
            });
            outer.fork([&] {
                while (!making) {
                    pilfer::yield();
                }
                EXPECT_TRUE(outer.exit_value(5));
            });
            ASSERT_EQ(outer.sync(), 5);
        }
    });
}

// (d) another first_result_scope exits inside the protected code, by a child.
TEST_P(exits, an_inner_exit_works) {
    pool.run([&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            pilfer::first_result_scope<int> s;
            s.fork([] { work_for_ever(); });
            s.fork([&] {
                (void)s.exit([] {
                    pilfer::first_result_scope<int> inner;
                    inner.fork([] { work_for_ever(); });
                    inner.fork([&] { EXPECT_TRUE(inner.exit([] { return 1; })); });
                    const auto value = inner.sync();
                    EXPECT_FALSE(pilfer::cancelled());
                    std::atomic<int> after{0};
                    pilfer::scope still;
                    still.spawn([&] { ++after; });
                    still.sync();
                    return *value + after;
                });
            });
            ASSERT_EQ(s.sync(), 2);
        }
    });
}

// A second exit of a scope returns false, and its task leaves. Also by the exiting task itself.
TEST_P(exits, a_second_exit_is_refused) {
    pool.run([&] {
        for (std::uint64_t round = 0; round < rounds; ++round) {
            std::atomic<bool> claimed{false};
            pilfer::first_result_scope<int> s;
            s.fork([&] {
                while (!claimed) {
                    pilfer::yield();
                }
                EXPECT_FALSE(s.exit_value(2));
                work_for_ever();
            });
            s.fork([&] {
                (void)s.exit([&] {
                    claimed = true;
                    EXPECT_FALSE(s.exit_value(3));
                    pilfer::scope own;
                    own.spawn([] {});
                    own.sync();
                    return 1;
                });
            });
            ASSERT_EQ(s.sync(), 1);
        }
    });
}

} // namespace
