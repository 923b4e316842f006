// The end of a pool, in every state and by every call.
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "pool/pool_core.hpp"
#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;
using pilfer::shutdown_mode;

class pool_shutdown : public over_workers {};

/// Waits until a shutdown has begun, by submissions of empty functions. Returns the number of accepted ones.
[[nodiscard]] std::uint64_t await_closing(pilfer::pool& pool) {
    for (std::uint64_t accepted = 0;; ++accepted) {
        try {
            (void)pool.async([] {});
        } catch (const pilfer::pool_closed&) {
            return accepted;
        }
        std::this_thread::sleep_for(100us);
    }
}

TEST_P(pool_shutdown, a_fresh_pool) {
    const auto before = thread_count();
    for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop}) {
        pilfer::pool pool(with_workers());
        pool.shutdown(mode);
        EXPECT_TRUE(threads_become(before));
        pool.shutdown(mode);
    }
    EXPECT_TRUE(threads_become(before));
}

TEST_P(pool_shutdown, a_pool_that_sleeps) {
    const auto before = thread_count();
    for (const auto mode : {shutdown_mode::drain, shutdown_mode::drop}) {
        pilfer::pool pool(with_workers());
        EXPECT_EQ(pool.run([] { return fib_join(10); }), fib(10));
        std::this_thread::sleep_for(10ms);
        pool.shutdown(mode);
        EXPECT_TRUE(threads_become(before));
    }
}

TEST_P(pool_shutdown, drain_runs_all_accepted_tasks) {
    for (int round = 0; round < 10; ++round) {
        std::atomic<int> ran{0};
        pilfer::pool pool(with_workers());
        std::vector<pilfer::future<int>> results;
        for (int i = 0; i < 200; ++i) {
            results.push_back(pool.async([&ran, i] {
                (void)pilfer::async([&ran] { ran.fetch_add(1); }); // begun by an accepted task
                ran.fetch_add(1);
                return i;
            }));
        }
        pool.shutdown(shutdown_mode::drain);
        EXPECT_EQ(ran, 400);
        for (int i = 0; i < 200; ++i) {
            EXPECT_EQ(results[static_cast<std::size_t>(i)].get(), i);
        }
        EXPECT_EQ(pool.counters().dropped, 0U);
    }
}

TEST_P(pool_shutdown, drop_breaks_the_promises_of_tasks_that_have_not_started) {
    pilfer::pool pool(with_workers());
    std::atomic<unsigned> running{0};
    std::atomic<bool> go_on{false};
    std::vector<pilfer::future<void>> busy;
    for (unsigned i = 0; i < GetParam(); ++i) {
        busy.push_back(pool.async([&] {
            running.fetch_add(1);
            while (!go_on) {
                std::this_thread::yield();
            }
            auto [a, b] = pilfer::join([] { return fib_join(6); }, [] { return fib_spawn(6); });
            EXPECT_EQ(a, b); // a task that runs may finish, with its children
        }));
    }
    ASSERT_TRUE(eventually([&] { return running == GetParam(); }));
    std::atomic<int> ran{0};
    std::vector<pilfer::future<int>> late;
    for (int i = 0; i < 50; ++i) {
        late.push_back(pool.async([&ran] { return ran.fetch_add(1); }));
    }
    std::atomic<int> broken{0};
    std::thread blocked([&] {
        try {
            pool.run([&] { ran.fetch_add(1); });
        } catch (const pilfer::broken_promise&) {
            broken.fetch_add(1);
        } catch (const pilfer::pool_closed&) {
            broken.fetch_add(1);
        }
    });
    std::thread getter([&] {
        try {
            (void)late.front().get();
        } catch (const pilfer::broken_promise&) {
            broken.fetch_add(1);
        }
    });
    std::this_thread::sleep_for(5ms);
    std::thread ender([&] { pool.shutdown(shutdown_mode::drop); });
    const std::uint64_t more = await_closing(pool);
    go_on = true;
    ender.join();
    blocked.join();
    getter.join();
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(broken, 2);
    for (auto& f : busy) {
        EXPECT_NO_THROW(f.get());
    }
    for (auto& f : late) {
        EXPECT_THROW((void)f.get(), pilfer::broken_promise);
    }
    EXPECT_GE(pool.counters().dropped, 50U + more);
    EXPECT_LE(pool.counters().dropped, 51U + more);
}

