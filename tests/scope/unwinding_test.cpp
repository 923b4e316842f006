// Cleanup that forks while its task unwinds: its children run, and are not stopped from further out.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>

#include "support/harness.hpp"

namespace {

using namespace std::chrono_literals;

/// Waits until it holds, up to 30 seconds; other tasks run meanwhile.
template <class F>
[[nodiscard]] bool soon(F holds) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        pilfer::yield();
    }
    return true;
}

enum class how { fork, spawn, weighted, join, loop, channel, promise, timed, nested, no_sync };
constexpr const char* name_of(how h) {
    constexpr const char* names[] = {"fork",    "spawn",   "weighted", "join",   "loop",
                                     "channel", "promise", "timed",    "nested", "no_sync"};
    return names[static_cast<int>(h)];
}

/// A wait that a stopped task would leave.
void waits_a_little() { pilfer::sleep_for(1ms); }

/// Runs in a destructor. The bits of its result are the parts that ran; all of them are `all_parts`.
[[nodiscard]] int forks(how h) {
    std::atomic<int> ran{0};
    const auto part = [&ran](int bit) {
        waits_a_little();
        ran |= bit;
    };
    switch (h) {
    case how::fork: {
        pilfer::scope s;
        s.fork([&] { part(1); });
        s.fork([&] { part(2); });
        s.sync();
        s.fork([&] { part(4); }); // and in the next round
        s.sync();
        break;
    }
    case how::spawn: {
        pilfer::scope s;
        s.spawn([&] { part(1); });
        s.spawn([&] { part(6); });
        s.sync();
        break;
    }
    case how::weighted: {
        pilfer::scope s;
        s.spawn({.weight = 2}, [&] { part(1); });
        s.fork({.weight = 2}, [&] { part(6); });
        s.sync();
        break;
    }
    case how::join:
        (void)pilfer::join([&] { part(1); }, [&] { part(2); }, [&] { part(4); });
        break;
    case how::loop:
        pilfer::for_each(0, 3, [&](int i) { part(1 << i); });
        break;
    case how::channel: {
        pilfer::channel<int> c(1);
        pilfer::scope s;
        s.fork([&] {
            waits_a_little();
            (void)c.send(7);
        });
        part(c.receive().value_or(0));
        s.sync();
        break;
    }
    case how::promise: {
        pilfer::promise<int> p;
        pilfer::scope s;
        s.fork([&] {
            waits_a_little();
            p.set_value(7);
        });
        part(p.get_future().get());
        s.sync();
        break;
    }
    case how::timed: {
        pilfer::scope s;
        s.fork([&] { part(7); });
        while (!s.sync_for(100ms)) {
        }
        break;
    }
    case how::nested: {
        pilfer::scope s;
        s.fork([&] {
            pilfer::scope inner;
            inner.spawn([&] { (void)pilfer::join([&] { part(1); }, [&] { part(2); }); });
            inner.sync();
            pilfer::scope late;
            late.fork([&] { part(4); });
            late.sync();
        });
        s.sync();
        break;
    }
    case how::no_sync: {
        pilfer::scope s;
        s.fork([&] { part(7); });
        break;
    }
    }
    return ran;
}
constexpr int all_parts = 7;

struct cleanup {
    how h;
    int& ran;
    ~cleanup() { ran = forks(h); }
};

class unwinding : public testing::TestWithParam<std::tuple<unsigned, pilfer::exposure, how>> {
protected:
    [[nodiscard]] static how kind() { return std::get<2>(GetParam()); }
    pilfer::pool pool{{.workers = std::get<0>(GetParam()), .balance = {.exposure = std::get<1>(GetParam())}}};
    support::watchdog end{120};
};
INSTANTIATE_TEST_SUITE_P(
    workers, unwinding,
    testing::Combine(testing::Values(1U, 2U, 8U),
                     testing::Values(pilfer::exposure::on_demand, pilfer::exposure::always_public),
                     testing::Values(how::fork, how::spawn, how::weighted, how::join, how::loop, how::channel,
                                     how::promise, how::timed, how::nested, how::no_sync)),
    [](const auto& i) {
        return std::to_string(std::get<0>(i.param)) +
               (std::get<1>(i.param) == pilfer::exposure::on_demand ? "_" : "_public_") +
               name_of(std::get<2>(i.param));
    });

