// The first exception of a child cancels its siblings.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <thread>
#include <tuple>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class siblings_of_a_failed_child : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, siblings_of_a_failed_child, testing::Values(1U, 2U, 3U, 8U));

struct position_error {
    int position;
};

/// Waits for an event that is never set, so that only a cancellation ends the child early.
void wait_to_be_stopped() {
    pilfer::event never;
    EXPECT_FALSE(never.wait_for(60s)) << "nobody sets it";
    ADD_FAILURE() << "not stopped";
}

// Children before the one that throws wait, and leave. Later ones never start.
TEST_P(siblings_of_a_failed_child, leave_for_every_position_and_kind_of_the_failure) {
    for (int bad = 0; bad < 8; ++bad) {
        for (const bool forked : {false, true}) {
            std::atomic<int> waiting{0};
            std::atomic<int> left{0};
            struct counts {
                std::atomic<int>& n;
                ~counts() { ++n; }
            };
            int caught = -1;
            pool.run([&] {
                pilfer::scope s;
                try {
                    for (int i = 0; i < 8; ++i) {
                        const auto f = [&, i] {
                            if (i != bad) {
                                const counts guard{left};
                                ++waiting;
                                wait_to_be_stopped();
                                return;
                            }
                            // A forked one may start first, and then no other starts.
                            while (!forked && waiting < bad) {
                                pilfer::yield();
                            }
                            throw position_error{i};
                        };
                        if (forked) {
                            s.fork(f);
                        } else {
                            s.spawn(f);
                        }
                    }
                    s.sync();
                    ADD_FAILURE() << "nothing was thrown";
                } catch (const position_error& e) {
                    caught = e.position;
                    EXPECT_EQ(s.suppressed(), 0U) << "stopped was counted";
                    EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
                }
                EXPECT_FALSE(s.cancelled());
                EXPECT_EQ(left, waiting);
                bool again = false;
                s.spawn([&] { again = !pilfer::cancelled(); });
                s.sync();
                EXPECT_TRUE(again) << "the next children are stopped, too";
            });
            EXPECT_EQ(caught, bad);
            if (!forked && GetParam() == 1) {
                EXPECT_EQ(waiting, bad);
            }
        }
    }
    EXPECT_EQ(pool.counters().exceptions_suppressed, 0U);
}

// The one that throws was stolen, or its siblings were.
TEST_P(siblings_of_a_failed_child, leave_on_other_workers) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    for (std::uint64_t round = 0; round < support::hundredth_of(2'000); ++round) {
        for (const bool thief_throws : {false, true}) {
            std::atomic<int> inside{0};
            pool.run([&] {
                pilfer::scope s;
                s.fork([&] {
                    ++inside;
                    while (inside < 2) {
                        std::this_thread::yield();
                    }
                    if (thief_throws) {
                        throw position_error{1};
                    }
                    wait_to_be_stopped();
                });
                s.spawn([&] {
                    ++inside;
                    pilfer::scope own;
                    while (inside < 2) {
                        own.spawn([] {}); // announces, so that a request is answered
                    }
                    if (!thief_throws) {
                        throw position_error{2};
                    }
                    own.fork([] { wait_to_be_stopped(); });
                    own.sync();
                    ADD_FAILURE() << "a sync of a stopped task returned";
                });
                EXPECT_THROW(s.sync(), position_error);
                EXPECT_EQ(s.suppressed(), 0U);
            });
        }
    }
}

