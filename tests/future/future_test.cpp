// async and future.
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/allocations.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using namespace std::chrono_literals;

class future_results : public over_workers {};

TEST_P(future_results, results_of_every_kind) {
    pilfer::pool pool(with_workers());
    int object = 1;
    auto text = pool.async([] { return std::string("text"); });
    auto nothing = pool.async([&] { object = 2; });
    auto reference = pool.async([&]() -> int& { return object; });
    auto only_moves = pool.async([] { return std::make_unique<int>(8); });
    EXPECT_EQ(text.get(), "text");
    EXPECT_EQ(text.get(), "text") << "a second get";
    EXPECT_EQ(text.take(), "text");
    nothing.get();
    EXPECT_EQ(object, 2);
    EXPECT_EQ(&reference.get(), &object);
    EXPECT_EQ(*only_moves.take(), 8);
}

TEST_P(future_results, a_chain_of_nested_gets) {
    pilfer::pool pool(with_workers());
    struct chain {
        static int grow(int depth) {
            if (depth == 0) {
                return 0;
            }
            return 1 + pilfer::async([depth] { return grow(depth - 1); }).get();
        }
    };
    EXPECT_EQ(pool.run([] { return chain::grow(100); }), 100);
    EXPECT_EQ(pool.async([] { return chain::grow(100); }).get(), 100);
}

TEST_P(future_results, a_tree_of_nested_gets) {
    pilfer::pool pool(with_workers());
    struct tree {
        static std::uint64_t grow(unsigned n) {
            if (n < 2) {
                return n;
            }
            auto a = pilfer::async([n] { return grow(n - 1); });
            auto b = pilfer::async([n] { return grow(n - 2); });
            return b.get() + a.get();
        }
    };
    EXPECT_EQ(pool.run([] { return tree::grow(14); }), fib(14));
}

TEST_P(future_results, foreign_threads_and_tasks_wait_for_one_result) {
    pilfer::pool pool(with_workers());
    for (int round = 0; round < 10; ++round) {
        std::atomic<bool> go_on{false};
        auto slow = pool.async([&] {
            while (!go_on) {
                std::this_thread::yield();
            }
            return std::string(1000, 'z');
        });
        std::atomic<int> right{0};
        std::vector<pilfer::future<void>> tasks;
        for (int i = 0; i < 20; ++i) {
            tasks.push_back(pool.async([&right, slow] { right += slow.get() == std::string(1000, 'z'); }));
        }
        std::vector<std::thread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&right, slow] { right += slow.get().size() == 1000; });
        }
        std::this_thread::sleep_for(1ms);
        go_on = true;
        for (auto& t : threads) {
            t.join();
        }
        for (auto& t : tasks) {
            t.get();
        }
        ASSERT_EQ(right, 24);
    }
}

TEST_P(future_results, exceptions_reach_every_getter) {
    pilfer::pool pool(with_workers());
    auto fails = pool.async([]() -> int { throw std::out_of_range("no"); });
    for (int i = 0; i < 3; ++i) {
        EXPECT_THROW((void)fails.get(), std::out_of_range);
        EXPECT_THROW((void)pool.run([=] { return fails.get(); }), std::out_of_range);
    }
    EXPECT_NO_THROW(fails.wait());
    EXPECT_TRUE(fails.ready());
    EXPECT_THROW((void)fails.take(), std::out_of_range);
}

TEST_P(future_results, an_async_that_is_not_awaited_runs_and_is_freed) {
    auto watched = std::make_shared<int>(1);
    std::atomic<int> ran{0};
    {
        pilfer::pool pool(with_workers());
        for (int i = 0; i < 300; ++i) {
            (void)pool.async([watched, &ran] {
                ran.fetch_add(1);
                return watched;
            });
        }
        pool.run([&] {
            for (int i = 0; i < 300; ++i) {
                (void)pilfer::async([watched, &ran] { ran.fetch_add(1); });
            }
        });
    }
    EXPECT_EQ(ran, 600);
    EXPECT_EQ(watched.use_count(), 1);
}

TEST_P(future_results, captures_are_released_before_the_result_is_visible) {
    pilfer::pool pool(with_workers());
    auto watched = std::make_shared<int>(1);
    auto holds = [watched] { return *watched; };
    const auto before = watched.use_count();
    for (int i = 0; i < 100; ++i) {
        auto submitted = pool.async(holds);
        ASSERT_EQ(submitted.get(), 1);
        ASSERT_EQ(watched.use_count(), before);
        pool.run([&] {
            auto announced = pilfer::async(holds);
            ASSERT_EQ(announced.get(), 1);
            ASSERT_EQ(watched.use_count(), before);
        });
    }
    pool.shutdown();
    EXPECT_THROW((void)pool.async(holds), pilfer::pool_closed);
    EXPECT_EQ(watched.use_count(), before) << "a refused task holds nothing either";
}

