// A task that holds a lock forks children into scopes that are older than the lock. The children are
// cancelled like any others, while the task itself continues to the unlock.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

#include "objects/inside.hpp"
#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class older_scopes : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, older_scopes, testing::Values(1U, 2U, 3U, 8U));

/// Waits for an event that is never set: only a cancellation ends the wait early.
void wait_for_the_cancellation() {
    pilfer::event never;
    EXPECT_FALSE(never.wait_for(60s)) << "nobody sets it";
    ADD_FAILURE() << "not stopped";
}

/// Each way to give a child to a scope.
constexpr int ways = 7;
template <class F>
void give(pilfer::scope& s, int way, F child) {
    switch (way) {
    case 0:
        return s.spawn(std::move(child));
    case 1:
        return s.spawn({.weight = 3}, std::move(child));
    case 2:
        return s.fork(std::move(child));
    case 3:
        return s.fork({.weight = 3}, std::move(child));
    case 4: // too large for a record
        return s.fork([child, room = std::array<char, 4000>()] {
            (void)room;
            child();
        });
    case 5: // too large for the top of a stack: a plain call
        return s.spawn([child, room = std::array<char, 4000>()] {
            (void)room;
            child();
        });
    default: // by a branch on the owner's stack, or by a stolen one
        (void)pilfer::join([] {}, [&] { s.fork(child); });
    }
}

// The holder is a descendant of a cancelled scope. Its children in an older scope never start, whatever the
// lock is and however they are given; those in a scope that began under the lock run. The holder itself is
// not stopped before the unlock, neither by a call of spawn, fork or sync nor by cancelled().
TEST_P(older_scopes, drop_children_while_their_owner_is_shielded) {
    for (int kind = 0; kind < objects::kinds; ++kind) {
        for (int way = 0; way < ways; ++way) {
            objects all;
            bool unlocked = false;
            pool.run([&] {
                pilfer::scope outer;
                outer.spawn([&] {
                    pilfer::scope own;
                    all.inside(kind, [&] {
                        std::atomic<int> ran{0};
                        pilfer::scope younger;
                        outer.cancel();
                        give(own, way, [] { ADD_FAILURE() << "began"; });
                        give(younger, way, [&] { ++ran; });
                        give(own, way, [] { ADD_FAILURE() << "began"; });
                        own.sync();
                        younger.sync();
                        EXPECT_EQ(ran, 1) << "kind " << kind << ", way " << way;
                        EXPECT_FALSE(pilfer::cancelled());
                    });
                    unlocked = true;
                    EXPECT_TRUE(pilfer::cancelled());
                    EXPECT_THROW(own.spawn([] { ADD_FAILURE() << "began"; }), pilfer::stopped);
                    EXPECT_THROW(own.fork([] { ADD_FAILURE() << "began"; }), pilfer::stopped);
                    pilfer::sleep_for(60s);
                    ADD_FAILURE() << "not stopped";
                });
                outer.sync();
            });
            EXPECT_TRUE(unlocked) << "kind " << kind << ", way " << way;
        }
    }
}

// The older scope itself is cancelled. It counts the children that it drops, and takes children again after
// the next sync().
TEST_P(older_scopes, count_dropped_children_and_work_after_sync) {
    const auto before = pool.counters().dropped;
    std::atomic<int> ran{0};
    pool.run([&] {
        pilfer::mutex m;
        pilfer::scope own;
        const std::lock_guard guard(m);
        own.cancel();
        own.fork([] { ADD_FAILURE() << "began"; });
        own.spawn([] { ADD_FAILURE() << "began"; });
        own.sync();
        EXPECT_FALSE(own.cancelled());
        own.fork([&] { ++ran; });
        own.spawn([&] { ++ran; });
        own.sync();
        EXPECT_EQ(ran, 2);
    });
    EXPECT_EQ(ran, 2);
    EXPECT_EQ(pool.counters().dropped - before, 2U);
}

// Children that have begun are taken out of their waits under the lock, not only after it.
TEST_P(older_scopes, stop_running_children_under_the_lock) {
    for (int way = 0; way < ways; ++way) {
        if (way == 5) {
            continue; // a plain call: it would wait for its caller
        }
        std::atomic<bool> began{false};
        pool.run([&] {
            pilfer::mutex m;
            pilfer::scope own;
            const std::lock_guard guard(m);
            give(own, way, [&] {
                began = true;
                wait_for_the_cancellation();
            });
            for (int i = 0; i < 3 || (way < 2 && !began); ++i) { // a spawned child begins at once
                pilfer::yield();
            }
            own.cancel();
            own.sync(); // returns: the child leaves
            EXPECT_FALSE(pilfer::cancelled());
        });
        EXPECT_TRUE(began || way > 1);
    }
}