TEST_P(siblings_of_a_failed_child, see_the_failure_at_spawn_join_loops_and_cancelled) {
    if (GetParam() < 2) {
        GTEST_SKIP() << "needs a second worker";
    }
    for (int kind = 0; kind < 4; ++kind) {
        std::atomic<bool> runs{false};
        pool.run([&] {
            pilfer::scope s;
            s.fork([&] {
                runs = true;
                const auto end = std::chrono::steady_clock::now() + 60s;
                while (std::chrono::steady_clock::now() < end) {
                    if (kind == 0 && pilfer::cancelled()) {
                        return;
                    }
                    if (kind == 1) {
                        pilfer::scope own;
                        own.spawn([] {});
                        own.sync();
                    } else if (kind == 2) {
                        (void)pilfer::join([] {}, [] {});
                    } else if (kind == 3) {
                        pilfer::for_each(0, 10, [](int) {});
                    }
                }
                ADD_FAILURE() << "not stopped";
            });
            s.spawn([&] {
                pilfer::scope own;
                while (!runs) {
                    own.spawn([] {});
                }
                throw position_error{0};
            });
            EXPECT_THROW(s.sync(), position_error);
            EXPECT_EQ(s.suppressed(), 0U);
        });
    }
}

TEST_P(siblings_of_a_failed_child, throw_or_leave_if_there_are_sixty_four) {
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        std::atomic<unsigned> threw{0};
        std::uint64_t suppressed = 0;
        pool.run([&] {
            pilfer::scope s;
            try {
                for (int i = 0; i < 64; ++i) {
                    const auto f = [&, i] {
                        if (i % 3 == 0) {
                            wait_to_be_stopped(); // the first of all, so that one task waits
                        }
                        if (i % 3 == 1) {
                            pilfer::yield();
                        }
                        ++threw;
                        throw position_error{i};
                    };
                    if (i % 2 == 0) {
                        s.spawn(f);
                    } else {
                        s.fork(f);
                    }
                }
                s.sync();
                ADD_FAILURE() << "nothing was thrown";
            } catch (const position_error& e) {
                EXPECT_NE(e.position % 3, 0);
                suppressed = s.suppressed();
            }
        });
        EXPECT_EQ(suppressed, threw - 1);
    }
}

