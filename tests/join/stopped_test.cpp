// A branch of a join that runs on another worker is stopped where the frame that joins throws: row A7.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class row_A7_stolen : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};

    static void until(const std::atomic<bool>& holds) {
        while (!holds) {
            std::this_thread::yield();
        }
    }
};
INSTANTIATE_TEST_SUITE_P(workers, row_A7_stolen, testing::Values(2U, 3U, 8U, 64U));

TEST_P(row_A7_stolen, leaves_its_wait) {
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

// With all that is below of it: children, branches, a scope of its own that waits.
TEST_P(row_A7_stolen, with_what_is_below_of_it) {
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

TEST_P(row_A7_stolen, who_computes_sees_it) {
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

// What it throws on its way out is counted as ever.
TEST_P(row_A7_stolen, another_error_is_suppressed) {
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
TEST_P(row_A7_stolen, nothing_outside_is_stopped) {
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
TEST_P(row_A7_stolen, not_where_a_lock_is_held) {
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

// Whether a branch has begun, runs, has ended or was never taken as the error arrives: it runs at most once,
// the error is that of the first, and behind it nobody is stopped.
TEST_P(row_A7_stolen, at_any_moment) {
    std::atomic<std::uint64_t> ran{0};
    for (std::uint64_t round = 0; round < support::hundredth_of(200'000); ++round) {
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