TEST_P(future_results, ready_only_goes_forward) {
    pilfer::pool pool(with_workers());
    std::atomic<bool> go_on{false};
    auto f = pool.async([&] {
        while (!go_on) {
            std::this_thread::yield();
        }
    });
    EXPECT_FALSE(f.ready());
    go_on = true;
    EXPECT_TRUE(eventually([&] { return f.ready(); }));
    f.get();
    EXPECT_TRUE(f.ready());
}

TEST_P(future_results, a_task_runs_on_workers_of_its_own_pool_only) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(1));
    const long place = other.run([] { return thread_id(); });
    for (int i = 0; i < 50; ++i) {
        // Submitted, not yet started, and fetched by a worker that could claim it.
        ASSERT_EQ(pool.run([&] { return other.async([] { return thread_id(); }).get(); }), place);
    }
}

TEST_P(future_results, gets_across_pools) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(1));
    for (int i = 0; i < 50; ++i) {
        auto f = pool.async([] { return fib_join(7); });
        ASSERT_EQ(other.run([&] { return f.get(); }), fib(7));
        auto g = other.async([&] { return pool.async([] { return fib_spawn(6); }).get(); });
        ASSERT_EQ(pool.run([&] { return g.get(); }), fib(6));
    }
}

PILFER_OVER_WORKERS(future_results);

class future_handles : public guarded {};

TEST_F(future_handles, tasks_that_make_futures_do_not_call_malloc_when_warm) {
    pilfer::pool pool(workers(1));
    const auto round = [] {
        std::uint64_t sum = 0;
        for (int i = 0; i < 300; ++i) {
            pilfer::future<int> some[8];
            for (auto& f : some) {
                f = pilfer::async([i] { return i; });
            }
            for (auto& f : some) { // oldest first
                sum += static_cast<std::uint64_t>(f.get());
            }
            pilfer::promise<int> p;
            p.set_value(i);
            sum += static_cast<std::uint64_t>(p.get_future().then([](int n) { return n; }).get());
        }
        return sum;
    };
    EXPECT_EQ(pool.run(round), 9U * 299 * 300 / 2);
    const auto before = allocations();
    EXPECT_EQ(pool.run(round), 9U * 299 * 300 / 2);
    if (counts_allocations) {
        EXPECT_EQ(allocations(), before);
    }
}

TEST_F(future_handles, a_queued_task_is_claimed_and_runs_inline) {
    pilfer::pool pool(workers(1));
    pool.run([] {
        const long here = thread_id();
        int ran = 0;
        auto f = pilfer::async([&] {
            ++ran;
            return thread_id();
        });
        EXPECT_EQ(ran, 0) << "an async starts later";
        EXPECT_EQ(f.get(), here);
        EXPECT_EQ(ran, 1);
    });
    EXPECT_EQ(pool.counters().suspends, 0U) << "nothing had to wait";
}

TEST_F(future_handles, a_default_constructed_future_refers_to_nothing) {
    pilfer::future<int> none;
    EXPECT_FALSE(none.valid());
    EXPECT_THROW((void)none.get(), pilfer::usage_error);
    EXPECT_THROW((void)none.take(), pilfer::usage_error);
    EXPECT_THROW(none.wait(), pilfer::usage_error);
    EXPECT_THROW((void)none.ready(), pilfer::usage_error);
    pilfer::pool pool(workers(1));
    auto some = pool.async([] { return 5; });
    EXPECT_TRUE(some.valid());
    none = some;
    pilfer::future<int> moved = std::move(some);
    EXPECT_EQ(none.get() + moved.get(), 10);
    moved = pilfer::future<int>();
    EXPECT_FALSE(moved.valid());
    EXPECT_EQ(none.get(), 5);
}

TEST_F(future_handles, the_result_outlives_the_pool) {
    pilfer::future<std::string> f;
    {
        pilfer::pool pool(workers(2));
        f = pool.async([] { return std::string(500, 'a'); });
    }
    EXPECT_TRUE(f.ready());
    EXPECT_EQ(f.get().size(), 500U);
}

TEST_F(future_handles, dropped_work_breaks_its_promise) {
    pilfer::pool pool(workers(1));
    std::atomic<bool> go_on{false};
    std::atomic<bool> running{false};
    auto first = pool.async([&] {
        auto mine = pilfer::async([] { return 1; }); // on the worker's own deque, not started
        running = true;
        while (!go_on) {
            std::this_thread::yield();
        }
        return mine;
    });
    ASSERT_TRUE(eventually([&] { return running.load(); }));
    auto second = pool.async([] { return 2; });
    std::thread ender([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    std::uint64_t more = 0;
    try {
        for (;; ++more) { // until the shutdown has begun
            (void)pool.async([] {});
            std::this_thread::sleep_for(100us);
        }
    } catch (const pilfer::pool_closed&) {
    }
    go_on = true;
    ender.join();
    EXPECT_THROW((void)second.get(), pilfer::broken_promise);
    EXPECT_THROW((void)first.get().get(), pilfer::broken_promise);
    EXPECT_EQ(pool.counters().dropped, 2U + more);
}

} // namespace
