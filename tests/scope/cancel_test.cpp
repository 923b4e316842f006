// Cancellation of scopes.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;

/// Spins until it holds, up to a minute; other tasks run meanwhile.
template <class F>
[[nodiscard]] bool soon(F holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        pilfer::yield();
    }
    return true;
}

class cancel : public testing::TestWithParam<unsigned> {
protected:
    pilfer::pool pool{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, cancel, testing::Values(1U, 2U, 3U, 8U));

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

/// A child that runs until it is stopped, and must not reach its end.
struct endless {
    std::atomic<int> begun{0};
    std::atomic<int> unwound{0};
    std::atomic<int> reached_the_end{0};
    struct guard {
        std::atomic<int>& n;
        ~guard() { ++n; }
    };
    template <class F>
    void operator()(F step) {
        const guard g{unwound};
        ++begun;
        (void)soon([&] {
            step();
            return false;
        });
        ++reached_the_end;
    }
};

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

// ---- waits -------------------------------------------------------------------------------------

TEST_P(cancel, a_thousand_sleepers_leave_at_once) {
    constexpr int sleepers = 1000;
    std::atomic<int> begun{0};
    std::atomic<int> left{0};
    pool.run([&] {
        pilfer::event never;
        pilfer::channel<int> empty(0);
        pilfer::channel<int> full(1);
        EXPECT_TRUE(full.try_send(0));
        pilfer::mutex held;
        pilfer::promise<int> unset;
        auto result = unset.get_future(); // wait() is const: any number of tasks may
        held.lock();
        pilfer::scope s;
        for (int i = 0; i < sleepers; ++i) {
            s.fork([&, i] {
                struct at_end {
                    std::atomic<int>& n;
                    ~at_end() { ++n; }
                } const at{left};
                ++begun;
                switch (i % 7) {
                case 0:
                    pilfer::sleep_for(1h);
                    break;
                case 1:
                    never.wait();
                    break;
                case 2:
                    (void)empty.receive();
                    break;
                case 3:
                    (void)full.send(i);
                    break;
                case 4:
                    held.lock_cancellable();
                    break;
                case 5:
                    result.wait();
                    break;
                default:
                    (void)never.wait_for(1h);
                    break;
                }
                ADD_FAILURE() << "the wait of a stopped task returned: " << i % 7;
            });
        }
        s.fork([&] { // the newest: if it is alone it makes way for all others
            EXPECT_TRUE(soon([&] { return begun == sleepers; }));
            s.cancel();
        });
        s.sync();
        held.unlock();
        unset.set_value(1);
        EXPECT_TRUE(held.try_lock());
        held.unlock();
        EXPECT_EQ(full.size(), 1U);
        EXPECT_EQ(result.get(), 1);
    });
    EXPECT_EQ(left, sleepers);
}

TEST_P(cancel, lock_is_never_cut_short) {
    pool.run([&] {
        pilfer::mutex m;
        std::atomic<int> waits{0};
        std::atomic<int> had_it{0};
        m.lock();
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([&] {
                ++waits;
                m.lock();
                ++had_it;
                m.unlock();
            });
        }
        auto let_go = pilfer::async([&] {
            EXPECT_TRUE(soon([&] { return waits == 10; }));
            s.cancel();
            EXPECT_EQ(had_it, 0);
        });
        s.fork([&] {
            while (!s.cancelled()) {
                pilfer::yield();
            }
        });
        let_go.get();
        m.unlock();
        s.sync();
        EXPECT_EQ(had_it, 10);
    });
}

