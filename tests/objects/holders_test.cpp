// A task that holds a lock finishes first, with its work in scopes that began under the lock.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <shared_mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <tuple>

#include "objects/inside.hpp"
#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class cancelled_holder : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, cancelled_holder, testing::Values(1U, 2U, 3U, 8U));

/// Yields until it holds, up to a minute.
template <class F>
void until(F holds) {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!holds()) {
        ASSERT_LT(std::chrono::steady_clock::now(), end);
        pilfer::yield();
    }
}

/// Waits for an event that is never set: only a cancellation ends the wait early.
void wait_to_be_stopped() {
    pilfer::event never;
    EXPECT_FALSE(never.wait_for(60s)) << "nobody sets it";
    ADD_FAILURE() << "not stopped";
}

// A task is cancelled while it is inside. Its calls there have their usual results, and it leaves after the
// unlock.
TEST_P(cancelled_holder, finishes_and_leaves_at_the_unlock) {
    for (int kind = 0; kind < objects::kinds; ++kind) {
        objects all;
        std::atomic<bool> entered{false};
        std::atomic<bool> finished{false};
        std::atomic<bool> left{false};
        pilfer::event cancelled;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                struct tells {
                    std::atomic<bool>& it;
                    ~tells() { it = true; }
                };
                const tells guard{left};
                all.inside(kind, [&] {
                    entered = true;
                    cancelled.wait();
                    EXPECT_FALSE(pilfer::cancelled());
                    std::atomic<int> ran{0};
                    pilfer::scope own;
                    own.spawn([&] {
                        pilfer::sleep_for(1us);
                        pilfer::scope further;
                        further.fork([&] { ran += pilfer::cancelled() ? 100 : 1; });
                        further.sync();
                    });
                    own.fork([&] { ++ran; });
                    own.sync();
                    EXPECT_EQ(ran, 2);
                    EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
                    pilfer::for_each(0, 1000, [&](int) { ++ran; });
                    EXPECT_EQ(ran, 1002);
                    pilfer::sleep_for(1us);
                    EXPECT_FALSE(pilfer::cancelled());
                    finished = true;
                });
                EXPECT_TRUE(pilfer::cancelled());
                wait_to_be_stopped();
            });
            until([&] { return entered.load(); });
            s.cancel();
            cancelled.set();
            s.sync();
            EXPECT_TRUE(finished) << "kind " << kind;
            EXPECT_TRUE(left);
        });
    }
}

// Of the children of one scope, which began before the lock, those that hold no lock are stopped; the parent,
// which holds one, is not.
TEST_P(cancelled_holder, older_children_are_stopped) {
    pilfer::mutex mine;
    pilfer::mutex of_a_child;
    std::atomic<int> waiting{0};
    std::atomic<bool> finished{false};
    std::atomic<bool> synced{false};
    pilfer::event cancelled;
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            pilfer::scope own;
            own.spawn([&] {
                ++waiting;
                wait_to_be_stopped();
            });
            own.spawn([&] {
                const std::lock_guard guard(of_a_child);
                ++waiting;
                cancelled.wait();
                pilfer::sleep_for(1us);
                finished = true;
            });
            {
                const std::lock_guard guard(mine);
                ++waiting;
                own.sync();
                EXPECT_FALSE(pilfer::cancelled());
                EXPECT_TRUE(finished);
                synced = true;
            }
            EXPECT_TRUE(pilfer::cancelled());
            pilfer::sleep_for(60s);
            ADD_FAILURE() << "not stopped";
        });
        until([&] { return waiting == 3; });
        s.cancel();
        cancelled.set();
        s.sync();
        EXPECT_TRUE(synced);
    });
}

// A scope begins under the lock and outlives it: its waiting child is taken out at the unlock.
TEST_P(cancelled_holder, a_scope_outlives_the_lock) {
    for (std::uint64_t round = 0; round < support::hundredth_of(10'000); ++round) {
        pilfer::mutex m;
        std::atomic<bool> inside{false};
        std::atomic<bool> waits{false};
        std::atomic<bool> left{false};
        pilfer::event cancelled;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                std::optional<pilfer::scope> before;
                before.emplace();
                m.lock();
                pilfer::scope own;
                pilfer::scope further;
                own.spawn([&] {
                    struct tells {
                        std::atomic<bool>& it;
                        ~tells() { it = true; }
                    };
                    const tells guard{left};
                    waits = true;
                    wait_to_be_stopped();
                });
                before.reset(); // out of turn: it leaves the lock to the next one
                inside = true;
                if (round % 2 == 0) {
                    cancelled.wait();
                    EXPECT_FALSE(pilfer::cancelled());
                }
                if (!left) {
                    m.unlock();
                } else {
                    ADD_FAILURE() << "stopped under the lock";
                }
                until([&] { return left.load(); });
                EXPECT_TRUE(pilfer::cancelled());
                further.sync();
                pilfer::sleep_for(60s);
                ADD_FAILURE() << "not stopped";
            });
            until([&] { return inside && waits; });
            s.cancel();
            cancelled.set();
            s.sync();
        });
        EXPECT_TRUE(left);
    }
}