TEST_P(unwinding, cleanup_of_a_stopped_task_runs_and_the_task_still_leaves) {
    int ran = 0;
    int after = 0;
    bool left_again = false;
    pool.run([&] {
        std::atomic<bool> begun{false};
        pilfer::scope s;
        s.fork([&] {
            try {
                const cleanup c{kind(), ran};
                begun = true;
                pilfer::sleep_for(60s);
                ADD_FAILURE() << "was not stopped";
            } catch (const pilfer::stopped&) {
            }
            try {
                pilfer::scope own;
                own.fork([&] { ++after; }); // dropped, or stopped before it begins
                own.sync();
                ADD_FAILURE() << "goes on";
            } catch (const pilfer::stopped&) {
                left_again = true;
                throw;
            }
        });
        EXPECT_TRUE(soon([&] { return begun.load(); }));
        s.cancel();
        s.sync();
        s.fork([&] { ran |= 8; });
        s.sync();
    });
    EXPECT_EQ(ran, all_parts | 8);
    EXPECT_EQ(after, 0);
    EXPECT_TRUE(left_again);
}

TEST_P(unwinding, cleanup_runs_after_a_handler_that_rethrows) {
    int ran = 0;
    pool.run([&] {
        std::atomic<bool> begun{false};
        pilfer::scope s;
        s.fork([&] {
            const cleanup c{kind(), ran};
            try {
                begun = true;
                pilfer::sleep_for(60s);
            } catch (const pilfer::stopped&) {
                EXPECT_TRUE(pilfer::cancelled());
                throw;
            }
        });
        EXPECT_TRUE(soon([&] { return begun.load(); }));
        s.cancel();
        s.sync();
    });
    EXPECT_EQ(ran, all_parts);
}

TEST_P(unwinding, cleanup_runs_if_the_task_was_cancelled_before_the_exception) {
    int ran = 0;
    pool.run([&] {
        std::atomic<bool> begun{false};
        std::atomic<bool> cancelled{false};
        pilfer::scope s;
        s.fork([&] {
            begun = true;
            while (!cancelled) {
                std::this_thread::yield();
            }
            const cleanup c{kind(), ran};
            throw std::runtime_error("its own");
        });
        std::thread canceller([&] {
            while (!begun) {
                std::this_thread::yield();
            }
            s.cancel();
            cancelled = true;
        });
        EXPECT_THROW(s.sync(), std::runtime_error);
        canceller.join();
    });
    EXPECT_EQ(ran, all_parts);
}

TEST_P(unwinding, cleanup_of_a_stolen_branch_runs_after_another_branch_has_failed) {
    if (pool.workers() == 1) {
        GTEST_SKIP() << "no branch is stolen";
    }
    for (int round = 0; round < 3; ++round) {
        int ran = 0;
        std::atomic<bool> begun{false};
        pool.run([&] {
            EXPECT_THROW((void)pilfer::join(
                             [&] {
                                 if (soon([&] { return begun.load(); })) {
                                     throw std::runtime_error("its own");
                                 }
                             },
                             [&] {
                                 const cleanup c{kind(), ran};
                                 begun = true;
                                 pilfer::sleep_for(60s);
                                 ADD_FAILURE() << "was not stopped";
                             }),
                         std::runtime_error);
        });
        EXPECT_EQ(ran, all_parts);
    }
}

class cleanup_scopes : public testing::TestWithParam<unsigned> {
protected:
    pilfer::pool pool{{.workers = GetParam()}};
    support::watchdog end{120};
};
INSTANTIATE_TEST_SUITE_P(workers, cleanup_scopes, testing::Values(1U, 2U, 8U));

