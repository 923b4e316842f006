// What a holder of a lock gives to scopes that began before the lock finishes before the unlock, or is
// stopped as any behind it: row D6.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>

#include "objects/inside.hpp"
#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

class row_D6_older_scopes : public testing::TestWithParam<unsigned> {
protected:
    support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, row_D6_older_scopes, testing::Values(1U, 2U, 3U, 8U));

/// Waits for what nobody does: only a cancellation ends it early.
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
    default: // by a branch on the owner's stack, or by one that was stolen
        (void)pilfer::join([] {}, [&] { s.fork(child); });
    }
}

// Announced under the lock, before the cancellation and behind it: both run, and nothing stops them as long
// as the lock is held. The ones from before it are stopped.
TEST_P(row_D6_older_scopes, what_a_holder_gives_there_finishes) {
    for (int way = 0; way < ways; ++way) {
        pilfer::mutex m;
        std::atomic<int> finished{0};
        bool unlocked = false;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                pilfer::scope own;
                own.spawn(wait_for_the_cancellation);
                m.lock();
                const auto child = [&] {
                    EXPECT_FALSE(pilfer::cancelled());
                    pilfer::sleep_for(1us);
                    std::atomic<int> ran{0};
                    pilfer::scope further;
                    further.spawn([&] { ++ran; });
                    further.fork([&] {
                        pilfer::yield();
                        ++ran;
                    });
                    further.sync();
                    EXPECT_EQ(ran, 2);
                    EXPECT_FALSE(pilfer::cancelled());
                    ++finished;
                };
                give(own, way, child);
                s.cancel();
                give(own, way, child);
                EXPECT_FALSE(pilfer::cancelled());
                own.sync();
                EXPECT_EQ(finished, 2) << "way " << way;
                give(own, way, child); // told by now
                own.sync();
                m.unlock();
                unlocked = true;
                EXPECT_TRUE(pilfer::cancelled());
                EXPECT_THROW(own.spawn([] { ADD_FAILURE() << "began"; }), pilfer::stopped);
                EXPECT_THROW(own.fork([] { ADD_FAILURE() << "began"; }), pilfer::stopped);
                EXPECT_THROW(own.sync(), pilfer::stopped);
                EXPECT_EQ(finished, 3) << "way " << way;
                pilfer::sleep_for(60s);
                ADD_FAILURE() << "not stopped";
            });
            s.sync();
        });
        EXPECT_TRUE(unlocked);
    }
}

// Of forked children that nobody has started the cancellation drops those from before the lock, and those
// from under it that the holder has not awaited.
TEST_P(row_D6_older_scopes, only_what_was_given_under_the_lock) {
    if (GetParam() != 1) {
        GTEST_SKIP() << "others would start them";
    }
    const auto dropped = [this] { return pool.counters().dropped; };
    const auto before = dropped();
    int ran = 0;
    pool.run([&] {
        pilfer::mutex m;
        pilfer::scope own;
        own.fork([] { ADD_FAILURE() << "from before"; });
        m.lock();
        own.fork([&] { ++ran; });
        own.fork([&] { ++ran; });
        own.cancel();
        own.fork([&] { ++ran; });
        own.sync();
        EXPECT_EQ(ran, 3);
        EXPECT_FALSE(own.cancelled());
        own.cancel();
        own.fork([] { ADD_FAILURE() << "begins behind the unlock"; });
        m.unlock();
        own.fork([] { ADD_FAILURE() << "from behind"; });
        own.sync();
        own.fork([&] { ++ran; });
        own.sync();
    });
    EXPECT_EQ(ran, 4);
    EXPECT_EQ(dropped() - before, 3U);
}

// The holder runs them itself where it waits, as it runs its others: its worker takes up nothing else.
TEST_P(row_D6_older_scopes, run_on_the_holders_stack) {
    if (GetParam() != 1) {
        GTEST_SKIP() << "others would start them";
    }
    const auto before = pool.counters().suspends;
    int ran = 0;
    pool.run([&] {
        pilfer::mutex m;
        pilfer::scope own;
        own.fork([&] { ++ran; });
        const std::lock_guard guard(m);
        own.fork([&] { ++ran; });
        own.fork([&] { ++ran; });
        own.sync();
        EXPECT_EQ(ran, 3);
    });
    EXPECT_EQ(pool.counters().suspends, before);
}

