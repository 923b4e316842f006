// asio on a pool: post, dispatch, strands, coroutines, tracked work, errors and shutdown.
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_executor.hpp>
#include <asio/co_spawn.hpp>
#include <asio/defer.hpp>
#include <asio/detached.hpp>
#include <asio/dispatch.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/use_future.hpp>
#include <pilfer/adapters/asio.hpp>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
using pilfer::adapters::asio_context;
using pilfer::adapters::asio_executor;
namespace execution = asio::execution;

static_assert(execution::is_executor<asio_executor>::value);
static_assert(asio::can_require<asio_executor, execution::blocking_t::never_t>::value);
static_assert(asio::can_require<asio_executor, execution::blocking_t::possibly_t>::value);
static_assert(!asio::can_require<asio_executor, execution::blocking_t::always_t>::value);
static_assert(asio::can_require<asio_executor, execution::outstanding_work_t::tracked_t>::value);
static_assert(asio::can_require<asio_executor, execution::relationship_t::fork_t>::value);
static_assert(asio::can_query<asio_executor, execution::context_t>::value);

class asio_over_workers : public over_workers {};
PILFER_OVER_WORKERS(asio_over_workers);
class asio_adapter : public guarded {};

bool is_on(const pilfer::pool& p) {
    const pilfer::detail::worker* w = pilfer::detail::this_worker();
    return w != nullptr && w->pool == &p.core();
}

TEST_P(asio_over_workers, functions_run_once_on_workers) {
    pilfer::pool pool({.workers = GetParam()});
    std::atomic<int> calls{0};
    {
        asio_context context(pool);
        for (int i = 0; i < 100; ++i) {
            asio::post(context, [&] {
                calls += is_on(pool);
                asio::post(context, [&] { calls += is_on(pool); });
                asio::defer(context, [&] { calls += is_on(pool); });
            });
            asio::dispatch(context.get_executor(), [&] { calls += is_on(pool); });
        }
    }
    EXPECT_EQ(calls, 400);
}

TEST_P(asio_over_workers, a_strand_runs_one_function_at_a_time_in_order) {
    pilfer::pool pool({.workers = GetParam()});
    std::vector<int> seen;
    {
        asio_context context(pool);
        auto strand = asio::make_strand(context.get_executor());
        for (int i = 0; i < 1000; ++i) {
            asio::post(strand, [&seen, i] { seen.push_back(i); });
        }
        asio::post(context, asio::bind_executor(strand, [&seen] { seen.push_back(1000); }));
    }
    ASSERT_EQ(seen.size(), 1001u);
    EXPECT_EQ(std::erase(seen, 1000), 1u); // posted by way of the context: anywhere
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(seen[static_cast<std::size_t>(i)], i);
    }
}

asio::awaitable<long> fib(int n) {
    if (n < 2) {
        co_return n;
    }
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    co_return co_await fib(n - 1) + co_await fib(n - 2);
}

TEST_P(asio_over_workers, a_coroutine_runs_on_workers) {
    pilfer::pool pool({.workers = GetParam()});
    asio_context context(pool);
    EXPECT_EQ(asio::co_spawn(context, fib(10), asio::use_future).get(), 55);
    std::atomic<bool> failed{false};
    asio::co_spawn(
        context.get_executor(),
        []() -> asio::awaitable<void> {
            throw std::runtime_error("from a coroutine");
            co_return;
        },
        [&](const std::exception_ptr& e) { failed = e != nullptr; });
    context.join();
    EXPECT_TRUE(failed);
}

TEST_P(asio_over_workers, tracked_work_of_another_context_is_waited_for) {
    pilfer::pool pool({.workers = GetParam()});
    asio::io_context io;
    std::atomic<bool> rang{false};
    asio::steady_timer timer(io, std::chrono::milliseconds(20));
    {
        asio_context context(pool);
        timer.async_wait(asio::bind_executor(context.get_executor(),
                                             [&](asio::error_code e) { rang = !e && is_on(pool); }));
        std::thread runner([&] { io.run(); });
        context.join();
        EXPECT_TRUE(rang);
        runner.join();
    }
}

TEST_P(asio_over_workers, a_task_waits_for_its_own_context) {
    pilfer::pool pool({.workers = GetParam()});
    std::atomic<int> calls{0};
    pool.run([&] {
        pilfer::for_each(0, 10, [&](int) {
            asio_context context(pool);
            for (int i = 0; i < 10; ++i) {
                asio::post(context, [&] { pilfer::for_each(0, 10, [&](int) { ++calls; }); });
            }
        });
    });
    EXPECT_EQ(calls, 1000);
}