// Scopes and locks begin and end in any order: in the end nothing is left that keeps the task.
TEST_P(cancelled_holder, scopes_and_locks_in_any_order) {
    std::mt19937 random(7);
    for (std::uint64_t round = 0; round < support::hundredth_of(20'000); ++round) {
        pool.run([&] {
            pilfer::scope s;
            bool reached = false;
            s.spawn([&] {
                pilfer::mutex locks[3];
                bool held[3] = {};
                std::optional<pilfer::scope> scopes[3];
                s.cancel();
                for (int step = 0; step < 12; ++step) {
                    const auto i = random() % 3;
                    if (random() % 2 == 0) {
                        held[i] ? locks[i].unlock() : locks[i].lock();
                        held[i] = !held[i];
                    } else if (scopes[i]) {
                        scopes[i].reset();
                    } else {
                        scopes[i].emplace();
                    }
                    EXPECT_EQ(pilfer::cancelled(), !held[0] && !held[1] && !held[2]);
                }
                for (int i = 0; i < 3; ++i) {
                    if (held[i]) {
                        locks[i].unlock();
                    }
                }
                EXPECT_TRUE(pilfer::cancelled());
                reached = true;
            });
            s.sync();
            EXPECT_TRUE(reached);
        });
    }
}

// A scope that begins under the lock can be cancelled like any.
TEST_P(cancelled_holder, a_cancellation_of_an_inner_scope_acts_at_once) {
    pool.run([] {
        pilfer::synchronized<int> object(0);
        object.call([](int&) {
            pilfer::scope s;
            s.spawn([] { wait_to_be_stopped(); });
            s.cancel();
            s.sync();
            s.spawn([] { wait_to_be_stopped(); });
            s.fork([] { throw std::out_of_range("a sibling"); });
            EXPECT_THROW(s.sync(), std::out_of_range);
        });
        // And the exit of a holder is over for it at the unlock.
        pilfer::first_result_scope<int> e;
        pilfer::mutex m;
        bool unlocked = false;
        e.spawn([&] {
            m.lock();
            EXPECT_TRUE(e.exit_value(3));
            EXPECT_FALSE(pilfer::cancelled());
            m.unlock();
            unlocked = true;
            pilfer::sleep_for(60s);
            ADD_FAILURE() << "not stopped";
        });
        EXPECT_EQ(e.sync(), 3);
        EXPECT_TRUE(unlocked);
    });
}

// A stolen branch of a join under the lock belongs to the holder; its own locks end nothing of that.
TEST_P(cancelled_holder, a_stolen_branch_under_the_lock_is_not_stopped) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::mutex outer;
    pilfer::mutex inner;
    std::atomic<bool> stolen{false};
    pilfer::event cancelled;
    bool finished = false;
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            const std::lock_guard guard(outer);
            finished = std::get<1>(pilfer::join(
                [&] {
                    while (!stolen) {
                        std::this_thread::yield();
                    }
                },
                [&] {
                    stolen = true;
                    { const std::lock_guard own(inner); }
                    cancelled.wait();
                    { const std::lock_guard own(inner); }
                    pilfer::sleep_for(1us);
                    return !pilfer::cancelled();
                }));
        });
        until([&] { return stolen.load(); });
        s.cancel();
        cancelled.set();
        s.sync();
        EXPECT_TRUE(finished);
    });
}

// It may end scopes that began before its own locks, in their turn and out of it, and is excepted as before.
TEST_P(cancelled_holder, a_stolen_branch_ends_older_scopes_under_a_lock_of_its_own) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    for (const bool in_turn : {true, false}) {
        pilfer::mutex outer;
        pilfer::mutex inner;
        std::atomic<bool> stolen{false};
        pilfer::event cancelled;
        bool excepted = false;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                const std::lock_guard guard(outer);
                excepted = std::get<1>(pilfer::join(
                    [&] {
                        while (!stolen) {
                            std::this_thread::yield();
                        }
                    },
                    [&] {
                        stolen = true;
                        cancelled.wait();
                        std::optional<pilfer::scope> older(std::in_place);
                        inner.lock();
                        {
                            std::optional<pilfer::scope> younger(std::in_place);
                            if (in_turn) {
                                younger.reset();
                            }
                            older.reset();
                        }
                        inner.unlock();
                        return !pilfer::cancelled();
                    }));
            });
            until([&] { return stolen.load(); });
            s.cancel();
            cancelled.set();
            s.sync();
        });
        EXPECT_TRUE(excepted) << in_turn;
    }
}

