// A stolen branch of a join has thrown: who is stopped, when, and for how long.
#include <optional>
#include <stop_token>

#include <pilfer/detail/cancel/failing.hpp>
#include <pilfer/pilfer.hpp>

#include "join/failing.hpp"

namespace {

using join_tests::broken;
using pilfer::detail::this_worker;

class failing_after : public join_tests::failing {
protected:
    /// What has thrown has been told.
    static void until_told() {
        using pilfer::detail::tripwire;
        while (!this_worker()->deque.trip().has(tripwire<pilfer::detail::std_atom>::stop)) {
            std::this_thread::yield();
        }
    }
};
INSTANTIATE_TEST_SUITE_P(workers, failing_after, testing::Values(2U, 3U, 8U));

/// A scope that was made there and lives on: neither its owner nor its next children are stopped by that
/// join, whatever else is cancelled.
TEST_P(failing_after, scopes_that_outlive_the_join_are_stopped_by_it_no_more) {
    pool.run([&] {
        std::optional<pilfer::scope> outer;
        std::optional<pilfer::scope> inner;
        std::atomic<int> dropped{0};
        const auto makes = [&] {
            until(stolen);
            outer.emplace();
            inner.emplace();
            go_on = true;
            while (!pilfer::cancelled()) {
                std::this_thread::yield();
            }
            try {
                inner->fork([&] { ++dropped; });
                ADD_FAILURE() << "not stopped";
            } catch (const pilfer::stopped&) {
            }
        };
        EXPECT_THROW(pilfer::join(makes, fails()), broken);
        EXPECT_FALSE(pilfer::cancelled());
        std::atomic<int> ran{0};
        inner->fork([&] { ++ran; });
        inner->spawn([&] { ++ran; });
        outer->fork([&] { ++ran; });
        outer->spawn([&] { ++ran; });
        {
            pilfer::scope other;
            other.cancel(); // so that everybody looks
            EXPECT_FALSE(pilfer::cancelled());
            EXPECT_EQ(pilfer::join([] { return 1; }, [] { return 2; }), std::tuple(1, 2));
            inner->spawn([&] {
                EXPECT_FALSE(pilfer::cancelled());
                ++ran;
            });
        }
        inner->sync();
        outer->sync();
        EXPECT_EQ(ran, 5);
        EXPECT_EQ(dropped, 0);
        inner.reset();
        outer.reset();
    });
}

/// The same where something else stops it: that stays.
TEST_P(failing_after, but_by_what_else_stops_them) {
    pool.run([&] {
        pilfer::scope around;
        around.spawn([&] {
            std::optional<pilfer::scope> made;
            const auto makes = [&] {
                until(stolen);
                made.emplace();
                go_on = true;
                while (!pilfer::cancelled()) {
                    std::this_thread::yield();
                }
                around.cancel();
            };
            EXPECT_THROW(pilfer::join(makes, fails()), std::exception);
            EXPECT_TRUE(pilfer::cancelled());
            EXPECT_THROW(made->fork([] { ADD_FAILURE() << "it begins"; }), pilfer::stopped);
        });
        around.sync();
    });
}

/// In the midst of a call that only asks no callback of a stop_on_cancel runs: the caller may hold anything.
TEST_P(failing_after, who_asks_runs_no_callbacks) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "needs a worker for the branch, one for the child, one that asks";
    }
    pool.run([&] {
        std::atomic<bool> ready{false};
        std::atomic<bool> called{false};
        std::atomic<bool> asks{false};
        std::thread::id who;
        const auto runs = [&] {
            until(stolen);
            const auto unplaced = std::make_unique<pilfer::scope>(); // on no stack: told by its owner alone
            unplaced->spawn([&] {
                const pilfer::stop_on_cancel relay;
                const std::stop_callback callback(relay.token(), [&] {
                    EXPECT_FALSE(asks && std::this_thread::get_id() == who) << "inside of cancelled()";
                    called = true;
                });
                ready = true;
                until(called);
            });
            until(ready);
            who = std::this_thread::get_id();
            go_on = true;
            until_told();
            asks = true;
            EXPECT_TRUE(pilfer::cancelled());
            asks = false;
            until(called); // by somebody else
            unplaced->sync();
        };
        EXPECT_THROW(pilfer::join(runs, fails()), broken);
    });
}