// A sibling that fails under the lock cancels the scope, and its error arrives.
TEST_P(older_scopes, drop_the_siblings_of_a_failed_child) {
    pool.run([] {
        for (int way = 0; way < ways; ++way) {
            pilfer::mutex m;
            pilfer::scope own;
            const std::lock_guard guard(m);
            own.spawn([] { throw std::out_of_range("a sibling"); });
            while (!own.cancelled()) {
                pilfer::yield();
            }
            give(own, way, [] { ADD_FAILURE() << "began"; });
            EXPECT_THROW(own.sync(), std::out_of_range);
            give(own, way, [] { throw std::length_error("the next round"); });
            EXPECT_THROW(own.sync(), std::length_error);
        }
    });
}

// A spawned child has a stack of its own: it may want the lock that its parent holds.
TEST_P(older_scopes, have_children_that_want_the_lock) {
    for (std::uint64_t round = 0; round < support::hundredth_of(10'000); ++round) {
        std::atomic<int> had{0};
        pool.run([&] {
            pilfer::mutex m;
            pilfer::scope own;
            m.lock();
            for (int i = 0; i < 4; ++i) {
                own.spawn([&] {
                    const std::lock_guard guard(m);
                    EXPECT_FALSE(pilfer::cancelled());
                    ++had;
                });
                EXPECT_EQ(had, 0);
            }
            m.unlock();
            own.sync();
        });
        EXPECT_EQ(had, 4);
    }
}

// The wait of a condition is an unlock and a lock: the holder is cancelled in it, and so are its children.
TEST_P(older_scopes, are_cancelled_while_a_condition_is_awaited) {
    bool over = false;
    pool.run([&] {
        pilfer::mutex m;
        pilfer::condition_variable c;
        pilfer::scope own;
        std::unique_lock lock(m);
        pilfer::event began;
        own.spawn([&] {
            began.set();
            try {
                pilfer::sleep_for(60s);
                ADD_FAILURE() << "not stopped";
            } catch (const pilfer::stopped&) {
                const std::lock_guard guard(m);
                over = true;
                c.notify_one();
            }
        });
        began.wait();
        own.cancel();
        c.wait(lock, [&] { return over; });
        lock.unlock();
        own.sync();
    });
    EXPECT_TRUE(over);
}

// A lock of its own shields a child.
TEST_P(older_scopes, wait_for_a_child_that_holds_a_lock_itself) {
    bool own_unlocked = false;
    pool.run([&] {
        pilfer::event locked;
        pilfer::event unlocked;
        pilfer::mutex m;
        pilfer::mutex of_child;
        pilfer::scope own;
        m.lock();
        own.spawn([&] {
            of_child.lock();
            locked.set();
            unlocked.wait();
            EXPECT_FALSE(pilfer::cancelled());
            of_child.unlock();
            own_unlocked = true;
            EXPECT_TRUE(pilfer::cancelled());
        });
        locked.wait();
        own.cancel();
        m.unlock();
        unlocked.set();
        own.sync();
    });
    EXPECT_TRUE(own_unlocked);
}

// Each task gives the next one to one scope, under a lock and without end. A cancellation ends the chain.
TEST_P(older_scopes, end_a_chain_of_tasks) {
    struct tick {
        pilfer::mutex& m;
        pilfer::scope& to;
        std::atomic<std::uint64_t>& count;
        void operator()() const {
            const std::lock_guard guard(m);
            to.fork(*this);
            ++count;
        }
    };
    std::atomic<std::uint64_t> count{0};
    pool.run([&] {
        std::array<pilfer::mutex, 4> locks;
        pilfer::scope s;
        for (auto& m : locks) {
            s.fork(tick{m, s, count});
        }
        while (count < 100) {
            (void)s.sync_for(100us);
        }
        s.cancel();
        s.sync();
    });
    EXPECT_GE(count, 100U);
}

// Locks and scopes begin and end in any order, and the frame moves meanwhile. The enclosing scope is
// cancelled all the time: children run if, and only if, their scope began under a lock that is still held.
TEST_P(older_scopes, begin_and_end_in_any_order_with_locks) {
    std::mt19937 random(11);
    for (std::uint64_t round = 0; round < support::hundredth_of(20'000); ++round) {
        bool reached = false;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                std::array<pilfer::mutex, 3> locks;
                std::array<bool, 3> held{};
                std::array<std::optional<pilfer::scope>, 3> scopes;
                std::array<bool, 3> shielded{};
                std::array<int, 3> given{};
                std::array<std::atomic<int>, 3> ran{};
                s.cancel();
                const auto any_held = [&] { return held[0] || held[1] || held[2]; };
                const auto awaits = [&](std::size_t k) {
                    if (scopes[k] && any_held()) {
                        scopes[k]->sync();
                        EXPECT_EQ(ran[k], given[k]);
                    }
                };
                for (int step = 0; step < 16; ++step) {
                    const auto i = random() % 3;
                    switch (random() % 4) {
                    case 0:
                        if (held[i] && held[0] + held[1] + held[2] == 1) { // the last unlock ends the shield
                            for (std::size_t k = 0; k < 3; ++k) {
                                awaits(k);
                            }
                            shielded.fill(false);
                        }
                        held[i] ? locks[i].unlock() : locks[i].lock();
                        held[i] = !held[i];
                        break;
                    case 1:
                        awaits(i);
                        scopes[i] ? scopes[i].reset() : void(scopes[i].emplace());
                        shielded[i] = scopes[i] && any_held();
                        given[i] = 0;
                        ran[i] = 0;
                        break;
                    case 2:
                        if (any_held()) {
                            pilfer::yield();
                        }
                        break;
                    default:
                        if (!scopes[i]) {
                            break;
                        }
                        if (!any_held()) {
                            EXPECT_THROW(give(*scopes[i], static_cast<int>(random() % 4),
                                              [] { ADD_FAILURE() << "began"; }),
                                         pilfer::stopped);
                        } else if (shielded[i]) {
                            ++given[i];
                            give(*scopes[i], static_cast<int>(random() % ways), [&ran, i] {
                                pilfer::yield();
                                ++ran[i];
                            });
                        } else {
                            give(*scopes[i], static_cast<int>(random() % ways),
                                 [] { ADD_FAILURE() << "began in an older scope"; });
                        }
                    }
                    EXPECT_EQ(pilfer::cancelled(), !any_held());
                }
                for (std::size_t k = 0; k < 3; ++k) {
                    awaits(k);
                    scopes[k].reset();
                }
                for (std::size_t i = 0; i < 3; ++i) {
                    if (held[i]) {
                        locks[i].unlock();
                    }
                }
                EXPECT_TRUE(pilfer::cancelled());
                reached = true;
            });
            s.sync();
        });
        ASSERT_TRUE(reached);
    }
}

