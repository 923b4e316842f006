// Coroutines inside cancelled scopes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "coroutine/cancelled.hpp"
#include "support/process.hpp"

namespace {

using namespace coroutine_tests;

class coroutine_cancel : public in_a_pool {};
INSTANTIATE_TEST_SUITE_P(workers, coroutine_cancel, testing::Values(1U, 2U, 3U, 8U));

TEST_P(coroutine_cancel, a_thousand_waiting_coroutines_leave_at_once) {
    constexpr int waiting = 1000;
    std::atomic<int> begun{0};
    std::atomic<int> left{0};
    std::atomic<int> alive{0};
    things all;
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < waiting; ++i) {
            s.fork([&, i] {
                ++begun;
                try {
                    (void)pool.run(waits_below(all, i % kinds, i % 4, alive));
                    ADD_FAILURE() << "the wait of a stopped coroutine returned: " << i % kinds;
                } catch (const pilfer::stopped&) {
                    ++left;
                    throw;
                }
            });
        }
        s.fork([&] {
            until([&] { return begun == waiting; });
            s.cancel();
        });
        s.sync();
    });
    EXPECT_EQ(left, waiting);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(all.full.size(), 1U);
    all.promise.set_value(5);
    EXPECT_EQ(all.result.get(), 5);
    EXPECT_TRUE(all.empty.size() == 0 && !all.empty.try_send(1)) << "somebody is left in the channel";
}

TEST_P(coroutine_cancel, no_coroutine_is_stopped_without_a_cancellation) {
    things all;
    pool.run([&] {
        std::atomic<int> sum{0};
        std::atomic<int> alive{0};
        std::atomic<int> begun{0};
        pilfer::scope s;
        for (int i = 0; i < 60; ++i) {
            s.fork([&, i] {
                ++begun;
                sum += pool.run(waits_below(all, 1 + i % (kinds - 1), 2, alive));
            });
        }
        s.fork([&] {
            until([&] { return begun == 60; });
            all.promise.set_value(1);
            all.event.set();
            for (int i = 0; i < 12; ++i) {
                EXPECT_TRUE(all.empty.send(1));
                EXPECT_TRUE(all.full.receive().has_value());
            }
        });
        s.sync();
        EXPECT_EQ(sum, 2 * 60 + 4 * 12);
        EXPECT_EQ(alive, 0);
    });
}

/// An awaitable of another library: ready or not; it never resumes its waiter.
struct foreign {
    bool ready;
    int* asked;
    [[nodiscard]] bool await_ready() const noexcept { return ready; }
    void await_suspend(std::coroutine_handle<> /*h*/) const noexcept { ++*asked; }
    [[nodiscard]] int await_resume() const noexcept { return 3; }
};

/// `wait()`: a coroutine that does one thing only. Was it stopped there?
template <class Wait>
task<bool> is_stopped_in(Wait wait) {
    try {
        co_await wait();
    } catch (const std::exception&) {
        ADD_FAILURE() << "it is no std::exception";
    } catch (const pilfer::stopped&) {
        co_return true;
    }
    co_return false;
}

/// Of another library, and begins at once.
struct of_others {
    struct promise_type {
        of_others get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { ADD_FAILURE() << "a coroutine of another library was stopped"; }
    };
    std::coroutine_handle<promise_type> at;
};
of_others awaits_a_time_that_is_over() { co_await pilfer::resume_after(-1s); }

/// The coroutine does not suspend, so only the cancellation is checked.
TEST_P(coroutine_cancel, a_wait_for_a_past_time_throws_at_once) {
    std::atomic<int> ran{0};
    bool was_stopped = false;
    const auto behind = [&]() -> task<> {
        pilfer::scope own;
        own.fork([&] { ++ran; });
        co_await pilfer::resume_after(0s);
        own.sync();
    };
    pool.run([&] {
        pool.run(behind());
        EXPECT_EQ(ran, 1);
        pilfer::scope s;
        s.fork([&] {
            s.cancel();
            const of_others c = awaits_a_time_that_is_over();
            EXPECT_TRUE(c.at.done());
            c.at.destroy();
            try {
                pool.run(behind());
            } catch (const pilfer::stopped&) {
                was_stopped = true;
                throw;
            }
        });
        s.sync();
    });
    EXPECT_TRUE(was_stopped);
    EXPECT_EQ(ran, 1);
}