TEST_P(pool_shutdown, drop_ends_a_drain_that_waits) {
    pilfer::pool pool(with_workers());
    std::atomic<bool> go_on{false};
    std::atomic<unsigned> running{0};
    for (unsigned i = 0; i < GetParam(); ++i) {
        (void)pool.async([&] {
            running.fetch_add(1);
            while (!go_on) {
                std::this_thread::yield();
            }
        });
    }
    ASSERT_TRUE(eventually([&] { return running == GetParam(); }));
    std::atomic<int> ran{0};
    auto late = pool.async([&] { ran.fetch_add(1); });
    std::thread drain([&] { pool.shutdown(shutdown_mode::drain); });
    (void)await_closing(pool);
    std::thread drop([&] { pool.shutdown(shutdown_mode::drop); });
    // Submissions have been refused since the drain began, so only the core shows that the drop has begun,
    // too.
    EXPECT_TRUE(eventually([&] { return pool.core().dropping(); }));
    go_on = true;
    drain.join();
    drop.join();
    EXPECT_THROW(late.get(), pilfer::broken_promise);
    EXPECT_EQ(ran, 0);
}

TEST_P(pool_shutdown, waits_for_the_destructor_of_an_unwanted_result) {
    struct result {
        pilfer::pool* other;
        std::atomic<bool>* begun;
        std::atomic<bool>* ended;
        result(pilfer::pool* p, std::atomic<bool>* b, std::atomic<bool>* e) : other(p), begun(b), ended(e) {}
        result(result&& from) noexcept
            : other(std::exchange(from.other, nullptr)), begun(from.begun), ended(from.ended) {}
        ~result() {
            if (other != nullptr) {
                *begun = true;
                other->run([] { std::this_thread::sleep_for(20ms); }); // long enough to return too early
                *ended = true;
            }
        }
    };
    pilfer::pool other(workers(1));
    for (const auto how : {pilfer::resume::anywhere, pilfer::resume::own_thread}) {
        std::atomic<bool> begun{false};
        std::atomic<bool> ended{false};
        pilfer::options o = with_workers();
        o.resume = how;
        pilfer::pool pool(o);
        (void)pool.async([&] { return result(&other, &begun, &ended); });
        ASSERT_TRUE(eventually([&] { return begun.load(); }));
        pool.shutdown();
        EXPECT_TRUE(ended);
    }
}

TEST_P(pool_shutdown, calls_into_a_pool_that_is_shut_down) {
    pilfer::pool pool(with_workers());
    pool.shutdown();
    EXPECT_THROW(pool.run([] {}), pilfer::pool_closed);
    EXPECT_THROW((void)pool.async([] {}), pilfer::pool_closed);
    pilfer::pool other(workers(1));
    EXPECT_THROW(other.run([&] { pool.run([] {}); }), pilfer::pool_closed);
    EXPECT_THROW(other.run([&] { (void)pool.async([] {}); }), pilfer::pool_closed);
    EXPECT_EQ(pool.workers(), GetParam());
    EXPECT_NO_THROW((void)pool.counters());
    EXPECT_NO_THROW((void)pool.counters(0));
    EXPECT_NO_THROW((void)pool.settings());
    EXPECT_NO_THROW(pool.shutdown(shutdown_mode::drop));
    EXPECT_NO_THROW(pool.shutdown(shutdown_mode::drain));
}

TEST_P(pool_shutdown, from_one_of_its_workers_is_an_error) {
    pilfer::pool pool(with_workers());
    EXPECT_THROW(pool.run([&] { pool.shutdown(); }), pilfer::usage_error);
    EXPECT_THROW(pool.run([&] { pool.shutdown(shutdown_mode::drop); }), pilfer::usage_error);
    EXPECT_EQ(pool.run([] { return 3; }), 3) << "the pool lives on";
    pilfer::pool other(workers(1));
    EXPECT_NO_THROW(other.run([&] { pool.shutdown(); })) << "a worker of another pool may";
}

TEST_P(pool_shutdown, from_several_threads_at_once) {
    const auto before = thread_count();
    for (int round = 0; round < 20; ++round) {
        pilfer::pool pool(with_workers());
        std::atomic<int> ran{0};
        for (int i = 0; i < 20; ++i) {
            (void)pool.async([&] { ran.fetch_add(1); });
        }
        std::vector<std::thread> enders;
        for (int t = 0; t < 4; ++t) {
            enders.emplace_back([&] {
                pool.shutdown();
                EXPECT_EQ(ran, 20) << "it returned before the pool was at its end";
            });
        }
        for (auto& t : enders) {
            t.join();
        }
    }
    EXPECT_TRUE(threads_become(before));
}