// A cancellation and an exception come at once: the scope is cancelled once, and as new afterwards.
TEST_P(siblings_of_a_failed_child, an_exception_and_a_cancellation_at_the_same_time) {
    for (std::uint64_t round = 0; round < support::hundredth_of(20'000); ++round) {
        pool.run([&] {
            bool threw = false;
            std::atomic<bool> thrown{false};
            pilfer::scope s;
            s.spawn([] { wait_to_be_stopped(); });
            s.fork([&] { s.cancel(); });
            s.fork([&] {
                if (round % 2 == 0) {
                    pilfer::yield();
                }
                thrown = true;
                throw position_error{0};
            });
            try {
                s.sync();
            } catch (const position_error&) {
                threw = true;
            }
            EXPECT_EQ(threw, thrown) << "an exception of a child is rethrown, cancelled or not";
            EXPECT_FALSE(s.cancelled());
            int ran = 0;
            s.fork([&] { ran = pilfer::cancelled() ? 2 : 1; });
            s.sync();
            EXPECT_EQ(ran, 1);
        });
    }
}

// In the middle of three scopes: tasks inside the failing child's scope end, tasks beside it continue.
TEST_P(siblings_of_a_failed_child, are_the_only_stopped_tasks) {
    pool.run([&] {
        std::atomic<bool> failed{false};
        std::atomic<bool> went_on{false};
        pilfer::scope outer;
        outer.spawn([&] {
            while (!failed) {
                pilfer::yield();
            }
            EXPECT_FALSE(pilfer::cancelled());
            went_on = true;
        });
        outer.fork([&] {
            pilfer::scope inner;
            inner.spawn([] {
                pilfer::scope own;
                own.spawn([] { wait_to_be_stopped(); });
                own.sync();
                ADD_FAILURE() << "a sync of a stopped task returned";
            });
            inner.fork([] { throw position_error{0}; });
            EXPECT_FALSE(pilfer::cancelled());
            EXPECT_THROW(inner.sync(), position_error);
            EXPECT_FALSE(pilfer::cancelled());
            failed = true;
        });
        outer.sync();
        EXPECT_TRUE(went_on);
    });
}

// A limited wait does not rethrow; the scope stays cancelled until a sync does.
TEST_P(siblings_of_a_failed_child, sync_for_a_failed_scope) {
    pool.run([&] {
        pilfer::scope s;
        pilfer::event go;
        s.spawn([&] {
            while (!pilfer::cancelled()) {
                pilfer::yield();
            }
            const pilfer::stop_on_cancel unused; // its source is cancelled at once
            try {
                go.wait();
            } catch (const pilfer::stopped&) {
            }
        });
        s.spawn([] { throw position_error{0}; });
        while (!s.cancelled()) { // the child may still be on its way
            pilfer::yield();
        }
        EXPECT_THROW(while (!s.sync_for(1ms)){}, position_error);
        EXPECT_FALSE(s.cancelled());
    });
}

// From a thread outside: the children are submissions.
TEST_P(siblings_of_a_failed_child, leave_in_a_scope_of_a_foreign_thread) {
    pilfer::scope s;
    std::atomic<bool> waits{false};
    s.fork([&] {
        waits = true;
        wait_to_be_stopped();
    });
    s.fork([&] {
        while (!waits) {
            pilfer::yield();
        }
        throw position_error{0};
    });
    EXPECT_THROW(s.sync(), position_error);
    EXPECT_EQ(s.suppressed(), 0U);
    s.sync();
}

// If shutdown(drop) drops a child, sync throws broken_promise. The running children are not cancelled.
TEST_P(siblings_of_a_failed_child, are_not_stopped_by_a_dropped_submission) {
    pilfer::pool other{{.workers = 2}};
    std::atomic<int> run{0};
    std::atomic<bool> queued{false};
    std::atomic<bool> closed{false};
    bool was_stopped = true;
    std::thread owner([&] {
        try {
            other.run([&] {
                pilfer::scope s;
                pool.run([&] { // by a worker of another pool: the children are submissions
                    s.fork([&] {
                        ++run;
                        while (other.counters().dropped == 0) {
                            std::this_thread::yield();
                        }
                        was_stopped = pilfer::cancelled();
                    });
                    s.fork([&] {
                        ++run;
                        while (!closed) {
                            std::this_thread::yield();
                        }
                    });
                    while (run < 2) {
                        std::this_thread::yield();
                    }
                    s.fork([] { ADD_FAILURE() << "not dropped"; });
                    queued = true;
                });
                s.sync();
            });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const pilfer::broken_promise&) {
        }
    });
    while (!queued) {
        std::this_thread::yield();
    }
    std::thread closer([&] { other.shutdown(pilfer::shutdown_mode::drop); });
    for (bool open = true; open; std::this_thread::yield()) {
        try {
            other.submit([] {});
        } catch (const pilfer::pool_closed&) {
            open = false;
        }
    }
    closed = true;
    closer.join();
    owner.join();
    EXPECT_FALSE(was_stopped);
}

class siblings_in_a_failed_join : public siblings_of_a_failed_child {};
INSTANTIATE_TEST_SUITE_P(workers, siblings_in_a_failed_join, testing::Values(1U, 2U, 3U, 8U));

// The third function is in the deque of the thief that has the second one, when the first one throws.
TEST_P(siblings_in_a_failed_join, never_start_on_a_thief_after_the_failure) {
    if (GetParam() != 2) {
        GTEST_SKIP() << "with a third worker it would start";
    }
    for (std::uint64_t round = 0; round < support::hundredth_of(2'000); ++round) {
        std::atomic<bool> second{false};
        std::atomic<bool> thrown{false};
        std::atomic<int> ran{0};
        const auto before = pool.counters();
        const auto suspends = before.suspends;
        pool.run([&] {
            EXPECT_THROW((void)pilfer::join(
                             [&] {
                                 while (!second) {
                                     std::this_thread::yield();
                                 }
                                 struct tells {
                                     std::atomic<bool>& it;
                                     ~tells() { it = true; }
                                 };
                                 const tells at_end{thrown};
                                 throw position_error{0};
                             },
                             [&] {
                                 second = true;
                                 while (!thrown) {
                                     std::this_thread::yield();
                                 }
                                 // Until the frame that joins waits for this.
                                 while (pool.counters().suspends == suspends) {
                                     std::this_thread::yield();
                                 }
                             },
                             [&] { ++ran; }, [&] { ++ran; }),
                         position_error);
            EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
        });
        EXPECT_EQ(ran, 0);
        EXPECT_EQ(pool.counters().dropped - before.dropped, 2U);
    }
}

// The first branch is stopped, the other one has failed on a thief: its error goes out, and nothing is
// suppressed.
TEST_P(siblings_in_a_failed_join, an_error_wins_over_stopped) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    for (std::uint64_t round = 0; round < support::hundredth_of(2'000); ++round) {
        for (const bool by_hand : {false, true}) {
            std::atomic<bool> stolen{false};
            const auto before = pool.counters().exceptions_suppressed;
            pool.run([&] {
                bool threw = false;
                pilfer::scope s;
                s.fork([&] {
                    try {
                        (void)pilfer::join(
                            [&] {
                                while (!stolen) {
                                    std::this_thread::yield();
                                }
                                if (by_hand) {
                                    throw pilfer::stopped();
                                }
                                s.cancel();
                                pilfer::sleep_for(60s);
                                ADD_FAILURE() << "not stopped";
                            },
                            [&] {
                                stolen = true;
                                throw std::out_of_range("the other");
                            });
                        ADD_FAILURE() << "nothing was thrown";
                    } catch (const std::out_of_range&) {
                        EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
                        threw = true;
                        throw;
                    }
                });
                EXPECT_THROW(s.sync(), std::out_of_range);
                EXPECT_EQ(s.suppressed(), 0U);
                EXPECT_TRUE(threw);
            });
            EXPECT_EQ(pool.counters().exceptions_suppressed, before);
        }
    }
}

// And the other way round: `stopped` of the second branch is not counted beside an error of the first one.
TEST_P(siblings_in_a_failed_join, stopped_is_not_counted) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    std::atomic<bool> stolen{false};
    pool.run([&] {
        try {
            (void)pilfer::join(
                [&] {
                    while (!stolen) {
                        std::this_thread::yield();
                    }
                    throw position_error{0};
                },
                [&] {
                    stolen = true;
                    throw pilfer::stopped();
                });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const position_error&) {
            EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
        }
    });
    EXPECT_EQ(pool.counters().exceptions_suppressed, 0U);
}

// A part on another worker ends with its piece, not with its range, also if no worker asks for work.
TEST_P(siblings_in_a_failed_join, other_parts_of_a_loop_end) {
    if (GetParam() != 2) {
        GTEST_SKIP() << "a third worker would ask";
    }
    constexpr int half = 1 << 20;
    for (const bool reduces : {false, true}) {
        for (const bool lower_throws : {false, true}) {
            std::atomic<bool> lower{false};
            std::atomic<bool> upper{false};
            std::atomic<bool> thrown{false};
            std::atomic<int> ran{0};
            std::atomic<bool> known{false};
            std::atomic<bool> ended{false};
            std::atomic<bool> over{false};
            const auto body = [&](int i) {
                (i < half ? lower : upper) = true;
                if (!lower || !upper) {
                    std::this_thread::yield();
                    return 0;
                }
                if (!thrown && (i < half) == lower_throws && !thrown.exchange(true)) {
                    // Begins once the exception has left the part, and keeps this worker busy.
                    pool.submit([&] {
                        known = true;
                        while (!ended) {
                            std::this_thread::yield();
                        }
                        over = true;
                    });
                    throw position_error{i};
                }
                ran += known ? 1 : 0;
                return 0;
            };
            pool.run([&] {
                if (reduces) {
                    EXPECT_THROW(
                        (void)pilfer::reduce(0, 2 * half, 0, body, [](int a, int b) { return a + b; }),
                        position_error);
                } else {
                    EXPECT_THROW(pilfer::for_each(0, 2 * half, body), position_error);
                }
                EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
                ended = true;
            });
            EXPECT_LT(ran, half / 8) << "a part went on to its end";
            while (!over) {
                std::this_thread::yield();
            }
        }
    }
}

} // namespace
