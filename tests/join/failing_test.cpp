// A stolen branch of a join throws: what the joining frame runs meanwhile on its own stack is stopped. Row
// A7.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>

#include "join/failing.hpp"

namespace {

using namespace std::chrono_literals;
using join_tests::broken;

class row_A7_failing : public join_tests::failing {};
INSTANTIATE_TEST_SUITE_P(workers, row_A7_failing, testing::Values(2U, 3U, 8U));

TEST_P(row_A7_failing, who_computes_sees_it) {
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(beside([&] {
                                            go_on = true;
                                            while (!pilfer::cancelled()) {
                                                std::this_thread::yield();
                                            }
                                            (void)pilfer::join([] {}, [] {});
                                        }),
                                        fails()),
                     broken);
        EXPECT_EQ(pilfer::suppressed_exceptions(), 0U);
        EXPECT_FALSE(pilfer::cancelled());
    });
    EXPECT_EQ(pool.counters().exceptions_suppressed, 0U);
}

TEST_P(row_A7_failing, at_each_point) {
    const std::function<void()> points[] = {
        [] { (void)pilfer::join([] {}, [] {}); },
        [] {
            pilfer::scope s;
            for (;;) {
                s.spawn([] {});
            }
        },
        [] {
            pilfer::scope s;
            for (;;) {
                s.fork([] {});
            }
        },
        [] {
            pilfer::scope s;
            s.fork([] {});
            s.sync();
        },
        [] { pilfer::for_each(0, 1 << 30, [](int) { std::this_thread::yield(); }); },
        [] { pilfer::sleep_for(1us); },
    };
    for (const auto& point : points) {
        rearm();
        pool.run([&] {
            EXPECT_THROW((void)pilfer::join(beside([&] {
                                                go_on = true;
                                                for (;;) {
                                                    point();
                                                }
                                            }),
                                            fails()),
                         broken);
            EXPECT_FALSE(pilfer::cancelled());
        });
    }
}

TEST_P(row_A7_failing, leaves_its_wait) {
    pilfer::event never;
    pilfer::counting_semaphore<> none(0);
    pilfer::latch closed(1);
    pilfer::channel<int> empty(1);
    pilfer::mutex m;
    pilfer::condition_variable nobody;
    const std::function<void()> waits[] = {
        [] { pilfer::sleep_for(1h); },
        [&] { never.wait(); },
        [&] { none.acquire(); },
        [&] { closed.wait(); },
        [&] { (void)empty.receive(); },
        [&] {
            std::unique_lock lock(m);
            nobody.wait(lock);
        },
    };
    for (const bool in_scope : {false, true}) {
        for (const auto& wait : waits) {
            rearm();
            pool.run([&] {
                const auto one = [&] {
                    EXPECT_THROW((void)pilfer::join(beside([&] {
                                                        go_on = true;
                                                        wait();
                                                    }),
                                                    fails()),
                                 broken);
                    EXPECT_FALSE(pilfer::cancelled());
                };
                if (!in_scope) {
                    one();
                    return;
                }
                pilfer::scope s;
                s.spawn(one);
                s.sync();
                EXPECT_FALSE(s.cancelled());
            });
        }
    }
    closed.count_down();
}

// Below of a scope a future is left, too.
TEST_P(row_A7_failing, leaves_a_future) {
    pilfer::promise<int> p;
    auto never = p.get_future();
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            EXPECT_THROW((void)pilfer::join(beside([&] {
                                                go_on = true;
                                                (void)never.get();
                                            }),
                                            fails()),
                         broken);
        });
        s.sync();
    });
    p.set_value(1);
}

// Children of a scope that it has made, wherever they are and wherever it is: in its sync, in a child, or
// computing.
TEST_P(row_A7_failing, with_its_children) {
    enum class how { spawned, forked, waits_itself };
    for (const how h : {how::spawned, how::forked, how::waits_itself}) {
        for (int round = 0; round < 20; ++round) {
            rearm();
            std::atomic<int> left{0};
            pool.run([&] {
                EXPECT_THROW((void)pilfer::join(beside([&] {
                                                    pilfer::scope s;
                                                    const auto child = [&] {
                                                        go_on = true;
                                                        try {
                                                            pilfer::sleep_for(1h);
                                                        } catch (const pilfer::stopped&) {
                                                            ++left;
                                                            throw;
                                                        }
                                                    };
                                                    for (int i = 0; i < 3; ++i) {
                                                        if (h == how::forked) {
                                                            s.fork(child);
                                                        } else {
                                                            s.spawn(child);
                                                        }
                                                    }
                                                    if (h == how::waits_itself) {
                                                        child();
                                                    }
                                                    s.sync();
                                                }),
                                                fails()),
                             broken);
                EXPECT_FALSE(pilfer::cancelled());
            });
            EXPECT_GE(left, 1);
        }
    }
}

// Where a scope lies does not say that it was made in that part: its owner does, where it waits or spawns.
TEST_P(row_A7_failing, with_children_of_a_scope_that_lies_elsewhere) {
    enum class how { waits_for_them, waits_itself, spawns };
    for (const how h : {how::waits_for_them, how::waits_itself, how::spawns}) {
        rearm();
        pool.run([&] {
            std::optional<pilfer::scope> s; // in an older frame than the join
            EXPECT_THROW((void)pilfer::join(beside([&] {
                                                struct guard {
                                                    std::optional<pilfer::scope>& s;
                                                    ~guard() { s.reset(); }
                                                };
                                                s.emplace();
                                                const guard g{s};
                                                if (h == how::spawns) {
                                                    s->spawn([&] { // waits as the next ones begin
                                                        go_on = true;
                                                        pilfer::sleep_for(1h);
                                                    });
                                                    for (;;) {
                                                        s->spawn([] {});
                                                    }
                                                }
                                                s->spawn([&] {
                                                    go_on = true;
                                                    pilfer::sleep_for(1h);
                                                });
                                                if (h == how::waits_itself) {
                                                    pilfer::sleep_for(1h);
                                                }
                                                s->sync();
                                            }),
                                            fails()),
                         broken);
            EXPECT_FALSE(pilfer::cancelled());
        });
    }
}