template <class F>
struct at_end {
    F f;
    ~at_end() { f(); }
};
template <class F>
at_end(F) -> at_end<F>;

TEST_P(cleanup_scopes, an_explicit_cancel_still_works) {
    bool stopped = false;
    bool stopped_below = false;
    int dropped = 0;
    pool.run([&] {
        std::atomic<bool> begun{false};
        pilfer::scope s;
        s.fork([&] {
            const at_end c{[&] {
                std::atomic<int> waits{0};
                const auto until_stopped = [&waits](bool& is) {
                    try {
                        ++waits;
                        pilfer::sleep_for(60s);
                    } catch (const pilfer::stopped&) {
                        is = true;
                        throw;
                    }
                };
                pilfer::scope own;
                own.fork([&] { until_stopped(stopped); });
                own.fork([&] {
                    pilfer::scope inner;
                    inner.fork([&] { until_stopped(stopped_below); });
                    EXPECT_TRUE(soon([&] { return waits == 2; }));
                    inner.cancel();
                    inner.sync();
                    EXPECT_FALSE(stopped);
                    own.cancel();
                });
                own.sync();
                own.cancel();
                own.fork([&] { ++dropped; });
                own.sync();
            }};
            begun = true;
            pilfer::sleep_for(60s);
        });
        EXPECT_TRUE(soon([&] { return begun.load(); }));
        s.cancel();
        s.sync();
    });
    EXPECT_TRUE(stopped);
    EXPECT_TRUE(stopped_below);
    EXPECT_EQ(dropped, 0);
}

TEST_P(cleanup_scopes, a_failing_child_stops_its_siblings) {
    bool stopped = false;
    pool.run([&] {
        std::atomic<bool> begun{false};
        pilfer::scope s;
        s.fork([&] {
            const at_end c{[&] {
                std::atomic<bool> waits{false};
                pilfer::scope own;
                own.fork([&] {
                    try {
                        waits = true;
                        pilfer::sleep_for(60s);
                    } catch (const pilfer::stopped&) {
                        stopped = true;
                        throw;
                    }
                });
                own.fork([&] {
                    if (soon([&] { return waits.load(); })) {
                        throw std::runtime_error("of the cleanup");
                    }
                });
                EXPECT_THROW(own.sync(), std::runtime_error);
            }};
            begun = true;
            pilfer::sleep_for(60s);
        });
        EXPECT_TRUE(soon([&] { return begun.load(); }));
        s.cancel();
        s.sync();
    });
    EXPECT_TRUE(stopped);
}

TEST_P(cleanup_scopes, a_cancellation_that_comes_while_it_waits_for_its_children_does_not_stop_them) {
    for (const bool spawns : {false, true}) {
        if (!spawns && GetParam() != 1) {
            continue; // another worker may begin the child before sync(): see `stopped`
        }
        bool ran = false;
        pool.run([&] {
            std::atomic<bool> begun{false};
            pilfer::scope s;
            s.fork([&] {
                const at_end c{[&] {
                    pilfer::scope own;
                    const auto child = [&] {
                        begun = true;
                        pilfer::sleep_for(20ms);
                        ran = true;
                    };
                    spawns ? own.spawn(child) : own.fork(child);
                    own.sync();
                }};
                throw std::runtime_error("its own");
            });
            EXPECT_TRUE(soon([&] { return begun.load(); }));
            s.cancel();
            EXPECT_THROW(s.sync(), std::runtime_error);
        });
        EXPECT_TRUE(ran) << spawns;
    }
}

