// Tasks that hold a lock fork children into older scopes, on another worker than the one where they took the
// lock.
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <memory>
#include <thread>

#include <pilfer/pilfer.hpp>

#include "support/harness.hpp"

namespace {

/// A coroutine resumes as another task, which owns its scopes from then on.
TEST(holders_elsewhere, a_coroutine_locks_before_and_after_a_wait) {
    const support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = 1}};
    pilfer::pool other{{.workers = 1}};
    std::atomic<int> ran{0};
    auto co = [&]() -> pilfer::task<int> {
        pilfer::mutex m;
        pilfer::scope s;
        m.lock();
        m.unlock();
        co_await other.schedule();
        m.lock();
        try {
            s.fork([&] { ++ran; });
            s.spawn([&] { ++ran; });
            s.sync();
        } catch (const std::exception& e) {
            ADD_FAILURE() << "under the lock: " << e.what();
        }
        m.unlock();
        try {
            s.spawn([&] { ++ran; });
            s.sync();
        } catch (const std::exception& e) {
            ADD_FAILURE() << "behind the lock: " << e.what();
        }
        co_return 1;
    };
    EXPECT_EQ(pilfer::sync_wait(pool, co()), 1);
    EXPECT_EQ(ran, 3);
}

/// f of a call with a condition gives a child to a scope that its caller does not own. The child is dropped
/// like any sibling, whether the caller or a serving task runs f.
TEST(holders_elsewhere, a_served_call_forks_into_an_older_scope) {
    const support::watchdog limit{support::patience};
    for (const bool served : {false, true}) {
        pilfer::pool pool{{.workers = 1}};
        std::atomic<int> ran{0};
        std::atomic<bool> ended{false};
        pool.run([&] {
            pilfer::monitor<int> q{served ? 0 : 1};
            pilfer::scope older;
            older.spawn([&] {
                q.call_when([](const int& v) { return v == 1; },
                            [&](int&) {
                                older.cancel();
                                older.fork([&] { ++ran; });
                                EXPECT_FALSE(pilfer::cancelled());
                                ended = true;
                            });
            });
            if (served) {
                while (!ended) {
                    q.call([](int& v) { v = 1; });
                    pilfer::yield();
                }
            }
            older.sync();
        });
        EXPECT_TRUE(ended);
        EXPECT_EQ(ran, 0) << "served " << served;
        EXPECT_EQ(pool.counters().dropped, 1U) << "served " << served;
    }
}

/// A stolen branch of the holder forks a child into a cancelled scope. The child is dropped; the branch
/// continues.
TEST(holders_elsewhere, a_stolen_branch_forks_into_an_older_scope) {
    const support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = 2}};
    std::atomic<bool> began{false};
    std::atomic<bool> ended{false};
    pool.run([&] {
        pilfer::mutex m;
        pilfer::scope older;
        m.lock();
        {
            pilfer::scope younger;
            older.cancel();
            (void)pilfer::join(
                [&] {
                    while (!began) {
                        std::this_thread::yield();
                    }
                },
                [&] {
                    began = true;
                    older.fork([] { ADD_FAILURE() << "began"; });
                    EXPECT_FALSE(pilfer::cancelled());
                    ended = true;
                });
        }
        older.sync();
        m.unlock();
    });
    EXPECT_TRUE(ended);
    EXPECT_EQ(pool.counters().dropped, 1U);
}

/// The frame that joins ends a scope of its own on the way up, at any moment.
TEST(holders_elsewhere, a_scope_ends_out_of_turn_beside_a_stolen_branch) {
    const support::watchdog limit{support::patience};
    pilfer::pool pool{{.workers = 2}};
    for (int round = 0; round < 300; ++round) {
        std::atomic<bool> began{false};
        pool.run([&] {
            pilfer::mutex m;
            pilfer::scope older;
            auto a = std::make_unique<pilfer::scope>();
            m.lock();
            pilfer::scope young;
            (void)pilfer::join(
                [&] {
                    for (int i = 0; i < 20000 && !began.load(std::memory_order_relaxed); ++i) {
                        std::this_thread::yield();
                    }
                    a.reset();
                },
                [&] {
                    began.store(true, std::memory_order_relaxed);
                    older.fork([] {});
                });
            m.unlock();
            older.sync();
        });
    }
}

} // namespace
