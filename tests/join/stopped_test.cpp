// A branch of a join that runs on another worker is stopped when the joining frame throws.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class stolen_sibling : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};

    static void until(const std::atomic<bool>& holds) {
        while (!holds) {
            std::this_thread::yield();
        }
    }
};
INSTANTIATE_TEST_SUITE_P(workers, stolen_sibling, testing::Values(2U, 3U, 8U, 64U));

TEST_P(stolen_sibling, a_waiting_task_leaves_its_wait) {
    std::atomic<bool> stolen{false};
    std::atomic<bool> left{false};
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             until(stolen);
                             throw std::out_of_range("first");
                         },
                         [&] {
                             struct tells {
                                 std::atomic<bool>& it;
                                 ~tells() { it = true; }
                             };
                             const tells at_end{left};
                             stolen = true;
                             pilfer::event never;
                             never.wait();
                             ADD_FAILURE() << "not stopped";
                         }),
                     std::out_of_range);
        EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
        EXPECT_TRUE(left);
        EXPECT_FALSE(pilfer::cancelled());
    });
    EXPECT_EQ(pool.counters().exceptions_suppressed, 0U);
}

// With all its descendants: children, branches, a scope of its own that waits.
TEST_P(stolen_sibling, is_cancelled_with_its_descendants) {
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        std::atomic<int> begun{0};
        std::atomic<bool> go_on{false};
        std::atomic<int> left{0};
        pool.run([&] {
            EXPECT_THROW((void)pilfer::join(
                             [&] {
                                 until(go_on);
                                 throw std::out_of_range("first");
                             },
                             [&] {
                                 pilfer::scope s;
                                 for (int i = 0; i < 3; ++i) {
                                     s.spawn([&] {
                                         ++begun;
                                         try {
                                             pilfer::sleep_for(1h);
                                         } catch (const pilfer::stopped&) {
                                             ++left;
                                             throw;
                                         }
                                     });
                                 }
                                 while (begun < 3) { // a thief may be ahead of a child
                                     std::this_thread::yield();
                                 }
                                 go_on = true;
                                 s.sync();
                                 ADD_FAILURE() << "not stopped";
                             }),
                         std::out_of_range);
            EXPECT_FALSE(pilfer::cancelled());
        });
        ASSERT_EQ(left, 3);
    }
}

TEST_P(stolen_sibling, sees_the_cancellation_while_it_computes) {
    std::atomic<bool> stolen{false};
    std::atomic<bool> nested{false};
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             until(stolen);
                             throw std::out_of_range("first");
                         },
                         [&] {
                             stolen = true;
                             while (!pilfer::cancelled()) {
                                 std::this_thread::yield();
                             }
                             (void)pilfer::join([] {}, [] {});
                             nested = true;
                         }),
                     std::out_of_range);
    });
    EXPECT_FALSE(nested);
}

// An exception on its way out is counted as usual.
TEST_P(stolen_sibling, has_its_own_error_suppressed) {
    std::atomic<bool> stolen{false};
    pool.run([&] {
        try {
            (void)pilfer::join(
                [&] {
                    until(stolen);
                    throw std::out_of_range("first");
                },
                [&] {
                    stolen = true;
                    while (!pilfer::cancelled()) {
                        std::this_thread::yield();
                    }
                    throw std::runtime_error("second");
                });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::out_of_range&) {
            EXPECT_EQ(pilfer::suppressed_exceptions(), 1U);
        }
    });
}

// Those that enclose the join, and their other branches, are not.
TEST_P(stolen_sibling, does_not_stop_tasks_outside_the_join) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "three functions run at once on three workers";
    }
    std::atomic<bool> other{false};
    std::atomic<bool> stolen{false};
    std::atomic<bool> caught{false};
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            (void)pilfer::join(
                [&] {
                    EXPECT_THROW((void)pilfer::join(
                                     [&] {
                                         until(stolen);
                                         until(other);
                                         throw std::out_of_range("first");
                                     },
                                     [&] {
                                         stolen = true;
                                         pilfer::sleep_for(1h);
                                     }),
                                 std::out_of_range);
                    EXPECT_FALSE(pilfer::cancelled());
                    caught = true;
                },
                [&] {
                    other = true;
                    until(caught);
                    EXPECT_FALSE(pilfer::cancelled());
                    EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
                });
        });
        s.sync();
        EXPECT_FALSE(s.cancelled());
    });
}

// A branch that was announced under a lock finishes first.
TEST_P(stolen_sibling, is_not_stopped_while_it_holds_a_lock) {
    std::atomic<bool> stolen{false};
    std::atomic<bool> thrown{false};
    std::atomic<bool> finished{false};
    pilfer::mutex m;
    pool.run([&] {
        const std::lock_guard guard(m);
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             until(stolen);
                             thrown = true;
                             throw std::out_of_range("first");
                         },
                         [&] {
                             stolen = true;
                             until(thrown);
                             for (int i = 0; i < 10; ++i) {
                                 pilfer::sleep_for(1us);
                             }
                             finished = !pilfer::cancelled();
                         }),
                     std::out_of_range);
    });
    EXPECT_TRUE(finished);
}

TEST(watchdog_of_a_test, begins_again) {
    const support::watchdog limit{support::patience};
    constexpr unsigned rest = support::patience / 2; // as if half of the time had passed
    alarm(rest);
    limit.restart();
    EXPECT_GT(alarm(0), rest);
}

// When the error arrives, a branch may not have begun, run, have ended or be still in the deque. It runs at
// most once, the error is that of the first function, and no task is stopped afterwards.
TEST_P(stolen_sibling, runs_once_at_most_at_any_moment_of_the_failure) {
    std::atomic<std::uint64_t> ran{0};
    // Beside other programs a yield takes as long as they like.
    const auto end = std::chrono::steady_clock::now() + 8s;
    for (std::uint64_t round = 0;
         round < support::hundredth_of(200'000) && (round < 64 || std::chrono::steady_clock::now() < end);
         ++round) {
        limit.restart(); // each of the 64 rounds may be slow
        ran = 0;
        pool.run([&] {
            EXPECT_THROW((void)pilfer::join(
                             [&] {
                                 for (std::uint64_t i = 0; i < round % 64; ++i) {
                                     std::this_thread::yield();
                                 }
                                 throw std::out_of_range("first");
                             },
                             [&] {
                                 ++ran;
                                 for (std::uint64_t i = 0; i < round % 7; ++i) {
                                     (void)pilfer::join([] { pilfer::yield(); }, [] {});
                                 }
                             },
                             [&] { ++ran; }),
                         std::out_of_range);
            EXPECT_FALSE(pilfer::cancelled());
            pilfer::sleep_for(0s);
        });
        ASSERT_LE(ran, 2U);
    }
}

} // namespace
