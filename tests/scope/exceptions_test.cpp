// Exceptions of a scope's children.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "support/child.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;

class scope_exceptions : public over_workers {};

TEST_P(scope_exceptions, every_position_and_both_kinds) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 10; ++round) {
        for (int bad = 0; bad < 8; ++bad) {
            for (int kind = 0; kind < 3; ++kind) {
                std::atomic<int> live{0};
                int caught = -1;
                pool.run([&] {
                    pilfer::scope s;
                    try {
                        for (int i = 0; i < 8; ++i) {
                            const auto f = [&live, i, bad] {
                                live.fetch_add(1);
                                if (i == bad) {
                                    live.fetch_sub(1);
                                    throw i;
                                }
                                live.fetch_sub(1);
                            };
                            if (kind == 0 || (kind == 2 && i % 2 == 0)) {
                                s.spawn(f);
                            } else {
                                s.fork(f);
                            }
                        }
                        s.sync();
                    } catch (int n) {
                        caught = n;
                    }
                    EXPECT_EQ(live, 0) << "sync left children running";
                    s.sync(); // the exception was delivered, the scope is as new
                });
                ASSERT_EQ(caught, bad);
            }
        }
    }
}

TEST_P(scope_exceptions, sixty_four_siblings_throw) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 20; ++round) {
        pool.run([&] {
            const auto before = pool.counters();
            std::atomic<unsigned> began{0};
            std::uint64_t suppressed = 0;
            pilfer::scope s;
            for (int i = 0; i < 64; ++i) {
                s.fork([&began] {
                    began.fetch_add(1);
                    throw std::runtime_error("sibling");
                });
            }
            try {
                s.sync();
                ADD_FAILURE() << "nothing was thrown";
            } catch (const std::runtime_error&) {
                suppressed = s.suppressed();
                EXPECT_EQ(suppressed, pilfer::suppressed_exceptions());
            }
            EXPECT_EQ(suppressed, began - 1);
            const auto after = pool.counters();
            EXPECT_EQ(after.exceptions_suppressed - before.exceptions_suppressed, suppressed);
            EXPECT_EQ(after.dropped - before.dropped, 64 - began);
        });
    }
}

TEST_P(scope_exceptions, later_siblings_of_a_failure_are_dropped_and_counted) {
    pilfer::pool pool(workers(1));
    int ran = 0;
    pool.run([&] {
        pilfer::scope s;
        s.spawn([] { throw 1; });
        s.spawn([&] { ++ran; });
        s.fork([&] { ++ran; });
        EXPECT_THROW(s.sync(), int);
    });
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(pool.counters().dropped, 2U);
}

TEST_P(scope_exceptions, inside_a_catch_block) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (int i = 0; i < 200; ++i) {
            try {
                throw i;
            } catch (int caught) {
                int a = 0;
                int b = 0;
                pilfer::scope s;
                s.spawn([&a] { a = 1; });
                s.fork([&b] { b = 2; });
                s.sync();
                ASSERT_EQ(a + b, 3);
                ASSERT_EQ(caught, i);
                ASSERT_NE(std::current_exception(), nullptr);
                try {
                    pilfer::scope inner;
                    inner.fork([] { throw std::out_of_range("inner"); });
                    inner.sync();
                    ADD_FAILURE();
                } catch (const std::out_of_range&) {
                }
                try {
                    throw;
                } catch (int again) {
                    ASSERT_EQ(again, i);
                }
            }
        }
    });
}

TEST_P(scope_exceptions, a_stolen_parent_keeps_its_exceptions) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "nobody steals from one worker";
    }
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::atomic<bool> moved{false};
        pilfer::scope s;
        s.spawn([&] {
            try {
                throw 1;
            } catch (int) {
                while (!moved) {
                    std::this_thread::yield();
                }
                EXPECT_NE(std::current_exception(), nullptr);
            }
        });
        EXPECT_EQ(std::current_exception(), nullptr);
        EXPECT_EQ(std::uncaught_exceptions(), 0);
        moved = true;
        s.sync();
    });
}

TEST_P(scope_exceptions, a_scope_destroyed_during_unwinding_counts_its_exceptions) {
    pilfer::pool pool(with_workers());
    EXPECT_THROW(pool.run([] {
        pilfer::scope s;
        s.fork([] { throw 1; });
        throw std::runtime_error("the first");
    }),
                 std::runtime_error);
    EXPECT_EQ(pool.counters().exceptions_suppressed, 1U);
}

PILFER_OVER_WORKERS(scope_exceptions);

class unfetched_exception : public guarded {};

TEST_F(unfetched_exception, of_a_forked_child_terminates_with_a_message) {
    const auto result = in_child([] {
        pilfer::pool pool(workers(2));
        pool.run([] {
            pilfer::scope s;
            s.fork([] { throw 1; });
        });
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("no sync() rethrew")) << result;
}

TEST_F(unfetched_exception, of_a_spawned_child_terminates_with_a_message) {
    const auto result = in_child([] {
        pilfer::pool pool(workers(1));
        pool.run([] {
            pilfer::scope s;
            s.spawn([] { throw 1; });
        });
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("no sync() rethrew")) << result;
}

} // namespace