// A scope that ends under a younger lock, and one that is used further after the unlock.
TEST_P(older_scopes, end_under_the_lock_or_go_on_after_it) {
    pool.run([] {
        pilfer::mutex m;
        std::atomic<int> ran{0};
        std::optional<pilfer::scope> first(std::in_place);
        pilfer::scope second;
        {
            const std::lock_guard guard(m);
            first->spawn([&] { ++ran; });
            first->fork([&] { ++ran; });
            first.reset();
            EXPECT_EQ(ran, 2);
            second.fork([&] { ++ran; });
            (void)second.sync_for(-1s);
            second.spawn([&] { ++ran; });
        }
        second.spawn([&] { ++ran; });
        second.sync();
        EXPECT_EQ(ran, 5);
        EXPECT_FALSE(second.cancelled());
        second.spawn(wait_for_the_cancellation);
        second.cancel();
        second.sync();
    });
}

// A cancellation at any moment: a task that has begun to change the object has ended the change, with all
// that it started in a scope of the lock. Children that it gives to its older scope may be missing.
TEST_P(older_scopes, keep_the_invariant) {
    std::mt19937 random(GetParam());
    std::atomic<std::uint64_t> calls{0};
    for (std::uint64_t round = 0; round < support::hundredth_of(100'000); ++round) {
        pilfer::mutex m;
        long from = 0;
        long to = 0;
        const auto seed = static_cast<unsigned>(random());
        pool.run([&] {
            pilfer::scope s;
            for (unsigned i = 0; i < 4; ++i) {
                s.spawn([&, i] {
                    pilfer::scope own;
                    for (unsigned k = 0; k < 20; ++k) {
                        own.spawn([] { pilfer::yield(); });
                        own.fork([] { pilfer::yield(); });
                        std::atomic<int> parts{0};
                        std::atomic<int> done{0};
                        const std::lock_guard guard(m);
                        EXPECT_EQ(from + to, 0) << "a task has left in the middle";
                        --from;
                        {
                            pilfer::scope younger;
                            for (unsigned n = 0; n < 3; ++n) {
                                const auto way = static_cast<int>((seed + i * 5 + k + n * 3) % ways);
                                give(own, way, [&, n] {
                                    if ((seed + k + n) % 4 == 0) {
                                        pilfer::yield();
                                    }
                                    ++parts;
                                });
                                give(younger, way, [&] {
                                    pilfer::yield();
                                    ++done;
                                });
                            }
                            younger.sync();
                        }
                        if ((seed + k) % 3 == 0) {
                            while (!own.sync_for(1h)) {
                            }
                        } else {
                            own.sync();
                        }
                        EXPECT_LE(parts, 3);
                        EXPECT_EQ(done, 3);
                        ++calls;
                        ++to;
                    }
                });
            }
            s.spawn([&] {
                for (unsigned n = (seed >> 8) % 32; n > 0; --n) {
                    pilfer::yield();
                }
                s.cancel();
            });
            s.sync();
        });
        ASSERT_EQ(from + to, 0);
    }
    EXPECT_GT(calls, 0U);
}

} // namespace
