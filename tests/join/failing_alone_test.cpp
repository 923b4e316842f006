// A stolen branch of a join throws: who is not stopped by that, and races. Row A7.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "join/failing.hpp"

namespace {

using namespace std::chrono_literals;
using join_tests::broken;

class row_A7_failing_alone : public join_tests::failing {};
INSTANTIATE_TEST_SUITE_P(workers, row_A7_failing_alone, testing::Values(2U, 3U, 8U));

// What encloses the join is not: its scopes, their children, the other branch further out.
TEST_P(row_A7_failing_alone, nothing_outside_is_stopped) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "three functions run at once on three workers";
    }
    std::atomic<bool> begun{false};
    std::atomic<bool> caught{false};
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            begun = true;
            until(caught);
            EXPECT_FALSE(pilfer::cancelled());
            pilfer::sleep_for(1us);
        });
        EXPECT_THROW((void)pilfer::join(beside([&] {
                                            until(begun);
                                            go_on = true;
                                            pilfer::sleep_for(1h);
                                        }),
                                        fails()),
                     broken);
        EXPECT_FALSE(pilfer::cancelled());
        caught = true;
        s.spawn([] { pilfer::sleep_for(0s); });
        s.sync();
        EXPECT_FALSE(s.cancelled());
    });
}

// A child of a scope in the same frame as the join, older than that, sleeps while another branch fails.
TEST_P(row_A7_failing_alone, children_that_are_older_go_on) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "three functions run at once on three workers";
    }
    std::atomic<bool> asleep{false};
    pilfer::event wake;
    std::atomic<bool> woken{false};
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            asleep = true;
            wake.wait();
            woken = true;
        });
        EXPECT_THROW((void)pilfer::join(beside([&] {
                                            until(asleep);
                                            go_on = true;
                                            pilfer::sleep_for(1h);
                                        }),
                                        fails()),
                     broken);
        wake.set();
        s.sync();
    });
    EXPECT_TRUE(woken);
}

// Whoever runs on top of the frame, an async that it claims, is no part of it: not it, not its children.
TEST_P(row_A7_failing_alone, a_stranger_on_top_is_not_stopped) {
    std::atomic<bool> ended{false};
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(beside([&] {
                                            auto other = pilfer::async([&] {
                                                go_on = true;
                                                for (int i = 0; i < 1'000; ++i) {
                                                    EXPECT_FALSE(pilfer::cancelled());
                                                    (void)pilfer::join([] {}, [] {});
                                                    pilfer::scope s;
                                                    s.spawn([] { EXPECT_FALSE(pilfer::cancelled()); });
                                                    s.sync();
                                                }
                                                ended = true;
                                            });
                                            other.wait();
                                            pilfer::sleep_for(1h);
                                        }),
                                        fails()),
                     broken);
    });
    EXPECT_TRUE(ended);
}

// The other way round: a join of that stranger fails, and whoever waits beneath goes on, with its children.
TEST_P(row_A7_failing_alone, nor_whoever_waits_beneath) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "three functions run at once on three workers";
    }
    for (int round = 0; round < 20; ++round) {
        rearm();
        std::atomic<bool> asleep{false};
        std::atomic<bool> woken{false};
        pilfer::event wake;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                asleep = true;
                wake.wait();
                woken = true;
            });
            auto other = pilfer::async([&] {
                EXPECT_THROW((void)pilfer::join(beside([&] {
                                                    until(asleep);
                                                    go_on = true;
                                                    pilfer::sleep_for(1h);
                                                }),
                                                fails()),
                             broken);
            });
            other.get();
            EXPECT_FALSE(pilfer::cancelled());
            wake.set();
            s.sync();
        });
        EXPECT_TRUE(woken);
    }
}

// The same where the stranger runs on top because there is no stack for it: whoever sleeps beneath goes on to
// sleep.
TEST(row_A7_failing_on_top, nor_whoever_sleeps_beneath) {
    const support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = 2, .max_contexts = 2}};
    for (int round = 0; round < 20; ++round) {
        std::atomic<bool> stolen{false};
        std::atomic<bool> go_on{false};
        std::atomic<bool> busy{false};
        std::atomic<bool> on_top{false};
        pilfer::event wake;
        pilfer::future<void> waker;
        const auto beneath = [&] {
            while (!busy) {
                std::this_thread::yield();
            }
            auto other = pilfer::async([&] {
                on_top = true;
                EXPECT_THROW((void)pilfer::join(
                                 [&] {
                                     while (!stolen) {
                                         std::this_thread::yield();
                                     }
                                     go_on = true;
                                     while (!pilfer::cancelled()) {
                                         std::this_thread::yield();
                                     }
                                     (void)pilfer::join([] {}, [] {});
                                 },
                                 [&] {
                                     stolen = true;
                                     while (!go_on) {
                                         std::this_thread::yield();
                                     }
                                     throw broken();
                                 }),
                             broken);
                waker = pilfer::async([&] {
                    for (int i = 0; i < 1'000; ++i) { // long behind what ran on top
                        std::this_thread::yield();
                    }
                    wake.set();
                });
            });
            wake.wait();
            EXPECT_TRUE(wake.is_set());
            other.get();
            waker.get();
        };
        pool.run([&] { // the other stack is in use until that one has begun, on top
            (void)pilfer::join(beneath, [&] {
                busy = true;
                while (!on_top) {
                    std::this_thread::yield();
                }
            });
        });
    }
}

