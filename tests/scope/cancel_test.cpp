// Cancellation of scopes: what is stopped, and what is not.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

#include "scope/cancelling.hpp"
#include "support/process.hpp"

namespace {

using namespace cancel_tests;

class cancel : public over_few_workers {};
PILFER_OVER_FEW_WORKERS(cancel);

static_assert(!std::is_base_of_v<std::exception, pilfer::stopped>);

TEST_P(cancel, children_that_have_not_started_never_start) {
    pool.run([] {
        std::atomic<int> ran{0};
        pilfer::scope s;
        s.cancel();
        EXPECT_TRUE(s.cancelled());
        EXPECT_FALSE(pilfer::cancelled()); // the scope does not contain its owner
        for (int i = 0; i < 100; ++i) {
            s.fork([&] { ++ran; });
            s.spawn([&] { ++ran; });
        }
        s.sync();
        EXPECT_EQ(ran, 0);
        EXPECT_FALSE(s.cancelled());
        s.spawn([&] { ++ran; });
        s.fork([&] { ++ran; });
        s.sync();
        EXPECT_EQ(ran, 2);
    });
    EXPECT_EQ(pool.counters().dropped, 200U);
}

TEST_P(cancel, running_tasks_leave_at_spawn_fork_join_loops_and_waits) {
    pool.run([&] {
        endless tasks;
        std::atomic<int> seen{0};
        pilfer::scope s;
        const auto leaves = [&](auto step) { s.fork([&tasks, step] { tasks(step); }); };
        leaves([] {
            pilfer::scope own;
            own.spawn([] {});
            own.spawn([] {});
            own.sync();
        });
        leaves([] {
            pilfer::scope own;
            own.fork([] {});
            own.sync();
        });
        leaves([] { (void)pilfer::join([] {}, [] {}); });
        leaves([] { pilfer::for_each(0, 1000, [](int) {}); });
        leaves([] { pilfer::sleep_for(1ms); });
        leaves([&] {
            if (pilfer::cancelled()) {
                ++seen;
                throw pilfer::stopped();
            }
        });
        s.fork([&] {
            EXPECT_TRUE(soon([&] { return tasks.begun == 6; }));
            s.cancel();
            EXPECT_TRUE(pilfer::cancelled());
        });
        s.sync();
        EXPECT_EQ(tasks.unwound, tasks.begun);
        EXPECT_EQ(tasks.reached_the_end, 0);
        EXPECT_EQ(seen, 1);
        EXPECT_FALSE(pilfer::cancelled());
    });
}

/// The chain of scopes down to a depth, each in a task of the one above; calls `at_the_end` in the innermost.
template <class F>
void nest(int depth, std::atomic<int>& left, F& at_the_end) {
    struct guard {
        std::atomic<int>& n;
        ~guard() { ++n; }
    };
    const guard g{left};
    if (depth == 0) {
        at_the_end();
        return;
    }
    pilfer::scope s;
    const auto below = [&, depth] { nest(depth - 1, left, at_the_end); };
    if (depth % 100 == 0) {
        s.spawn(below);
    } else {
        s.fork(below);
    }
    s.sync();
    ADD_FAILURE() << "a sync of a stopped task returned";
}

TEST_P(cancel, a_deep_tree_of_scopes) {
    constexpr int depth = 10'000;
    pilfer::pool deep{{.workers = GetParam(), .stack_size = std::size_t{64} << 20}};
    std::atomic<int> left{0};
    std::atomic<int> after{0};
    deep.run([&] {
        pilfer::scope s;
        auto end = [&] {
            s.cancel();
            pilfer::scope own;
            for (int i = 0; i < 1000; ++i) {
                own.fork([&] { ++after; });
            }
        };
        s.fork([&] { nest(depth, left, end); });
        s.sync();
    });
    EXPECT_EQ(left, depth + 1);
    EXPECT_EQ(after, 0);
}

// A contains B, which only its worker knows. A child of A is exposed; the worker that has it cancels A.
TEST_P(cancel, an_unshared_scope_is_stopped_by_another_worker) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "needs a second worker";
    }
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        std::atomic<bool> taken{false};
        std::atomic<bool> inside{false};
        std::atomic<bool> is_cancelled{false};
        std::atomic<int> ran_late{0};
        std::atomic<bool> over{false};
        pool.run([&] {
            pilfer::scope a;
            a.fork([&] { // the oldest: a thief takes it
                taken = true;
                EXPECT_TRUE(soon([&] { return inside.load(); }));
                a.cancel();
                is_cancelled = true;
            });
            a.spawn([&] {
                pilfer::scope b;
                while (!taken) {
                    b.spawn([] {}); // announces, so that a request is answered
                }
                inside = true;
                while (!is_cancelled) { // without a point that would see it
                    std::this_thread::yield();
                }
                b.spawn([&] { ++ran_late; });
                b.fork([&] { ++ran_late; }); // takes the function, which never starts
                (void)pilfer::join([&] { ++ran_late; }, [&] { ++ran_late; });
                ++ran_late;
            });
            a.sync();
            over = true;
            EXPECT_EQ(ran_late, 0);
        });
        EXPECT_TRUE(over);
        EXPECT_EQ(ran_late, 0);
    }
}