TEST_P(pool_shutdown, while_others_submit) {
    for (int round = 0; round < 20; ++round) {
        pilfer::pool pool(with_workers());
        std::atomic<int> accepted{0};
        std::atomic<int> ran{0};
        std::vector<std::thread> submitters;
        for (int t = 0; t < 3; ++t) {
            submitters.emplace_back([&] {
                try {
                    for (;;) {
                        (void)pool.async([&] { ran.fetch_add(1); });
                        accepted.fetch_add(1);
                        // Without a bound the tasks to drain are as many as shutdown() is late on a busy
                        // machine: millions.
                        while (accepted.load() - ran.load() > 1000) {
                            std::this_thread::yield();
                        }
                    }
                } catch (const pilfer::pool_closed&) {
                }
            });
        }
        while (accepted < 20) {
            std::this_thread::yield();
        }
        pool.shutdown();
        for (auto& t : submitters) {
            t.join();
        }
        EXPECT_EQ(accepted, ran);
    }
}

TEST_P(pool_shutdown, the_destructor_drains) {
    std::atomic<int> ran{0};
    {
        pilfer::pool pool(with_workers());
        for (int i = 0; i < 100; ++i) {
            (void)pool.async([&] {
                (void)fib_join(5);
                ran.fetch_add(1);
            });
        }
    }
    EXPECT_EQ(ran, 100);
}

TEST_P(pool_shutdown, the_pool_may_go_as_soon_as_its_last_run_returns) {
    for (int i = 0; i < 300 / static_cast<int>(1 + GetParam() / 8); ++i) {
        auto pool = std::make_unique<pilfer::pool>(with_workers());
        ASSERT_EQ(pool->run([i] { return i; }), i);
        pool.reset();
    }
}

PILFER_OVER_WORKERS(pool_shutdown);

class many_pools : public guarded {};

TEST_F(many_pools, forty_in_turn) {
    const auto before = thread_count();
    for (int i = 0; i < 40; ++i) {
        pilfer::pool pool(workers(4));
        EXPECT_EQ(pool.run([] { return fib_join(8); }), fib(8));
    }
    EXPECT_TRUE(threads_become(before));
}

TEST_F(many_pools, forty_at_once) {
    const auto before = thread_count();
    {
        std::vector<std::unique_ptr<pilfer::pool>> pools;
        for (int i = 0; i < 40; ++i) {
            pools.push_back(std::make_unique<pilfer::pool>(workers(4)));
        }
        EXPECT_EQ(thread_count() - before, 160U);
        std::vector<pilfer::future<std::uint64_t>> results;
        for (auto& p : pools) {
            results.push_back(p->async([] { return fib_join(10); }));
        }
        for (auto& f : results) {
            EXPECT_EQ(f.get(), fib(10));
        }
    }
    EXPECT_TRUE(threads_become(before));
}

TEST_F(many_pools, drop_drops_an_awaited_async_that_has_not_started) {
    pilfer::pool pool(workers(1)); // no other worker starts it
    std::atomic<bool> announced{false};
    bool ran = false;
    auto root = pool.async([&] {
        auto late = pilfer::async([&] { ran = true; });
        announced = true;
        while (!pool.core().dropping()) {
            std::this_thread::yield();
        }
        EXPECT_THROW(late.get(), pilfer::broken_promise);
    });
    EXPECT_TRUE(eventually([&] { return announced.load(); }));
    pool.shutdown(shutdown_mode::drop);
    root.get();
    EXPECT_FALSE(ran);
    EXPECT_EQ(pool.counters().dropped, 1U);
}

TEST_F(many_pools, the_common_pool_is_not_joined_at_exit) {
    const auto result = in_child(
        [] {
            static std::atomic<bool> begun{false};
            (void)pilfer::async([] {
                begun = true;
                std::this_thread::sleep_for(1h); // exit must not wait for it
            });
            while (!begun) {
                std::this_thread::sleep_for(1ms);
            }
            std::exit(7);
            return 0;
        },
        20);
    EXPECT_TRUE(result.exited_with(7)) << result;
}

class bad_input_pool : public guarded {};

TEST_F(bad_input_pool, destroyed_by_one_of_its_own_tasks) {
    const auto result = in_child([] {
        auto* pool = new pilfer::pool(workers(2));
        pool->run([pool] { delete pool; });
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("destroyed by one of its own tasks")) << result;
}

} // namespace