// Below of a scope that is itself below of a loop, whose other iterations go on.
TEST_P(row_A7_failing_alone, in_a_loop_that_goes_on) {
    std::atomic<int> ran{0};
    pool.run([&] {
        pilfer::for_each(0, 100, [&](int) {
            try {
                (void)pilfer::join(
                    [] {
                        for (int i = 0; i < 20; ++i) {
                            pilfer::scope s;
                            s.fork([] { pilfer::yield(); });
                            s.sync();
                        }
                    },
                    [] { throw broken(); });
                ADD_FAILURE() << "nothing was thrown";
            } catch (const broken&) {
                ++ran;
            }
        });
    });
    EXPECT_EQ(ran, 100);
}

// Who holds a lock finishes first: one taken before the join, and one taken in the part itself.
TEST_P(row_A7_failing_alone, a_holder_is_not_stopped) {
    pilfer::mutex m;
    std::atomic<bool> finished{false};
    pool.run([&] {
        const std::lock_guard guard(m);
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             until(stolen);
                             go_on = true;
                             for (int i = 0; i < 10; ++i) {
                                 pilfer::sleep_for(10us);
                                 pilfer::scope s;
                                 s.spawn([] { EXPECT_FALSE(pilfer::cancelled()); });
                                 s.sync();
                             }
                             finished = !pilfer::cancelled();
                         },
                         fails()),
                     broken);
    });
    EXPECT_TRUE(finished);
    rearm();
    std::atomic<bool> held{false};
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(beside([&] {
                                            {
                                                const std::lock_guard guard(m);
                                                go_on = true;
                                                for (int i = 0; i < 10; ++i) {
                                                    pilfer::sleep_for(10us);
                                                    EXPECT_FALSE(pilfer::cancelled());
                                                }
                                                held = true;
                                            }
                                            pilfer::sleep_for(1h);
                                        }),
                                        fails()),
                     broken);
    });
    EXPECT_TRUE(held);
}

// One that unwinds already does so to its end, and its error is the first at the frame.
TEST_P(row_A7_failing_alone, both_throw) {
    pool.run([&] {
        struct waits {
            std::atomic<bool>& at_last;
            ~waits() {
                at_last = true;
                pilfer::sleep_for(10us);
                pilfer::scope s;
                s.spawn([] {});
                EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
            }
        };
        try {
            (void)pilfer::join(
                [&] {
                    until(stolen);
                    const waits w{go_on};
                    throw std::out_of_range("first");
                },
                fails());
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::out_of_range&) {
            EXPECT_LE(pilfer::suppressed_exceptions(), 1U);
        }
    });
}

class row_A7_races : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, row_A7_races, testing::Values(1U, 2U, 3U, 8U));

// A branch fails at any moment of the other one, which throws itself or not: an error goes out, the other is
// counted, and behind it nobody is stopped.
TEST_P(row_A7_races, failing_and_throwing) {
    for (std::uint64_t round = 0; round < support::hundredth_of(1'000'000); ++round) {
        const bool throws = round % 3 == 0;
        const auto spin = [](std::uint64_t n) {
            for (std::uint64_t i = 0; i < n; ++i) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
        };
        bool failed = false;
        pool.run([&] {
            try {
                (void)pilfer::join(
                    [&] {
                        spin(round % 1'000);
                        for (std::uint64_t i = 0; i < round % 5; ++i) {
                            pilfer::scope s;
                            s.spawn([] { pilfer::yield(); });
                            (void)pilfer::join([] { pilfer::yield(); }, [] {});
                            s.sync();
                        }
                        if (throws) {
                            throw std::out_of_range("first");
                        }
                    },
                    [&] {
                        spin(round % 777);
                        throw broken();
                    });
            } catch (const std::out_of_range&) {
                failed = throws;
            } catch (const broken&) {
                failed = true;
            }
            EXPECT_FALSE(pilfer::cancelled());
            pilfer::sleep_for(0s);
        });
        ASSERT_TRUE(failed);
    }
    pool.run([] { EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2)); });
}

// Many at once, more than are told: all end, with an error.
TEST_P(row_A7_races, joins_of_many) {
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        pool.run([&] {
            std::atomic<int> errors{0};
            pilfer::scope s;
            for (int i = 0; i < 100; ++i) {
                s.spawn([&] {
                    try {
                        (void)pilfer::join([] { pilfer::yield(); }, [] { throw broken(); });
                    } catch (const broken&) {
                        ++errors;
                    }
                });
            }
            s.sync();
            EXPECT_EQ(errors, 100);
            EXPECT_FALSE(pilfer::cancelled());
        });
    }
}

} // namespace
