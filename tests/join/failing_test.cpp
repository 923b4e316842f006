// A join with a function that throws: which of the others are cancelled, and which run to their ends.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;
using pilfer::detail::this_worker;

struct broken : std::runtime_error {
    broken() : std::runtime_error("a function of a join") {}
};

/// Functions wait for each other by events, so that all begin with any number of workers: if one suspends,
/// its worker takes the next.
class join_failure : public support::over_workers {
protected:
    pilfer::pool pool{with_workers()};

    /// No cancellation is counted any more, and the usual calls work.
    void TearDown() override {
        pool.run([] {
            using pilfer::detail::signal_word;
            EXPECT_FALSE(this_worker()->deque.signal().has(signal_word<pilfer::detail::std_atom>::stop));
            EXPECT_FALSE(pilfer::cancelled());
            EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
            pilfer::scope s;
            std::atomic<int> ran{0};
            s.spawn([&] { ++ran; });
            s.fork([&] { ++ran; });
            s.sync();
            EXPECT_EQ(ran, 2);
        });
    }
};
PILFER_OVER_WORKERS(join_failure);

/// Waits until it is cancelled, and counts that.
void wait_to_be_stopped(std::atomic<int>& left) {
    pilfer::event never;
    try {
        never.wait();
        ADD_FAILURE() << "not stopped";
    } catch (const pilfer::stopped&) {
        ++left;
        throw;
    }
}

TEST_P(join_failure, the_function_on_the_joining_stack_runs_to_its_end) {
    pilfer::mutex m;
    pilfer::condition_variable condition;
    const std::function<void()> points[] = {
        [] { EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2)); },
        [] {
            pilfer::scope s;
            std::atomic<int> ran{0};
            for (int i = 0; i < 3; ++i) {
                s.spawn([&] {
                    pilfer::sleep_for(1us);
                    ++ran;
                });
                s.fork([&] { ++ran; });
            }
            s.sync();
            EXPECT_EQ(ran, 6);
        },
        [] {
            EXPECT_EQ(pilfer::reduce(
                          0, 1'000, 0, [](int) { return 1; }, std::plus<>()),
                      1'000);
        },
        [] { pilfer::async([] { EXPECT_FALSE(pilfer::cancelled()); }).get(); },
        [] {
            pilfer::event e;
            pilfer::scope s;
            s.fork([&] { e.set(); });
            e.wait();
            s.sync();
        },
        [] {
            pilfer::event e;
            pilfer::scope s;
            s.fork([] { pilfer::sleep_for(1us); });
            while (!s.sync_for(1s)) {
            }
        },
        [&] {
            std::unique_lock lock(m);
            EXPECT_EQ(condition.wait_for(lock, 1us), pilfer::cv_status::timeout);
        },
    };
    for (const auto& point : points) {
        pilfer::event started;
        pilfer::event throws;
        bool to_the_end = false;
        pool.run([&] {
            EXPECT_THROW((void)pilfer::join(
                             [&] {
                                 started.wait();
                                 throws.set();
                                 for (int i = 0; i < 5; ++i) { // the other one throws meanwhile
                                     point();
                                     pilfer::sleep_for(100us);
                                     EXPECT_FALSE(pilfer::cancelled());
                                 }
                                 to_the_end = true;
                             },
                             [&] {
                                 started.set();
                                 throws.wait();
                                 throw broken();
                             }),
                         broken);
            EXPECT_TRUE(to_the_end);
            EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
            EXPECT_FALSE(pilfer::cancelled());
        });
    }
}

/// Its own error is the one that goes out, and the other one is counted.
TEST_P(join_failure, the_error_of_the_joining_function_is_the_first) {
    pool.run([&] {
        pilfer::event started;
        pilfer::event throws;
        struct waits {
            pilfer::event& at_last;
            ~waits() {
                at_last.set();
                pilfer::sleep_for(10us);
                pilfer::scope s;
                s.spawn([] {});
                EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
            }
        };
        try {
            (void)pilfer::join(
                [&] {
                    started.wait();
                    const waits w{throws};
                    throw std::out_of_range("first");
                },
                [&] {
                    started.set();
                    throws.wait();
                    throw broken();
                });
            ADD_FAILURE() << "nothing was thrown";
        } catch (const std::out_of_range&) {
            EXPECT_LE(pilfer::suppressed_exceptions(), 1U); // the second one may have been cancelled before
        }
    });
}