/// What makes the value of an exit is excepted, also from a join inside of which it is made.
TEST_P(failing_after, the_value_of_an_exit_is_made) {
    pool.run([&] {
        pilfer::first_result_scope<int> exit;
        std::atomic<int> ran{0};
        const auto leaves = [&] {
            until(stolen);
            EXPECT_TRUE(exit.exit([&] {
                pilfer::scope within;
                within.fork([&] { ++ran; });
                go_on = true;
                pilfer::sleep_for(
                    std::chrono::milliseconds(20)); // enough, as a rule, for the branch to throw
                EXPECT_FALSE(pilfer::cancelled());
                within.spawn([&] { ++ran; });
                within.sync();
                return 7;
            }));
            while (!pilfer::cancelled()) { // as part of the join
                std::this_thread::yield();
            }
        };
        EXPECT_THROW(pilfer::join(leaves, fails()), broken);
        EXPECT_EQ(exit.sync(), 7);
        EXPECT_EQ(ran, 2);
    });
}

/// A lock further out than the scopes of the task that joins: it is a holder's, and finishes first.
TEST_P(failing_after, what_a_holder_has_spawned_goes_on_below_of_scopes_of_its_own) {
    pool.run([&] {
        pilfer::mutex m;
        const std::lock_guard hold(m);
        pilfer::scope under_lock;
        bool to_the_end = false;
        under_lock.spawn([&] {
            pilfer::scope outer;
            pilfer::scope inner;
            const auto runs = [&] {
                until(stolen);
                go_on = true;
                until_told();
                EXPECT_FALSE(pilfer::cancelled());
                to_the_end = true;
            };
            EXPECT_THROW(pilfer::join(runs, fails()), broken);
        });
        under_lock.sync();
        EXPECT_TRUE(to_the_end);
    });
}

/// A frame that throws by itself waits for its children in destructors: these are stopped, too.
TEST_P(failing_after, children_of_a_frame_that_unwinds_are_stopped) {
    pool.run([&] {
        std::atomic<bool> waits{false};
        struct other : std::exception {};
        const auto throws = [&] {
            until(stolen);
            const auto unplaced = std::make_unique<pilfer::scope>();
            unplaced->spawn([&] {
                waits = true;
                pilfer::event never;
                never.wait(); // leaves by `stopped`
                ADD_FAILURE() << "not stopped";
            });
            until(waits);
            go_on = true;
            throw other();
        };
        EXPECT_ANY_THROW(pilfer::join(throws, fails()));
    });
}

/// With one worker, too, another stack runs the branch of a frame that suspends.
TEST(failing_on_one_worker, a_frame_that_waits_is_stopped) {
    const support::watchdog limit{support::patience};
    for (const unsigned workers : {1U, 2U}) {
        pilfer::pool p({.workers = workers});
        p.run([workers] {
            const auto throws = [] { throw broken(); };
            pilfer::event never;
            EXPECT_THROW(pilfer::join([&] { never.wait(); }, throws), broken);
            EXPECT_THROW(pilfer::join([] { pilfer::sleep_for(std::chrono::hours(1)); }, throws), broken);
            std::atomic<int> left{0};
            const auto waits_for_children = [&] {
                pilfer::scope s;
                s.spawn([&] {
                    try {
                        never.wait();
                    } catch (const pilfer::stopped&) {
                        ++left;
                        throw;
                    }
                });
                s.sync();
                ADD_FAILURE() << "not stopped";
            };
            EXPECT_THROW(pilfer::join(waits_for_children, throws), broken);
            EXPECT_EQ(left,
                      workers == 1 ? 1 : left.load()); // of two the other may throw before the child begins
        });
    }
}

/// A full table says so, and what was taken out makes room.
TEST(failing_table, is_full_and_has_room_again) {
    pilfer::detail::failing_joins<pilfer::detail::std_atom, int*, 2> table;
    int branch[3] = {};
    int place[3] = {};
    const auto has = [&](int i) {
        return table.any([&](const void* b, int* within) { return b == &branch[i] && within == &place[i]; });
    };
    const auto stacks = [&] {
        int n = 0;
        table.each_place([&n](void*) { ++n; });
        return n;
    };
    const auto add = [&](int i, void* where) { return table.add(&branch[i], &place[i], where); };
    EXPECT_FALSE(has(0));
    EXPECT_TRUE(add(0, &place[0]));
    EXPECT_TRUE(add(1, nullptr));
    EXPECT_FALSE(add(2, nullptr));
    EXPECT_TRUE(has(0) && has(1) && !has(2));
    EXPECT_EQ(stacks(), 1);
    table.remove(&branch[2]); // was never there
    table.remove(&branch[0]);
    EXPECT_TRUE(!has(0) && has(1));
    EXPECT_EQ(stacks(), 0);
    EXPECT_TRUE(add(2, &place[2]));
    EXPECT_FALSE(add(0, nullptr));
    EXPECT_TRUE(has(1) && has(2));
    table.remove(&branch[1]);
    table.remove(&branch[2]);
    EXPECT_TRUE(!has(0) && !has(1) && !has(2));
    EXPECT_EQ(stacks(), 0);
    EXPECT_TRUE(add(0, nullptr) && add(1, nullptr));
}

} // namespace