// A value that was handed over is received, also if a cancellation comes at that moment. It is never lost.
TEST_P(cancel, handed_over_or_stopped_never_both) {
    for (std::uint64_t round = 0; round < support::hundredth_of(5'000); ++round) {
        pool.run([&] {
            pilfer::channel<int> c(0);
            std::atomic<int> sent{0};
            std::atomic<int> received{0};
            pilfer::scope s;
            for (int i = 0; i < 3; ++i) {
                s.fork([&] {
                    for (;;) {
                        if (c.receive()) {
                            ++received;
                        }
                    }
                });
                s.fork([&] {
                    for (;;) {
                        if (c.send(1)) {
                            ++sent;
                        }
                    }
                });
            }
            s.fork([&] {
                EXPECT_TRUE(soon([&] { return received >= 20; }));
                s.cancel();
            });
            s.sync();
            EXPECT_EQ(sent, received);
        });
    }
}

// A call that is served takes place, one that is stopped does not: never both, never neither.
TEST_P(cancel, monitor_calls_are_served_or_stopped) {
    for (std::uint64_t round = 0; round < support::hundredth_of(3'000); ++round) {
        pool.run([] {
            pilfer::monitor<int> tickets(0);
            std::atomic<int> begun{0};
            std::atomic<int> ran{0};
            std::atomic<int> served{0};
            std::atomic<int> left{0};
            pilfer::scope outer;
            for (int i = 0; i < 20; ++i) {
                outer.fork([&] {
                    ++begun;
                    try {
                        tickets.call_when([](const int& n) { return n > 0; },
                                          [&](int& n) {
                                              --n;
                                              ++ran;
                                          });
                        ++served;
                    } catch (const pilfer::stopped&) {
                        ++left;
                        throw;
                    }
                });
            }
            outer.fork([&] {
                EXPECT_TRUE(soon([&] { return begun == 20; }));
                tickets.call([](int& n) { n = 7; });
                outer.cancel();
            });
            outer.sync();
            EXPECT_EQ(served, ran);
            EXPECT_EQ(served + left, 20);
            EXPECT_EQ(tickets.call([](int& n) { return n; }), 7 - served);
        });
    }
}

// One call, one that serves it, and one that cancels, each at any moment, in a scope that nothing else
// shares.
TEST_P(cancel, exactly_one_of_finished_and_cancelled) {
    std::atomic<int> finished{0};
    std::atomic<int> stopped{0};
    const std::uint64_t rounds = support::hundredth_of(100'000);
    for (std::uint64_t round = 0; round < rounds; ++round) {
        pool.run([&] {
            pilfer::monitor<int> q(0);
            std::atomic<int> ran{0};
            std::atomic<int> returned{0};
            std::atomic<int> left{0};
            pilfer::scope outer;
            std::atomic<bool> begun{false};
            outer.spawn([&] {
                begun = true;
                try {
                    q.call_when([](int v) { return v == 1; },
                                [&](int& v) {
                                    ++ran;
                                    v = 2;
                                });
                    ++returned;
                } catch (const pilfer::stopped&) {
                    ++left;
                    throw;
                }
            });
            const auto spin = [](std::uint64_t turns) {
                for (std::atomic<std::uint64_t> i{0}; i < turns;) {
                    ++i;
                }
            };
            const auto act = [&](bool cancels) {
                if (cancels) {
                    outer.cancel();
                } else {
                    q.call([](int& v) { v = 1; });
                }
            };
            while (!begun) { // before the cancellation, after which it would not begin
                pilfer::yield();
            }
            std::atomic<bool> there{false};
            auto other = pool.async([&] {
                there = true;
                spin(round * 7 % 64 * 256);
                act(round % 2 == 0);
            });
            while (!there && GetParam() > 1) {
                std::this_thread::yield();
            }
            spin(round * 13 % 64 * 128);
            act(round % 2 != 0);
            other.get();
            outer.sync();
            EXPECT_EQ(returned + left, 1);
            EXPECT_EQ(returned, ran);
            EXPECT_EQ(q.read([](int v) { return v; }), 1 + ran);
            finished += returned;
            stopped += left;
        });
    }
    EXPECT_EQ(finished + stopped, static_cast<int>(rounds));
}

// ---- deadlines and stop tokens -----------------------------------------------------------------

TEST_P(cancel, deadline) {
    pool.run([] {
        endless tasks;
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([&] { tasks([] { pilfer::sleep_for(1h); }); });
        }
        {
            const pilfer::deadline limit(s, 1ms);
            s.sync();
        }
        EXPECT_EQ(tasks.unwound, tasks.begun);
        EXPECT_EQ(tasks.reached_the_end, 0);
        {
            const pilfer::deadline limit(s, 1h);
            s.spawn([&] { ++tasks.reached_the_end; });
            s.sync();
        }
        EXPECT_EQ(tasks.reached_the_end, 1);
    });
}

TEST(cancel_outside, a_deadline_of_a_thread) {
    endless tasks;
    pilfer::scope s;
    const pilfer::deadline limit(s, 1ms);
    s.spawn([&] { tasks([] { pilfer::sleep_for(1h); }); });
    s.sync();
    EXPECT_EQ(tasks.unwound, tasks.begun); // none began if the deadline came before
    EXPECT_EQ(tasks.reached_the_end, 0);
}

TEST_P(cancel, stop_tokens_in_both_directions) {
    pool.run([] {
        std::stop_source from;
        std::atomic<int> waiting{0};
        std::atomic<int> told{0};
        pilfer::scope s;
        const pilfer::cancel_on link(s, from.get_token());
        for (int i = 0; i < 8; ++i) {
            s.fork([&] {
                const pilfer::stop_on_cancel to;
                const std::stop_callback hears(to.token(), [&] { ++told; });
                EXPECT_FALSE(to.token().stop_requested());
                ++waiting;
                try {
                    pilfer::sleep_for(1h);
                } catch (const pilfer::stopped&) {
                    // The canceller calls back after the end of the wait.
                    EXPECT_TRUE(soon([&] { return to.token().stop_requested(); }));
                    const pilfer::stop_on_cancel late;
                    EXPECT_TRUE(late.token().stop_requested());
                    throw;
                }
            });
        }
        const pilfer::stop_on_cancel owner;
        s.fork([&] {
            EXPECT_TRUE(soon([&] { return waiting == 8; }));
            from.request_stop();
        });
        s.sync();
        EXPECT_EQ(told, 8);
        EXPECT_FALSE(owner.token().stop_requested());
    });
}

TEST(cancel_outside, a_token_of_a_thread_is_never_requested) {
    std::stop_source requested;
    requested.request_stop();
    pilfer::scope s;
    const pilfer::cancel_on link(s, requested.get_token());
    EXPECT_TRUE(s.cancelled());
    const pilfer::stop_on_cancel to;
    EXPECT_FALSE(to.token().stop_requested());
}

// ---- one lock, and waits for descriptors -------------------------------------------------------

// With one lock, children and branches are calls of their parent. A cancellation is seen at the usual points.
TEST(cancel_one_lock, leaves_at_the_next_call) {
    for (const unsigned workers : {1U, 2U, 8U}) {
        pilfer::pool pool{{.workers = workers, .backend = pilfer::backend::one_lock}};
        const auto leaves = [&pool](auto step) {
            endless tasks;
            pool.run([&] {
                pilfer::scope s;
                std::thread from_outside([&] {
                    while (tasks.begun == 0) {
                        std::this_thread::yield();
                    }
                    s.cancel();
                });
                s.fork([&] { tasks(step); });
                EXPECT_TRUE(soon([&] { return s.cancelled(); }));
                s.spawn([&] { ++tasks.reached_the_end; });
                s.sync();
                from_outside.join();
                EXPECT_FALSE(pilfer::cancelled());
                s.spawn([&] { ++tasks.begun; });
                s.sync();
            });
            EXPECT_EQ(tasks.begun, 2);
            EXPECT_EQ(tasks.unwound, 1);
            EXPECT_EQ(tasks.reached_the_end, 0);
        };
        leaves([] {
            pilfer::scope own;
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
        leaves([] { pilfer::sleep_for(1h); });
        leaves([] {
            pilfer::channel<int> none(0);
            (void)none.receive();
        });
        leaves([] {
            std::atomic<int> ran{0};
            while (!pilfer::cancelled()) {
                pilfer::yield();
            }
            pilfer::scope own; // it has seen no cancellation yet
            own.spawn([&] { ++ran; });
            ADD_FAILURE() << "a spawn of a stopped task returned";
        });
    }
}

TEST(cancel_one_lock, a_first_result_scope_works) {
    for (const unsigned workers : {1U, 2U, 8U}) {
        pilfer::pool pool{{.workers = workers, .backend = pilfer::backend::one_lock}};
        pool.run([] {
            pilfer::first_result_scope<int> s;
            std::atomic<int> late{0};
            s.fork([&] {
                EXPECT_TRUE(s.exit([] {
                    auto [a, b] = pilfer::join([] { return 1; }, [] { return 2; });
                    return a + b;
                }));
                EXPECT_FALSE(s.exit_value(4));
                pilfer::sleep_for(1h);
                ++late;
            });
            s.spawn([&] { ++late; });
            EXPECT_EQ(s.sync(), 3);
            EXPECT_EQ(late, 0);
        });
    }
}

TEST_P(cancel, a_wait_for_a_descriptor_leaves) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC), 0);
    std::atomic<int> told{0};
    pool.run([&] {
        std::atomic<int> begun{0};
        pilfer::scope s;
        for (int i = 0; i < 20; ++i) {
            s.fork([&] {
                char c = 0;
                ++begun;
                const auto error = pilfer::io::read(ends[0], &c, 1).error;
                told += error == std::errc::operation_canceled && pilfer::cancelled() ? 1 : 0;
            });
        }
        s.fork([&] {
            EXPECT_TRUE(soon([&] { return begun == 20; }));
            s.cancel();
        });
        s.sync();
    });
    EXPECT_EQ(told, 20);
    (void)::close(ends[0]);
    (void)::close(ends[1]);
}

// Its time may be over or not: a stopped task leaves; the owner of a cancelled scope sees its end.
TEST_P(cancel, sync_for) {
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            pilfer::scope own;
            own.fork([] { pilfer::sleep_for(1h); });
            while (!own.sync_for(1ms)) {
                s.cancel();
            }
            ADD_FAILURE() << "sync_for() of a stopped task returned true";
        });
        EXPECT_TRUE(s.sync_for(60s));
        EXPECT_FALSE(s.cancelled());
        std::atomic<int> ran{0};
        s.fork([&] { ++ran; });
        EXPECT_TRUE(s.sync_for(60s));
        EXPECT_EQ(ran, 1);
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