TEST_P(coroutine_cancel, a_co_await_after_the_cancellation_throws) {
    pilfer::pool other({.workers = 1});
    things all;
    int asked = 0;
    bool was_stopped = false;
    const auto behind = [&]() -> task<> {
        for (int what = 0; what < kinds; ++what) {
            EXPECT_TRUE(co_await is_stopped_in([&]() -> task<> { (void)co_await waits_for(all, what); }))
                << what;
        }
        EXPECT_TRUE(co_await is_stopped_in([]() -> task<> { co_await pilfer::resume_after(-1s); }));
        EXPECT_TRUE(co_await is_stopped_in([&]() -> task<> { co_await pool.schedule(); }));
        EXPECT_TRUE(co_await is_stopped_in([&]() -> task<> { co_await other.schedule(); }));
        EXPECT_TRUE(runs_in(pool));
        EXPECT_TRUE(co_await is_stopped_in([&]() -> task<> { (void)co_await foreign{false, &asked}; }));
        EXPECT_EQ(asked, 0);
        // A ready result is no wait.
        EXPECT_EQ(*co_await pilfer::receive(all.full), 0);
        EXPECT_TRUE(co_await pilfer::send(all.full, 7));
        all.event.set();
        co_await all.event;
        pilfer::promise<int> set;
        set.set_value(4);
        EXPECT_EQ(co_await set.get_future(), 4);
        EXPECT_EQ((co_await foreign{true, &asked}), 3);
        EXPECT_EQ(co_await give(9), 9);
        pilfer::scope own; // sees the cancellation, and has no children
        EXPECT_TRUE(pilfer::cancelled());
        was_stopped = true;
        co_await pilfer::resume_after(1h);
        ADD_FAILURE() << "went on behind a swallowed `stopped`";
    };
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            s.cancel();
            pool.run(behind());
            ADD_FAILURE() << "`stopped` does not come out of run()";
        });
        s.sync();
    });
    EXPECT_TRUE(was_stopped);
}

TEST_P(coroutine_cancel, stopped_passes_each_level) {
    std::atomic<int> alive{0};
    std::vector<int> passed;
    struct local {
        static task<> down(int level, std::atomic<int>& n, std::vector<int>& way) {
            const witness here(n);
            if (level == 0) {
                co_await pilfer::resume_after(1h);
                co_return;
            }
            try {
                co_await down(level - 1, n, way);
            } catch (const pilfer::stopped&) {
                way.push_back(level);
                throw;
            }
        }
    };
    pool.run([&] {
        std::atomic<bool> begun{false};
        pilfer::scope s;
        s.fork([&] {
            begun = true;
            const struct at_end {
                std::vector<int>& way;
                ~at_end() { way.push_back(99); }
            } at{passed};
            pilfer::sync_wait(local::down(5, alive, passed));
        });
        s.fork([&] {
            until([&] { return begun.load(); });
            pilfer::sleep_for(1ms);
            s.cancel();
        });
        s.sync();
        EXPECT_FALSE(pilfer::cancelled());
    });
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(passed, (std::vector<int>{1, 2, 3, 4, 5, 99}));
}

// ---- which scope contains which task ----------------------------------------------------------

TEST_P(coroutine_cancel, coroutines_outside_the_scope_are_never_stopped) {
    std::atomic<int> ended{0};
    struct local {
        static task<int> goes_on(std::atomic<int>& n, pilfer::event& go) {
            co_await pilfer::resume_after(1us);
            co_await go;
            ++n;
            co_return 4;
        }
    };
    pilfer::event go; // outlives the coroutine that no task waits for
    pool.run([&] {
        pilfer::future<int> result;
        pilfer::scope s;
        s.spawn([&] {
            pool.submit(local::goes_on(ended, go));
            result = pool.async(local::goes_on(ended, go));
            s.cancel();
        });
        s.sync();
        pilfer::scope own; // it does not contain its owner
        own.cancel();
        EXPECT_EQ(ended, 0);
        go.set();
        EXPECT_EQ(pilfer::sync_wait(local::goes_on(ended, go)), 4);
        EXPECT_EQ(result.get(), 4);
    });
    pool.shutdown();
    EXPECT_EQ(ended, 3);
}