/// A `fork` with options shields its scope at once, and so does a `spawn`: no sync() is needed.
TEST_P(cleanup_scopes, a_child_that_ends_before_sync_is_shielded) {
    if (GetParam() == 1) {
        GTEST_SKIP() << "the child must run while its parent does";
    }
    for (const bool spawns : {false, true}) {
        bool ran = false;
        pool.run([&] {
            std::atomic<bool> begun{false};
            std::atomic<bool> cancelled{false};
            pilfer::scope s;
            s.fork([&] {
                const at_end c{[&] {
                    std::atomic<bool> ended{false};
                    pilfer::scope own;
                    const auto child = [&] {
                        const at_end e{[&] { ended = true; }};
                        begun = true;
                        while (!cancelled) {
                            std::this_thread::yield();
                        }
                        waits_a_little();
                        ran = true;
                    };
                    if (spawns) {
                        own.spawn([] {});
                        own.fork(child);
                    } else {
                        own.fork({.weight = 1}, child);
                    }
                    while (!ended) {
                        std::this_thread::yield();
                    }
                    own.sync();
                }};
                throw std::runtime_error("its own");
            });
            std::thread canceller([&] {
                while (!begun) {
                    std::this_thread::yield();
                }
                s.cancel();
                cancelled = true;
            });
            EXPECT_THROW(s.sync(), std::runtime_error);
            canceller.join();
        });
        EXPECT_TRUE(ran) << spawns;
    }
}

/// Children that a task has forked before it unwinds are stopped like any others.
TEST_P(cleanup_scopes, older_children_are_stopped_as_usual) {
    std::atomic<bool> stopped{false}; // the parent asks while the child may write it
    pool.run([&] {
        std::atomic<bool> waits{false};
        pilfer::scope s;
        s.fork([&] {
            pilfer::scope own;
            const at_end c{[&] {
                pilfer::scope another;
                another.fork([] { waits_a_little(); });
                another.sync();
                EXPECT_TRUE(soon([&] { return stopped.load(); }));
            }};
            own.fork([&] {
                try {
                    waits = true;
                    pilfer::sleep_for(60s);
                } catch (const pilfer::stopped&) {
                    stopped = true;
                    throw;
                }
            });
            EXPECT_TRUE(soon([&] { return waits.load(); }));
            pilfer::sleep_for(60s);
        });
        EXPECT_TRUE(soon([&] { return waits.load(); }));
        s.cancel();
        s.sync();
    });
    EXPECT_TRUE(stopped);
}

/// The unlock asks whether the scope is cancelled, before the scope has a child: it must not mark it.
TEST_P(cleanup_scopes, a_scope_that_outlives_its_lock_runs_all_children) {
    struct forks_after_unlock {
        pilfer::mutex& m;
        std::atomic<int>& ran;
        ~forks_after_unlock() {
            m.lock();
            pilfer::scope s;
            m.unlock();
            for (int i = 0; i < 4; ++i) {
                s.fork([this] { ran.fetch_add(1); });
            }
            s.sync();
        }
    };
    pilfer::mutex m;
    std::atomic<int> ran{0};
    pool.run([&] {
        pilfer::scope outer;
        outer.fork([&] {
            const forks_after_unlock c{m, ran};
            outer.cancel();
            pilfer::yield();
            throw pilfer::stopped();
        });
        outer.sync();
    });
    EXPECT_EQ(ran, 4);
}

/// The cleanup has forked into an older scope, and is over: its task is stopped as any.
TEST_P(cleanup_scopes, the_task_is_stopped_after_the_handler) {
    bool left = false;
    pool.run([&] {
        std::atomic<bool> handled{false};
        pilfer::scope outer;
        outer.fork([&] {
            pilfer::scope older;
            try {
                const at_end c{[&] { older.spawn([] {}); }};
                throw std::runtime_error("its own");
            } catch (const std::runtime_error&) {
            }
            handled = true;
            left = soon([] { return pilfer::cancelled(); });
        });
        EXPECT_TRUE(soon([&] { return handled.load(); }));
        outer.cancel();
        outer.sync();
    });
    EXPECT_TRUE(left);
}

} // namespace