// Whatever is held, and however.
TEST_P(row_D6_older_scopes, by_every_kind_of_lock) {
    for (int kind = 0; kind < objects::kinds; ++kind) {
        for (int way = 0; way < ways; ++way) {
            std::atomic<int> ran{0};
            pool.run([&] {
                objects all;
                pilfer::scope own;
                own.cancel();
                all.inside(kind, [&] {
                    give(own, way, [&] {
                        pilfer::yield();
                        ++ran;
                    });
                    own.sync();
                    own.cancel();
                });
                EXPECT_EQ(ran, 1) << "kind " << kind << ", way " << way;
                give(own, way, [] { ADD_FAILURE() << "began"; });
                own.sync();
            });
        }
    }
}

// Where a condition is awaited the lock is free.
TEST_P(row_D6_older_scopes, is_stopped_while_the_holder_awaits_a_condition) {
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

// A sibling that fails cancels the scope: what the holder gives to it runs all the same, and the error
// arrives.
TEST_P(row_D6_older_scopes, a_failed_scope_takes_what_a_holder_gives) {
    pool.run([] {
        for (int way = 0; way < ways; ++way) {
            pilfer::mutex m;
            std::atomic<int> ran{0};
            pilfer::scope own;
            own.spawn([] { throw std::out_of_range("a sibling"); });
            m.lock();
            give(own, way, [&] { ++ran; });
            EXPECT_THROW(own.sync(), std::out_of_range);
            EXPECT_EQ(ran, 1) << "way " << way;
            give(own, way, [] { throw std::length_error("of a holder"); });
            EXPECT_THROW(own.sync(), std::length_error);
            m.unlock();
        }
    });
}

// The child has a stack of its own: it may want the very lock.
TEST_P(row_D6_older_scopes, a_child_may_want_the_lock) {
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

// Scopes of others: what it gives to these are children of their owner, and stopped with them.
TEST_P(row_D6_older_scopes, a_holder_that_does_not_own_the_scope) {
    pilfer::pool other({.workers = 2});
    const auto dropped = [&] { return pool.counters().dropped + other.counters().dropped; };
    const auto before = dropped();
    bool unlocked = false;
    pool.run([&] {
        const auto child = [] { ADD_FAILURE() << "began"; };
        pilfer::scope outer;
        outer.spawn([&] {
            pilfer::scope inner;
            inner.spawn([&] {
                pilfer::mutex m;
                m.lock();
                pilfer::scope own;
                outer.cancel();
                EXPECT_FALSE(pilfer::cancelled());
                outer.fork(child);
                (void)pilfer::join([] {}, [&] { outer.fork(child); });
                other.run([&] { outer.fork(child); });
                m.unlock();
                unlocked = true;
                EXPECT_THROW(inner.fork(child), pilfer::stopped);
                throw pilfer::stopped();
            });
            inner.sync();
        });
        outer.sync();
    });
    EXPECT_TRUE(unlocked);
    EXPECT_GE(dropped() - before, 3U); // the last one throws before or behind its drop
    EXPECT_LE(dropped() - before, 4U);
}

// What is below of a child that was given under the lock gives further, to the same scope.
TEST_P(row_D6_older_scopes, what_was_given_gives) {
    std::atomic<int> ran{0};
    pool.run([&] {
        pilfer::scope outer;
        outer.spawn([&] {
            pilfer::mutex m;
            pilfer::scope own;
            pilfer::scope younger;
            m.lock();
            outer.cancel();
            const auto child = [&] {
                own.fork([&] { ++ran; });
                pilfer::scope further;
                further.spawn([&] { own.fork([&] { ++ran; }); });
                further.sync();
            };
            own.spawn(child);
            own.fork(child);
            younger.spawn(child);
            {
                pilfer::scope under;
                under.fork(child);
                under.spawn(child);
                under.sync();
            }
            younger.sync();
            own.sync();
            EXPECT_EQ(ran, 10);
            m.unlock();
            EXPECT_TRUE(pilfer::cancelled());
        });
        outer.sync();
    });
    EXPECT_EQ(ran, 10);
}

// A child that was given under a lock and ends only by a cancellation: both orders of that and the unlock.
TEST_P(row_D6_older_scopes, is_stopped_behind_the_unlock) {
    int begun = 0;
    for (int way = 0; way < ways; ++way) {
        if (way == 5) {
            continue; // a plain call: it would wait for its caller
        }
        for (const bool cancelled_first : {false, true}) {
            for (int kind = 0; kind < 4; ++kind) {
                std::atomic<bool> began{false};
                std::atomic<bool> ended{false};
                std::atomic<bool> unlocked{false};
                pool.run([&] {
                    pilfer::event never;
                    pilfer::mutex m;
                    pilfer::scope own;
                    m.lock();
                    give(own, way, [&, kind] {
                        struct tells {
                            std::atomic<bool>& it;
                            const std::atomic<bool>& unlocked;
                            ~tells() {
                                EXPECT_TRUE(unlocked) << "stopped under the lock";
                                it = true;
                            }
                        };
                        const tells guard{ended, unlocked};
                        began = true;
                        switch (kind) {
                        case 0:
                            while (!pilfer::cancelled()) {
                                pilfer::yield();
                            }
                            break;
                        case 1:
                            never.wait();
                            break;
                        case 2: {
                            pilfer::scope inner;
                            inner.spawn([&] { never.wait(); });
                            inner.sync();
                            break;
                        }
                        default: {
                            const pilfer::stop_on_cancel stop;
                            while (!stop.token().stop_requested()) {
                                pilfer::yield();
                            }
                        }
                        }
                    });
                    if (cancelled_first) {
                        own.cancel();
                    }
                    for (int i = 0; i < 3; ++i) {
                        pilfer::yield();
                    }
                    unlocked = true;
                    m.unlock();
                    own.cancel();
                    own.sync();
                    EXPECT_EQ(began, ended) << "way " << way << ", kind " << kind;
                    begun += began ? 1 : 0;
                });
            }
        }
    }
    EXPECT_GE(begun, 8); // who spawns goes on behind the begin; a forked one may come too late
}

// The second of two locks is younger than a scope that the first one is not.
TEST_P(row_D6_older_scopes, of_two_locks) {
    for (int way = 0; way < ways; ++way) {
        std::atomic<int> ran{0};
        pool.run([&] {
            pilfer::mutex a;
            pilfer::mutex b;
            const std::lock_guard first(a);
            pilfer::scope own;
            own.spawn(wait_for_the_cancellation);
            {
                const std::lock_guard second(b);
                own.cancel();
                const auto child = [&] {
                    pilfer::yield();
                    ++ran;
                };
                give(own, way, child);
                pilfer::scope younger;
                younger.spawn([&] { own.fork(child); });
                younger.sync();
                own.sync();
                EXPECT_EQ(ran, 2) << "way " << way;
            }
            if (way == 5) {
                return; // a plain call
            }
            give(own, way, wait_for_the_cancellation); // under the first one only, which is older
            own.cancel();
            own.sync();
        });
        EXPECT_EQ(ran, 2) << "way " << way;
    }
}

// A lock of its own shields a child further on.
TEST_P(row_D6_older_scopes, a_child_that_holds_a_lock_itself) {
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

// Tasks without end that each give the next one under a lock.
struct ticks {
    pilfer::mutex& m;
    pilfer::scope& to;
    std::atomic<std::uint64_t>& count;
    void operator()() const {
        const std::lock_guard guard(m);
        to.fork(*this);
        ++count;
    }
};

TEST_P(row_D6_older_scopes, a_chain_ends) {
    std::atomic<std::uint64_t> count{0};
    pool.run([&] {
        std::array<pilfer::mutex, 4> locks;
        pilfer::scope s;
        for (auto& m : locks) {
            s.fork(ticks{m, s, count});
        }
        while (count < 100) {
            (void)s.sync_for(100us);
        }
        s.cancel();
        s.sync();
    });
    EXPECT_GE(count, 100U);
}

// Its tasks are older than a lock of the owner, who awaits them under that: they are none of what it gives.
TEST_P(row_D6_older_scopes, an_older_chain_ends_under_the_lock) {
    for (int from = 0; from < 3; ++from) {
        std::atomic<std::uint64_t> count{0};
        pool.run([&] {
            pilfer::mutex of_tasks;
            pilfer::mutex of_owner;
            pilfer::scope own;
            pilfer::scope inner;
            if (from == 0) {
                own.fork(ticks{of_tasks, own, count});
            } else if (from == 1) {
                inner.fork(ticks{of_tasks, own, count});
            } else {
                inner.fork([&] {
                    pilfer::scope below;
                    below.fork(ticks{of_tasks, inner, count});
                    below.sync();
                });
            }
            const std::lock_guard guard(of_owner);
            while (count < 100) {
                pilfer::sleep_for(100us);
            }
            inner.cancel();
            own.cancel();
            inner.sync();
            own.sync();
        });
        EXPECT_GE(count, 100U);
    }
}

// Locks and scopes begin and end in any order, and the frame moves meanwhile. In the end all is as it was.
TEST_P(row_D6_older_scopes, in_any_order) {
    std::mt19937 random(11);
    for (std::uint64_t round = 0; round < support::hundredth_of(20'000); ++round) {
        std::atomic<int> given{0};
        std::atomic<int> ran{0};
        bool reached = false;
        pool.run([&] {
            pilfer::scope s;
            s.spawn([&] {
                std::array<pilfer::mutex, 3> locks;
                std::array<bool, 3> held{};
                std::array<std::optional<pilfer::scope>, 3> scopes;
                s.cancel();
                std::array<bool, 3> younger{}; // than the lock: what it is given may be stopped at the unlock
                const auto any_held = [&] { return held[0] || held[1] || held[2]; };
                for (int step = 0; step < 16; ++step) {
                    const auto i = random() % 3;
                    switch (random() % 4) {
                    case 0:
                        if (held[i] && held[0] + held[1] + held[2] == 1) { // what was given finishes before
                            for (std::size_t k = 0; k < 3; ++k) {
                                if (scopes[k] && !younger[k]) {
                                    scopes[k]->sync();
                                }
                            }
                            EXPECT_EQ(given, ran);
                        }
                        held[i] ? locks[i].unlock() : locks[i].lock();
                        held[i] = !held[i];
                        if (!any_held()) {
                            younger.fill(false);
                        }
                        break;
                    case 1:
                        scopes[i] ? scopes[i].reset() : void(scopes[i].emplace());
                        younger[i] = any_held();
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
                        if (any_held()) {
                            given += younger[i] ? 0 : 1;
                            give(*scopes[i], static_cast<int>(random() % ways), [&, counts = !younger[i]] {
                                if (counts) {
                                    pilfer::yield();
                                    ++ran;
                                }
                            });
                        } else {
                            EXPECT_THROW(give(*scopes[i], static_cast<int>(random() % 4),
                                              [] { ADD_FAILURE() << "began"; }),
                                         pilfer::stopped);
                        }
                    }
                    EXPECT_EQ(pilfer::cancelled(), !any_held());
                }
                for (auto& own : scopes) {
                    own.reset();
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
        ASSERT_EQ(given, ran);
    }
}

// A scope that ends under a lock that is younger, and one that is used further behind the unlock.
TEST_P(row_D6_older_scopes, ends_under_the_lock_or_goes_on_behind_it) {
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

// Only the owner spawns and awaits, under a lock as ever.
TEST_P(row_D6_older_scopes, belong_to_their_owner) {
    pool.run([] {
        pilfer::mutex m;
        pilfer::scope own;
        m.lock();
        own.spawn([&] {
            EXPECT_THROW(own.spawn([] {}), pilfer::usage_error);
            EXPECT_THROW(own.sync(), pilfer::usage_error);
            EXPECT_THROW((void)own.sync_for(1s), pilfer::usage_error);
        });
        std::thread([&] {
            EXPECT_THROW(own.spawn([] {}), pilfer::usage_error);
            EXPECT_THROW(own.fork([] {}), pilfer::usage_error);
            EXPECT_THROW(own.sync(), pilfer::usage_error);
        }).join();
        m.unlock();
        own.sync();
    });
}

// The exit of a holder's own scope ends what was there before; what it gives to it under the lock runs.
TEST_P(row_D6_older_scopes, an_exit_under_the_lock) {
    pool.run([] {
        pilfer::mutex m;
        std::atomic<int> ran{0};
        pilfer::first_result_scope<int> e;
        e.spawn(wait_for_the_cancellation);
        m.lock();
        EXPECT_TRUE(e.exit_value(3));
        e.spawn([&] {
            pilfer::sleep_for(1us);
            ++ran;
        });
        e.fork([&] { ++ran; });
        EXPECT_EQ(e.sync(), 3);
        EXPECT_EQ(ran, 2);
        m.unlock();
    });
}

// A cancellation at any moment: who has begun to change the object has ended it, with what it gave to a scope
// that it has had all along.
TEST_P(row_D6_older_scopes, the_invariant_holds) {
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
                        const std::lock_guard guard(m);
                        EXPECT_EQ(from + to, 0) << "somebody has left in the middle";
                        --from;
                        for (unsigned n = 0; n < 3; ++n) {
                            give(own, static_cast<int>((seed + i * 5 + k + n * 3) % ways), [&, n] {
                                if ((seed + k + n) % 4 == 0) {
                                    pilfer::yield();
                                }
                                ++parts;
                            });
                        }
                        if ((seed + k) % 3 == 0) {
                            while (!own.sync_for(1h)) {
                            }
                        } else {
                            own.sync();
                        }
                        EXPECT_EQ(parts, 3);
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