// A notification that is due at the unlock runs foreign code, which may want the lock.
TEST_P(cancelled_holder, an_unlock_ends_before_its_notifications) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "the child must run while its parent does";
    }
    pilfer::mutex m;
    std::atomic<bool> listens{false};
    std::atomic<bool> free{false};
    std::atomic<bool> told{false};
    std::atomic<bool> unlocked{false};
    pilfer::event cancelled;
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            std::unique_lock guard(m);
            pilfer::scope own;
            own.fork([&] {
                const pilfer::stop_on_cancel relay;
                const std::stop_callback callback(relay.token(), [&] {
                    free = m.try_lock();
                    if (free) {
                        m.unlock();
                    }
                    told = true;
                });
                listens = true;
                while (!unlocked) {
                    std::this_thread::yield();
                }
            });
            until([&] { return listens.load(); });
            cancelled.wait();
            guard.unlock();
            unlocked = true;
            own.sync();
        });
        until([&] { return listens.load(); });
        s.cancel();
        cancelled.set();
        s.sync();
    });
    EXPECT_TRUE(told);
    EXPECT_TRUE(free);
}

// A cancellation at any moment: a task that has begun to change the object finishes, with all its children.
TEST_P(cancelled_holder, the_invariant_holds) {
    struct account {
        long from = 0;
        long to = 0;
        long parts = 0;
    };
    std::atomic<std::uint64_t> calls{0};
    std::mt19937 random(GetParam());
    for (std::uint64_t round = 0; round < support::hundredth_of(100'000); ++round) {
        pilfer::mutex m;
        account by_mutex;
        pilfer::synchronized<account> locked;
        pilfer::monitor<account> queued;
        const auto seed = random();
        std::atomic<bool> done{false};
        const auto move = [&calls](account& a, unsigned how) {
            EXPECT_EQ(a.from + a.to, 0) << "somebody has left in the middle";
            ++calls;
            --a.from;
            std::atomic<long> parts{0};
            pilfer::scope own;
            if (how % 5 == 0) {
                pilfer::sleep_for(1us);
            } else if (how % 5 == 1) {
                own.spawn([&] {
                    pilfer::yield();
                    ++parts;
                });
                own.fork([&] { ++parts; });
                own.sync();
                EXPECT_EQ(parts, 2);
            } else if (how % 5 == 2) {
                (void)pilfer::join([&] { ++parts; }, [&] { ++parts; });
                EXPECT_EQ(parts, 2);
            } else if (how % 5 == 3) {
                pilfer::event e;
                own.fork([&] { e.set(); });
                own.spawn([&] { e.wait(); });
                own.sync();
            } else {
                pilfer::for_each(0, 10, [&](int) { ++parts; });
                EXPECT_EQ(parts, 10);
            }
            a.parts += parts;
            ++a.to;
        };
        pool.run([&] {
            pilfer::scope s;
            for (unsigned i = 0; i < 6; ++i) {
                const auto task = [&, i, how = seed] {
                    for (unsigned k = 0; k < 50; ++k) {
                        const auto what = static_cast<unsigned>(how + i * 7 + k);
                        if (i % 3 == 0) {
                            const std::lock_guard guard(m);
                            move(by_mutex, what);
                        } else if (i % 3 == 1) {
                            locked.call([&](account& a) { move(a, what); });
                        } else {
                            // Odd ones wait until even ones have served them.
                            queued.call_when([k](const account& a) { return k % 2 == 0 || a.to % 2 == 1; },
                                             [&](account& a) { move(a, what); });
                        }
                    }
                };
                if (i % 2 == 0) {
                    s.spawn(task);
                } else {
                    s.fork(task);
                }
            }
            s.fork([&] {
                for (unsigned n = static_cast<unsigned>(seed >> 8) % 32; n > 0; --n) {
                    pilfer::yield();
                }
                s.cancel();
                done = true;
            });
            s.sync();
        });
        ASSERT_EQ(by_mutex.from + by_mutex.to, 0);
        locked.read([](const account& a) { ASSERT_EQ(a.from + a.to, 0); });
        queued.read([](const account& a) { ASSERT_EQ(a.from + a.to, 0); });
        ASSERT_TRUE(done);
    }
    EXPECT_GT(calls, 0U);
}

} // namespace
