// Scopes around calls of objects: which are shared, which end out of turn, which wait on top of a frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>

#include "sync/support.hpp"

namespace {

using namespace sync_tests;
using support::workers;

class scopes_around_calls : public support::guarded {};
class scopes_out_of_turn : public over_workers {};
class waits_on_top_of_a_frame : public over_workers {};
PILFER_OVER_WORKERS(scopes_out_of_turn);
PILFER_OVER_WORKERS(waits_on_top_of_a_frame);

// ---- shared scopes ----------------------------------------------------------------------------------

TEST_F(scopes_around_calls, a_synchronized_call_that_need_not_wait_shares_no_scope) {
    pilfer::pool pool(workers(2));
    pilfer::synchronized<int> l(0);
    pilfer::monitor<int> q(0);
    pool.run([&] {
        pilfer::scope outer;
        const auto caller = support::thread_id();
        for (int i = 0; i < 100; ++i) {
            l.call([&](int& v) {
                EXPECT_EQ(support::thread_id(), caller);
                ++v;
            });
            q.call_when([i](int v) { return v == i; }, [](int& v) { ++v; });
        }
        EXPECT_FALSE(outer.shared());
    });
    EXPECT_EQ(l.read([](int v) { return v; }), 100);
    EXPECT_EQ(pool.counters().scopes_shared, 0U);
}

// Another worker ends the call, and the frame resumes on its first worker: nothing else is shared.
TEST_F(scopes_around_calls, a_monitor_call_shares_its_own_scope_only) {
    for (const bool leaves : {false, true}) {
        pilfer::pool pool(workers(2));
        pilfer::monitor<int> q(0);
        std::atomic<unsigned> step{0};
        const auto until = [&step](unsigned n) {
            while (step < n) {
                std::this_thread::yield();
            }
        };
        auto server = pool.async([&] {
            step = 1;
            until(2);
            q.call([](int& v) { v = 1; });
            if (!leaves) {
                until(3); // so this worker takes no frame
            }
        });
        until(1);
        long began = 0; // threads, from the system, because compilers keep the result of pthread_self()
        long served = 0;
        long ended = 0;
        auto caller = pool.async([&] {
            pilfer::scope outer;
            pilfer::scope inner;
            began = support::thread_id();
            q.call_when([](int v) { return v == 1; },
                        [&](int& v) {
                            served = support::thread_id();
                            v = 2;
                        });
            ended = support::thread_id();
            EXPECT_EQ(outer.shared(), leaves);
            EXPECT_EQ(inner.shared(), leaves);
            step = 3;
        });
        until_suspended(pool, 1);
        pilfer::future<void> busy;
        if (leaves) {
            busy = pool.async([&] {
                step = 2;
                until(3); // on the caller's first worker
            });
        } else {
            step = 2;
        }
        caller.get();
        server.get();
        if (leaves) {
            busy.get();
        }
        EXPECT_NE(began, served);
        EXPECT_EQ(began != ended, leaves);
        EXPECT_EQ(pool.counters().scopes_shared, leaves ? 3U : 1U);
    }
    pilfer::pool alone(workers(1));
    pilfer::monitor<int> q(0);
    auto caller = alone.async([&] {
        pilfer::scope outer;
        q.call_when([](int v) { return v == 1; }, [](int&) {});
        EXPECT_FALSE(outer.shared());
    });
    until_suspended(alone, 1);
    alone.run([&] { q.call([](int& v) { v = 1; }); });
    caller.get();
    EXPECT_EQ(alone.counters().scopes_shared, 0U);
}

// ---- scopes that end out of turn --------------------------------------------------------------------

// Scopes end out of turn while another worker walks up through them. The order of the two is not fixed, so
// this finds a walk without a lock only now and then (chaos and sanitizers help). mark_scope_cursors and
// mark_below in tests/model find it always.
TEST_P(scopes_out_of_turn, a_scope_ends_out_of_turn_while_a_served_call_forks_from_below) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 50; ++round) {
        pilfer::monitor<int> q(0);
        std::atomic<bool> go{false};
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::scope outer;
            outer.fork([&] {
                while (!go) {
                    std::this_thread::yield();
                }
                q.call([](int& v) { v = 1; }); // serves the call below it, most likely on another worker
            });
            std::optional<pilfer::scope> middle(std::in_place);
            pilfer::scope inner;
            inner.spawn([&] {
                pilfer::scope own;
                q.call_when([](int v) { return v == 1; },
                            [&](int& v) {
                                own.fork([&] { ++ran; });
                                v = 2;
                            });
                own.sync();
                ++ran;
            });
            go = true;
            middle.reset();
            inner.sync();
            outer.sync();
        });
        ASSERT_EQ(ran, 2);
    }
}