TEST_P(coroutine_cancel, scopes_of_its_own_end_with_it) {
    struct local {
        static task<> owner(things& all, std::atomic<int>& ran) {
            pilfer::scope first;
            first.spawn([&] { ++ran; });
            first.sync();
            first.cancel(); // stops its children, not its owner
            co_await pilfer::resume_after(1us);
            co_await inner(all, ran);
            ADD_FAILURE() << "was not stopped";
        }
        static task<> inner(things& all, std::atomic<int>& ran) {
            pilfer::scope second;
            co_await pilfer::resume_after(1us);
            second.fork([&] { ++ran; });
            second.sync();
            (void)co_await waits_for(all, a_value);
        }
    };
    for (std::uint64_t round = 0; round < support::hundredth_of(2'000); ++round) {
        things all;
        pool.run([&] {
            std::atomic<int> ran{0};
            pilfer::scope s;
            s.fork([&] { pool.run(local::owner(all, ran)); });
            s.fork([&] {
                until([&] { return ran == 2; });
                s.cancel();
            });
            s.sync();
            EXPECT_EQ(ran, 2);
        });
    }
}

/// A task that holds a lock and a task that makes the value of an exit are not cancelled.
TEST_P(coroutine_cancel, holders_and_makers_of_a_value_are_not_cancelled) {
    const auto sleeps = []() -> task<int> {
        co_await pilfer::resume_after(1us);
        co_return 6;
    };
    pool.run([&] {
        pilfer::mutex m;
        int got = 0;
        pilfer::scope s;
        s.spawn([&] {
            m.lock();
            s.cancel();
            got = pool.run(sleeps());
            m.unlock();
            (void)pool.run(sleeps());
            ADD_FAILURE() << "was not stopped behind its lock";
        });
        s.sync();
        EXPECT_EQ(got, 6);

        std::atomic<int> begun{0};
        pilfer::first_result_scope<int> e;
        e.fork([&] {
            ++begun;
            (void)pool.run([]() -> task<> { co_await pilfer::resume_after(1h); }());
            ADD_FAILURE() << "another task went on";
        });
        e.fork([&] {
            until([&] { return begun == 1; });
            EXPECT_TRUE(e.exit([&] { return pool.run(sleeps()); }));
        });
        EXPECT_EQ(e.sync().value_or(0), 6);
    });
}

TEST_P(coroutine_cancel, a_destructor_that_unwinds_may_run_one) {
    pilfer::pool other({.workers = 1});
    std::atomic<int> ran{0};
    const auto sleeps = [&]() -> task<> {
        co_await pilfer::resume_after(1us);
        ++ran;
    };
    pool.run([&] {
        pilfer::scope s;
        s.spawn([&] {
            struct at_end {
                std::function<void()> f;
                ~at_end() { f(); }
            } const at{[&] {
                pool.run(sleeps());
                other.run(sleeps());
            }};
            s.cancel();
            pilfer::sleep_for(1h);
        });
        s.sync();
    });
    EXPECT_EQ(ran, 2);
}

// ---- pools ------------------------------------------------------------------------------------

TEST_P(coroutine_cancel, coroutines_of_another_pool_are_stopped) {
    pilfer::pool other({.workers = 2});
    things all;
    struct local {
        static task<> moves(pilfer::pool& to, things& all, std::atomic<int>& arrived) {
            co_await to.schedule();
            EXPECT_TRUE(runs_in(to));
            ++arrived;
            try {
                (void)co_await waits_for(all, a_value);
            } catch (const pilfer::stopped&) {
                EXPECT_TRUE(runs_in(to));
                throw;
            }
        }
    };
    for (std::uint64_t round = 0; round < support::hundredth_of(2'000); ++round) {
        pool.run([&] {
            std::atomic<int> arrived{0};
            pilfer::scope s;
            s.fork([&] { pool.run(local::moves(other, all, arrived)); });
            s.fork([&] { other.run(local::moves(pool, all, arrived)); });
            s.fork([&] {
                until([&] { return arrived == 2; });
                s.cancel();
            });
            s.sync();
        });
    }
}

/// A coroutine that has not begun never does; one on its way to another pool is stopped when it arrives.
TEST_P(coroutine_cancel, a_coroutine_queued_in_another_pool_is_stopped) {
    pilfer::pool other({.workers = 1});
    std::atomic<int> ran{0};
    std::atomic<int> queued{0};
    std::atomic<int> left{0};
    std::atomic<bool> occupied{false};
    std::atomic<bool> over{false};
    const auto busy = other.async([&] {
        occupied = true;
        while (!over) {
            std::this_thread::yield();
        }
    });
    EXPECT_TRUE(support::eventually([&] { return occupied.load(); }, 60s));
    const auto leaves = [&](auto f) {
        return [&, f] {
            ++queued;
            try {
                f();
            } catch (const pilfer::stopped&) {
                ++left;
                throw;
            }
        };
    };
    pool.run([&] {
        pilfer::scope s;
        s.fork(leaves([&] {
            other.run([](std::atomic<int>& n) -> task<> {
                ++n;
                co_return;
            }(ran));
        }));
        s.fork(leaves([&] {
            pool.run([](pilfer::pool& to, std::atomic<int>& n) -> task<> {
                co_await to.schedule();
                ++n;
            }(other, ran));
        }));
        std::thread canceller([&] {
            EXPECT_TRUE(support::eventually([&] { return queued == 2; }, 60s));
            std::this_thread::sleep_for(5ms);
            s.cancel();
            over = true;
        });
        s.sync();
        canceller.join();
    });
    busy.get();
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(left, 2);
}

TEST(coroutine_cancel_one_lock, a_waiting_task_leaves_its_wait) {
    const support::watchdog end(support::patience);
    for (const unsigned workers : {1U, 2U, 8U}) {
        pilfer::pool pool{{.workers = workers, .backend = pilfer::backend::one_lock}};
        for (int what = 0; what < kinds; ++what) {
            things all;
            std::atomic<int> alive{0};
            std::atomic<bool> begun{false};
            bool was_stopped = false;
            pool.run([&] {
                pilfer::scope s;
                std::thread canceller([&] {
                    EXPECT_TRUE(support::eventually([&] { return begun.load(); }, 60s));
                    std::this_thread::sleep_for(1ms);
                    s.cancel();
                });
                s.spawn([&] { // a call here, so `s` has no other child
                    begun = true;
                    try {
                        (void)pool.run(waits_below(all, what, 2, alive));
                    } catch (const pilfer::stopped&) {
                        was_stopped = true;
                        throw;
                    }
                });
                s.sync();
                canceller.join();
            });
            EXPECT_TRUE(was_stopped) << what;
            EXPECT_EQ(alive, 0);
        }
    }
}

// ---- events -----------------------------------------------------------------------------------

TEST_P(coroutine_cancel, an_event_can_be_awaited) {
    pilfer::event e;
    std::atomic<int> seen{0};
    struct local {
        static task<> waits(pilfer::event& e, std::atomic<int>& n) {
            co_await e;
            ++n;
        }
    };
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 100; ++i) {
        all.push_back(pool.async(local::waits(e, seen)));
    }
    EXPECT_EQ(seen, 0);
    e.set();
    for (auto& one : all) {
        one.get();
    }
    EXPECT_EQ(seen, 100);
    pool.run(local::waits(e, seen)); // is set
    e.reset();
    const auto late = pool.async(local::waits(e, seen));
    EXPECT_EQ(late.wait_for(1ms), pilfer::future_status::timeout);
    e.set();
    late.get();
    EXPECT_EQ(seen, 102);
}

} // namespace