// Children that compute: all of a deep tree of spawn.
void tree(int depth) {
    if (depth == 0) {
        while (!pilfer::cancelled()) {
            std::this_thread::yield();
        }
        return;
    }
    pilfer::scope s;
    s.spawn([=] { tree(depth - 1); });
    tree(depth - 1);
    s.sync();
}
TEST_P(row_A7_failing, with_a_tree_of_spawn) {
#if defined(PILFER_ASAN) || defined(__SANITIZE_ADDRESS__)
    GTEST_SKIP() << "where running frames of others lie is not known: it keeps locals elsewhere";
#endif
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(beside([&] {
                                            go_on = true;
                                            tree(6);
                                            (void)pilfer::join([] {}, [] {});
                                        }),
                                        fails()),
                     broken);
    });
}

// Its other branches, on other stacks: where it waits for one, and where it leaves by itself.
TEST_P(row_A7_failing, with_its_own_branches) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "three functions run at once on three workers";
    }
    for (const bool waits_for_it : {false, true}) {
        for (int round = 0; round < 20; ++round) {
            rearm();
            std::atomic<bool> inner{false};
            std::atomic<bool> left{false};
            pool.run([&] {
                EXPECT_THROW((void)pilfer::join(beside([&] {
                                                    (void)pilfer::join(
                                                        [&] {
                                                            until(inner);
                                                            go_on = true;
                                                            if (!waits_for_it) {
                                                                pilfer::sleep_for(1h);
                                                            }
                                                        },
                                                        [&] {
                                                            inner = true;
                                                            try {
                                                                pilfer::sleep_for(1h);
                                                            } catch (const pilfer::stopped&) {
                                                                left = true;
                                                                throw;
                                                            }
                                                        });
                                                }),
                                                fails()),
                             broken);
                EXPECT_FALSE(pilfer::cancelled());
            });
            EXPECT_TRUE(left);
        }
    }
}

TEST_P(row_A7_failing, of_several_and_of_loops) {
    pool.run([&] {
        const auto sleeps = [&] {
            go_on = true;
            pilfer::sleep_for(1h);
        };
        EXPECT_THROW((void)pilfer::join(beside(sleeps), fails(), [] {}), broken);
        rearm();
        EXPECT_THROW((void)pilfer::join(
                         beside(sleeps), [] {}, fails()),
                     broken);
        rearm();
        EXPECT_THROW(pilfer::for_each(0, 2,
                                      [&](int i) {
                                          if (i == 0) {
                                              until(stolen);
                                              go_on = true;
                                              pilfer::sleep_for(1h);
                                          } else {
                                              fails()();
                                          }
                                      }),
                     broken);
        rearm();
        EXPECT_THROW((void)pilfer::reduce(
                         0, 2, 0,
                         [&](int i) {
                             if (i == 0) {
                                 until(stolen);
                                 go_on = true;
                                 pilfer::sleep_for(1h);
                             } else {
                                 fails()();
                             }
                             return i;
                         },
                         std::plus<>()),
                     broken);
    });
}

// The error goes out through joins that enclose it, each of which is beside something that sleeps.
TEST_P(row_A7_failing, of_nested_joins) {
    if (GetParam() < 3) {
        GTEST_SKIP() << "three functions run at once on three workers";
    }
    std::atomic<bool> inner{false};
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             until(inner);
                             go_on = true;
                             pilfer::sleep_for(1h);
                         },
                         [&] {
                             (void)pilfer::join(
                                 [&] {
                                     until(stolen);
                                     inner = true;
                                     pilfer::sleep_for(1h);
                                 },
                                 fails());
                         }),
                     broken);
        EXPECT_FALSE(pilfer::cancelled());
    });
}

// Its parent waits with a time limit, or as an first_result_scope: the children leave, and so does it.
TEST_P(row_A7_failing, other_ways_to_wait_for_children) {
    for (const bool timed : {false, true}) {
        rearm();
        pool.run([&] {
            EXPECT_THROW((void)pilfer::join(beside([&] {
                                                const auto child = [&] {
                                                    go_on = true;
                                                    pilfer::sleep_for(1h);
                                                };
                                                if (timed) {
                                                    pilfer::scope s;
                                                    s.spawn(child);
                                                    (void)s.sync_for(1h);
                                                } else {
                                                    pilfer::first_result_scope<int> s;
                                                    s.spawn(child);
                                                    (void)s.sync();
                                                }
                                            }),
                                            fails()),
                         broken);
            EXPECT_FALSE(pilfer::cancelled());
        });
    }
}

// `stopped` that is swallowed: the error goes out all the same.
TEST_P(row_A7_failing, who_swallows_it_changes_nothing) {
    pool.run([&] {
        EXPECT_THROW((void)pilfer::join(
                         [&] {
                             until(stolen);
                             go_on = true;
                             EXPECT_THROW(pilfer::sleep_for(1h), pilfer::stopped);
                         },
                         fails()),
                     broken);
    });
}

} // namespace