TEST_F(asio_adapter, dispatch_is_a_call_inside_the_pool_only) {
    pilfer::pool pool({.workers = 1});
    asio_context context(pool);
    const asio_executor ex = context.get_executor();
    pool.run([&] {
        bool inside = false;
        asio::dispatch(ex, [&] { inside = true; });
        EXPECT_TRUE(inside);
        bool later = false;
        asio::require(ex, execution::blocking.never).execute([&] { later = true; });
        asio::post(ex, [&] { later = true; });
        EXPECT_FALSE(later);
        EXPECT_THROW(asio::dispatch(ex, [] { throw std::runtime_error("in the call"); }), std::runtime_error);
        context.join();
        EXPECT_TRUE(later);
    });
}

TEST_F(asio_adapter, properties_say_what_was_required) {
    pilfer::pool pool({.workers = 3});
    asio_context context(pool);
    const asio_executor ex = context.get_executor();
    EXPECT_EQ(asio::query(ex, execution::blocking), execution::blocking.possibly);
    EXPECT_EQ(asio::query(asio::require(ex, execution::blocking.never), execution::blocking),
              execution::blocking.never);
    EXPECT_EQ(asio::query(ex, execution::outstanding_work), execution::outstanding_work.untracked);
    EXPECT_EQ(asio::require(ex, execution::relationship.fork), ex);
    EXPECT_EQ(&asio::query(ex, execution::context), &context);
    {
        const asio_executor tracked = asio::require(ex, execution::outstanding_work.tracked);
        EXPECT_EQ(asio::query(tracked, execution::outstanding_work), execution::outstanding_work.tracked);
        EXPECT_NE(ex, tracked);
        EXPECT_EQ(ex, asio::require(tracked, execution::outstanding_work.untracked));
    }
    EXPECT_EQ(ex, asio::require(asio::require(ex, execution::blocking.never), execution::blocking.possibly));
    asio_context other(pool);
    EXPECT_NE(ex, other.get_executor());
    const asio::any_io_executor any = ex;
    EXPECT_EQ(any, asio::any_io_executor(ex));
}

TEST_F(asio_adapter, join_waits_for_a_work_guard) {
    pilfer::pool pool({.workers = 2});
    asio_context context(pool);
    auto guard = asio::make_work_guard(context);
    std::atomic<bool> returned{false};
    std::thread joiner([&] {
        context.join();
        returned = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(returned);
    bool ran = false;
    asio::post(guard.get_executor(), [&] { ran = true; }); // accepted: work is outstanding
    guard.reset();
    joiner.join();
    EXPECT_TRUE(ran);
}

TEST_F(asio_adapter, exceptions_of_functions_go_to_on_error) {
    std::atomic<int> errors{0};
    pilfer::pool pool({.workers = 2, .on_error = [&](const std::exception_ptr&) { ++errors; }});
    {
        asio_context context(pool);
        asio::post(context, [] { throw std::runtime_error("posted"); });
        asio::post(context, std::function<void()>()); // throws bad_function_call
        auto strand = asio::make_strand(context.get_executor());
        asio::post(strand, [] { throw std::runtime_error("in a strand"); });
        asio::post(strand, [] {});
    }
    EXPECT_EQ(errors, 3);
}

TEST_F(asio_adapter, a_closed_pool_or_context_takes_nothing) {
    pilfer::pool pool({.workers = 2});
    const auto held = std::make_shared<int>(0);
    asio_context joined(pool);
    joined.join();
    EXPECT_THROW(asio::post(joined, [held] { ++*held; }), pilfer::pool_closed);
    const auto guard = asio::make_work_guard(joined); // counts nothing: join() has returned
    EXPECT_EQ(asio::query(guard.get_executor(), execution::outstanding_work),
              execution::outstanding_work.untracked);
    joined.join();
    asio_context context(pool);
    pool.shutdown();
    EXPECT_THROW(asio::post(context, [held] { ++*held; }), pilfer::pool_closed);
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_EQ(*held, 0);
}

TEST_F(asio_adapter, dropped_functions_are_destroyed_and_not_waited_for) {
    pilfer::pool pool({.workers = 1});
    const auto held = std::make_shared<int>(0);
    asio_context context(pool);
    std::atomic<bool> begun{false};
    std::atomic<bool> go{false};
    pool.submit([&] {
        begun = true;
        while (!go) {
            std::this_thread::yield();
        }
    });
    ASSERT_TRUE(eventually([&] { return begun.load(); }));
    for (int i = 0; i < 10; ++i) {
        asio::post(context, [held] { ++*held; });
    }
    std::thread closer([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    ASSERT_TRUE(eventually([&] {
        try {
            pool.submit([] {});
            return false;
        } catch (const pilfer::pool_closed&) {
            return true;
        }
    }));
    go = true;
    closer.join();
    context.join();
    EXPECT_EQ(held.use_count(), 1);
    EXPECT_EQ(*held, 0);
}

TEST_F(asio_adapter, a_cancelled_task_still_waits_for_the_functions_of_its_context) {
    pilfer::pool pool({.workers = 1});
    int calls = 0;
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            asio_context context(pool);
            asio::post(context, [&] { ++calls; });
            s.cancel();
        });
        s.sync();
        EXPECT_EQ(calls, 1);
    });
}

} // namespace