TEST_P(scopes_out_of_turn, a_frame_that_moved_ends_a_scope_out_of_turn_while_its_child_suspends) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 50; ++round) {
        pilfer::monitor<int> q(0);
        pilfer::event over;
        std::atomic<bool> go{false};
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::scope outer;
            outer.fork([&] {
                while (!go) {
                    std::this_thread::yield();
                }
                q.call([](int& v) { v = 1; });
            });
            std::optional<pilfer::scope> middle(std::in_place);
            pilfer::scope own;
            own.fork([&] {
                go = true;
                over.wait();
                ++ran;
            });
            q.call_when([](int v) { return v == 1; }, [](int& v) { v = 2; });
            middle.reset();
            over.set();
            own.sync();
            outer.sync();
            ++ran;
        });
        ASSERT_EQ(ran, 2);
    }
}

// ---- waits on top of a frame ------------------------------------------------------------------------

// Q is no child of the inner scope. It waits for a step that the parent takes after the end of that scope.
TEST_P(waits_on_top_of_a_frame, an_inner_sync_returns_with_the_outer_child_suspended) {
    const std::uint64_t rounds =
        std::max<std::uint64_t>(support::hundredth_of(10'000) / (GetParam() > 8 ? 4 : 1), 1);
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < rounds; ++round) {
        pool.run([&] {
            pilfer::monitor<int> go(0);
            std::atomic<bool> a_ran{false};
            std::atomic<bool> q_ran{false};
            const auto q = [&] {
                go.call_when([](int v) { return v == 1; },
                             [&](int& v) {
                                 v = 2;
                                 q_ran = true;
                             });
            };
            pilfer::scope outer;
            if (round % 3 == 0) {
                outer.fork(q); // stolen, or left in the deque
            }
            {
                pilfer::scope inner;
                inner.spawn([&] {
                    a_ran = true;
                    (void)support::fib_join(round % 2 == 0 ? 2 : 12);
                });
                if (round % 3 == 1) {
                    outer.spawn(q);
                } else if (round % 3 == 2) {
                    outer.fork(q);
                }
                inner.sync();
                EXPECT_TRUE(a_ran);
            }
            EXPECT_FALSE(q_ran);
            go.call([](int& v) { v = 1; });
            outer.sync();
            EXPECT_TRUE(q_ran);
        });
    }
}

// On top of the frame that syncs: the newest child waits for an older one, which has not started.
TEST_P(waits_on_top_of_a_frame, a_child_on_top_of_its_parent_waits_for_another_one) {
    pilfer::pool pool(with_workers());
    for (std::uint64_t round = 0; round < support::hundredth_of(10'000); ++round) {
        pool.run([] {
            pilfer::monitor<int> turn(0);
            pilfer::scope s;
            for (const int mine : {2, 0, 1}) {
                s.fork([&turn, mine] {
                    turn.call_when([mine](int v) { return v == mine; }, [](int& v) { ++v; });
                });
            }
            s.sync();
            EXPECT_EQ(turn.read([](int v) { return v; }), 3);
        });
    }
}

} // namespace