/// A join of `Functions`. The first waits for all others to leave. `thrower`, one of the others, throws once
/// all have begun.
template <std::size_t Functions>
struct several {
    explicit several(unsigned t) : thrower(t) {}

    unsigned thrower;
    pilfer::latch started{Functions - 1};
    std::atomic<int> left{0};
    pilfer::event all_left;
    bool to_the_end = false;

    void function(unsigned i) {
        if (i == 0) {
            all_left.wait();
            EXPECT_FALSE(pilfer::cancelled());
            to_the_end = true;
            return;
        }
        try {
            started.arrive_and_wait();
            if (i == thrower) {
                throw broken();
            }
            pilfer::event never;
            never.wait();
            ADD_FAILURE() << "not stopped";
        } catch (const pilfer::stopped&) {
            if (++left == static_cast<int>(Functions) - 2) {
                all_left.set();
            }
            throw;
        }
    }
    template <std::size_t... I>
    void join(std::index_sequence<I...>) {
        (void)pilfer::join([this] { function(I); }...);
    }
    void run() {
        EXPECT_THROW(join(std::make_index_sequence<Functions>()), broken);
        EXPECT_TRUE(to_the_end);
        EXPECT_EQ(left, static_cast<int>(Functions) - 2);
        EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
        EXPECT_FALSE(pilfer::cancelled());
    }
};

/// While the first function still runs: it waits for them.
TEST_P(join_failure, running_siblings_are_cancelled_when_a_stolen_function_throws) {
    for (unsigned thrower = 1; thrower < 3; ++thrower) {
        pool.run([=] { several<3>(thrower).run(); });
    }
    for (unsigned thrower = 1; thrower < 8; ++thrower) {
        pool.run([=] { several<8>(thrower).run(); });
    }
}

/// The last function throws. The one before it keeps running until the one before that has left.
TEST_P(join_failure, a_sibling_that_keeps_running_does_not_protect_the_others) {
    pool.run([&] {
        std::atomic<int> left{0};
        pilfer::latch started{2};
        EXPECT_THROW((void)pilfer::join([&] { started.wait(); },
                                        [&] {
                                            started.count_down();
                                            wait_to_be_stopped(left);
                                        },
                                        [&] {
                                            started.count_down();
                                            while (left == 0) {
                                                pilfer::yield();
                                            }
                                        },
                                        [&] {
                                            started.wait();
                                            throw broken();
                                        }),
                     broken);
        EXPECT_EQ(left, 1);
    });
}

/// A cancelled sibling sees the cancellation while it computes, in its children, and in a stop token.
TEST_P(join_failure, children_and_tokens_of_a_cancelled_sibling_are_cancelled) {
    pool.run([&] {
        std::atomic<int> left{0};
        pilfer::latch started{2};
        pilfer::event all_left;
        EXPECT_THROW((void)pilfer::join([&] { all_left.wait(); },
                                        [&] {
                                            pilfer::scope s;
                                            for (int i = 0; i < 2; ++i) {
                                                s.fork([&] {
                                                    started.count_down();
                                                    wait_to_be_stopped(left);
                                                });
                                            }
                                            const pilfer::stop_on_cancel token;
                                            while (!token.token().stop_requested()) {
                                                pilfer::yield();
                                            }
                                            EXPECT_TRUE(pilfer::cancelled());
                                            all_left.set();
                                            s.sync();
                                        },
                                        [&] {
                                            started.wait();
                                            throw broken();
                                        }),
                     broken);
        EXPECT_EQ(left, 2);
    });
}