TEST_P(cancel, the_rest_of_the_pool_is_not_cancelled) {
    // Tasks beside the scope, above it, or in an async are not stopped.
    pool.run([&] {
        std::atomic<int> beside{0};
        std::atomic<int> unrelated{0};
        pilfer::scope above;
        above.fork([&] {
            pilfer::scope stopped;
            stopped.cancel();
            auto later = pilfer::async([&] { return pilfer::join([] { return 1; }, [] { return 2; }); });
            auto [a, b] = pilfer::join([] { return 3; }, [] { return 4; });
            EXPECT_EQ(a + b, 7);
            pilfer::scope mine; // of the owner of `stopped`, and inside that scope
            mine.spawn([&] { ++beside; });
            mine.fork([&] { ++beside; });
            mine.sync();
            EXPECT_EQ(beside, 2);
            EXPECT_EQ(std::get<1>(later.get()), 2);
            pilfer::sleep_for(1ms);
        });
        above.spawn([&] { ++unrelated; });
        above.sync();
        EXPECT_EQ(unrelated, 1);
    });
}

TEST_P(cancel, an_exception_is_kept) {
    pool.run([] {
        for (int round = 0; round < 50; ++round) {
            std::atomic<int> begun{0};
            std::atomic<int> stopped{0};
            pilfer::scope s;
            for (int i = 0; i < 4; ++i) {
                s.fork([&] {
                    ++begun;
                    try {
                        for (;;) {
                            pilfer::sleep_for(1us);
                        }
                    } catch (const pilfer::stopped&) {
                        ++stopped;
                        throw;
                    }
                });
            }
            s.fork([&] {
                const struct at_end { // it waits in a destructor, while an exception is in flight
                    ~at_end() {
                        pilfer::scope own;
                        own.spawn([] {});
                        own.sync();
                        pilfer::sleep_for(1us);
                        (void)pilfer::join([] {}, [] {});
                    }
                } at;
                s.cancel();
                throw std::runtime_error("mine");
            });
            EXPECT_THROW(s.sync(), std::runtime_error);
            EXPECT_FALSE(s.cancelled());
            EXPECT_EQ(stopped, begun);
        }
    });
}

/// An exception in flight belongs to the frame below, not to the task on top of it.
TEST_P(cancel, a_task_on_top_of_an_unwinding_frame_is_stopped) {
    pool.run([&] {
        std::atomic<bool> begun{false};
        pilfer::scope outer;
        outer.fork([&] {
            pilfer::scope own;
            own.fork([&] { // begun by the end of `own` at the latest
                begun = true;
                (void)soon([] {
                    pilfer::sleep_for(1ms);
                    return false;
                });
                ADD_FAILURE() << "was not stopped";
            });
            throw std::runtime_error("mine");
        });
        std::thread canceller([&] {
            EXPECT_TRUE(support::eventually([&] { return begun.load(); }, 60s));
            outer.cancel();
        });
        EXPECT_THROW(outer.sync(), std::runtime_error);
        canceller.join();
    });
}

/// An accepted function stays with the fork. If the fork throws it has not accepted it.
TEST_P(cancel, a_fork_throws_or_accepts_the_function) {
    pool.run([] {
        for (int round = 0; round < 20; ++round) {
            std::atomic<int> ran{0};
            std::atomic<int> refused{0};
            pilfer::scope around;
            around.spawn([&] {
                pilfer::scope r;
                r.spawn([&] {
                    r.cancel();
                    try {
                        around.fork([&] { ++ran; });
                    } catch (const pilfer::stopped&) {
                        ++refused;
                        throw;
                    }
                });
                r.sync();
            });
            around.sync();
            EXPECT_EQ(ran + refused, 1);
        }
    });
}