TEST_P(join_failure, running_siblings_are_cancelled_when_the_joining_function_throws) {
    pool.run([&] {
        std::atomic<int> left{0};
        pilfer::latch started{3};
        const auto waits = [&] {
            started.count_down();
            wait_to_be_stopped(left);
        };
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             started.wait();
                             throw broken();
                         },
                         waits, waits, waits),
                     broken);
        EXPECT_EQ(left, 3);
        EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
    });
}

/// Functions of an enclosing join, and their other branches, keep running. Both joins may have several
/// functions, and a stolen function may call the inner one.
TEST_P(join_failure, enclosing_joins_are_not_cancelled) {
    pool.run([&] {
        pilfer::event caught;
        std::atomic<int> to_the_end{0};
        const auto goes_on = [&] {
            caught.wait();
            for (int i = 0; i < 3; ++i) {
                pilfer::sleep_for(10us);
                EXPECT_FALSE(pilfer::cancelled());
            }
            ++to_the_end;
        };
        pilfer::scope s;
        s.fork(goes_on);
        (void)pilfer::join(
            goes_on,
            [&] {
                several<4>(2).run();
                several<3>(2).run();
                caught.set();
                pilfer::sleep_for(10us);
                EXPECT_FALSE(pilfer::cancelled());
                ++to_the_end;
            },
            goes_on);
        s.sync();
        EXPECT_EQ(to_the_end, 4);
        EXPECT_FALSE(s.cancelled());
    });
}

/// Scopes that were opened before the join, or within the joining function and outlive the join, are no part
/// of it.
TEST_P(join_failure, scopes_of_the_joining_function_are_not_cancelled) {
    pool.run([&] {
        pilfer::event wake;
        std::atomic<int> woken{0};
        const auto child = [&] {
            wake.wait();
            ++woken;
        };
        pilfer::scope older;
        std::optional<pilfer::scope> younger;
        older.spawn(child);
        pilfer::event started;
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             started.wait();
                             younger.emplace();
                             younger->fork(child);
                         },
                         [&] {
                             started.set();
                             throw broken();
                         }),
                     broken);
        wake.set();
        younger->sync();
        older.sync();
        EXPECT_EQ(woken, 2);
    });
}

TEST_P(join_failure, a_loop_ends_with_the_error_of_one_part) {
    pool.run([&] {
        for (int thrower = 0; thrower < 16; ++thrower) {
            const auto body = [&](int i) {
                pilfer::sleep_for(1us);
                if (i == thrower) {
                    throw broken();
                }
                return i;
            };
            EXPECT_THROW(pilfer::for_each(0, 16, body), broken);
            EXPECT_THROW((void)pilfer::reduce(0, 16, 0, body, std::plus<>()), broken);
        }
    });
}

class join_failure_race : public join_failure {};
PILFER_OVER_WORKERS(join_failure_race);

/// A function fails at any moment of the other ones, which throw themselves or not. One error goes out, the
/// others are counted, and no task is stopped afterwards.
TEST_P(join_failure_race, of_functions_that_begin_run_and_end) {
    const auto spin = [](std::uint64_t n) {
        for (std::uint64_t i = 0; i < n; ++i) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
    };
    for (std::uint64_t round = 0; round < support::hundredth_of(500'000); ++round) {
        const bool throws = round % 3 == 0;
        const auto first = [&] {
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
        };
        const auto last = [&] {
            spin(round % 777);
            throw broken();
        };
        bool failed = false;
        pool.run([&] {
            try {
                if (round % 2 == 0) {
                    (void)pilfer::join(first, last);
                } else {
                    (void)pilfer::join([] { pilfer::yield(); }, first, last, first);
                }
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
}

TEST_P(join_failure_race, of_many_joins) {
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        pool.run([&] {
            std::atomic<int> errors{0};
            pilfer::scope s;
            for (int i = 0; i < 100; ++i) {
                s.spawn([&] {
                    try {
                        (void)pilfer::join([] { pilfer::yield(); }, [] { pilfer::yield(); },
                                           [] { throw broken(); }, [] { pilfer::yield(); });
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