/// A destructor of a stopped task calls run() while it unwinds: no scope contains the function of that run().
TEST_P(cancel, another_pool_may_be_used_by_a_destructor_that_unwinds) {
    pilfer::pool other{{.workers = 1}};
    std::atomic<int> ran{0};
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            const struct at_end {
                pilfer::pool& other;
                std::atomic<int>& ran;
                ~at_end() {
                    other.run([&] {
                        auto [a, b] = pilfer::join([] { return 1; }, [] { return 2; });
                        ran += a + b;
                    });
                }
            } at{other, ran};
            s.cancel();
            pilfer::sleep_for(1h);
            ADD_FAILURE() << "was not stopped";
        });
        s.sync();
    });
    EXPECT_EQ(ran, 3);
}

/// A token belongs to the scopes that contain its task, not to scopes that may end before it does.
TEST_P(cancel, a_token_outlives_a_scope_that_began_before_it) {
    pool.run([] {
        std::optional<pilfer::scope> first(std::in_place);
        const pilfer::stop_on_cancel mine;
        first.reset();
        pilfer::scope s;
        s.spawn([&] {
            std::optional<pilfer::scope> inner(std::in_place);
            const pilfer::stop_on_cancel below;
            inner.reset();
            s.cancel();
            EXPECT_TRUE(below.token().stop_requested());
        });
        s.sync();
        EXPECT_FALSE(mine.token().stop_requested());
    });
}

TEST_P(cancel, nested_pools_and_threads) {
    pilfer::pool other{{.workers = 2}};
    endless tasks;
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            other.run([&] { tasks([] { (void)pilfer::join([] {}, [] {}); }); });
            ADD_FAILURE() << "run() returned to a stopped task";
        });
        std::thread from_outside([&] {
            while (tasks.begun == 0) {
                std::this_thread::yield();
            }
            s.cancel();
            EXPECT_FALSE(pilfer::cancelled());
        });
        s.sync();
        from_outside.join();
    });
    EXPECT_EQ(tasks.reached_the_end, 0);
    EXPECT_EQ(tasks.unwound, 1);
}

TEST(cancel_outside, a_scope_of_a_thread) {
    endless tasks;
    std::atomic<int> late{0};
    pilfer::scope s;
    s.spawn([&] { tasks([] { pilfer::sleep_for(1ms); }); });
    s.spawn([&] {
        EXPECT_TRUE(soon([&] { return tasks.begun == 1; }));
        s.cancel();
        s.fork([&] { ++late; });
        ++late;
    });
    s.sync();
    EXPECT_EQ(tasks.unwound, 1);
    EXPECT_EQ(tasks.reached_the_end, 0);
    EXPECT_EQ(late, 0);
}

TEST_P(cancel, scopes_that_end_out_of_turn) {
    pool.run([] {
        for (int round = 0; round < 50; ++round) {
            pilfer::scope top;
            for (int i = 0; i < 4; ++i) {
                top.fork([&top, round, i] {
                    auto first = std::make_unique<pilfer::scope>();
                    auto second = std::make_unique<pilfer::scope>();
                    second->fork([] { (void)pilfer::join([] { pilfer::yield(); }, [] {}); });
                    first->sync();
                    first.reset(); // `second` was inside it, and its child may look up
                    if (i == round % 4) {
                        top.cancel();
                        EXPECT_TRUE(pilfer::cancelled()); // the way up does not end at `first`
                    }
                    second->sync();
                });
            }
            top.sync();
            EXPECT_FALSE(pilfer::cancelled());
        }
    });
}

// A child fails while its siblings are cancelled: the exception arrives, everything has ended.
TEST_P(cancel, cancelled_and_failed_at_the_same_time) {
    pool.run([] {
        for (int round = 0; round < 50; ++round) {
            std::atomic<int> begun{0};
            std::atomic<int> ended{0};
            std::atomic<bool> waits{false};
            struct guard {
                std::atomic<int>& n;
                ~guard() { ++n; }
            };
            pilfer::scope outer;
            outer.fork([&] {
                const guard own{ended};
                ++begun;
                pilfer::scope inner;
                for (int i = 0; i < 3; ++i) {
                    inner.fork([&] {
                        const guard g{ended};
                        ++begun;
                        for (;;) {
                            (void)pilfer::join([] { pilfer::yield(); }, [] {});
                        }
                    });
                }
                inner.fork([&] {
                    const guard g{ended};
                    ++begun;
                    EXPECT_TRUE(soon([&] { return waits.load(); })); // or its fork() would throw
                    outer.cancel();
                    throw std::runtime_error("inner");
                });
                waits = true;
                inner.sync(); // the exception goes before `stopped`
            });
            EXPECT_THROW(outer.sync(), std::runtime_error);
            EXPECT_EQ(begun, ended);
        }
    });
}

} // namespace
