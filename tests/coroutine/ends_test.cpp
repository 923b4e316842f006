// Coroutines: chains and loops, the ends of pools, awaitables and coroutines of others.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <concepts>
#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "coroutine/support.hpp"

namespace {

using namespace coroutine_tests;
using namespace std::chrono_literals;
using pilfer::shutdown_mode;

class row_C7_coroutines : public over_workers {};

// ---- chains and loops -------------------------------------------------------------------------

task<std::uint64_t> chain(unsigned depth, pilfer::future<int> end) {
    if (depth == 0) {
        co_return static_cast<std::uint64_t>(co_await end);
    }
    co_return co_await chain(depth - 1, std::move(end)) + 1;
}

TEST_P(row_C7_coroutines, neither_loops_nor_depth_take_stack) {
    const auto n = static_cast<unsigned>(hundredth_of(100'000'000, 100'000));
    auto o = with_workers();
    o.stack_size = std::size_t{64} << 10;
    pilfer::pool pool(o);
    const auto loop = [](unsigned rounds) -> task<std::uint64_t> {
        std::uint64_t sum = 0;
        const pilfer::future<int> ready = pilfer::async([] { return 1; });
        ready.wait();
        for (unsigned i = 0; i < rounds; ++i) {
            sum += static_cast<std::uint64_t>(co_await give(1) + co_await ready);
            co_await std::suspend_never{};
        }
        co_return sum;
    };
    if (GetParam() <= 2) {
        EXPECT_EQ(pool.run(loop(n)), 2 * std::uint64_t{n});
    }
    const unsigned depth = n / 10;
    pilfer::promise<int> promise;
    auto suspended = pool.async(chain(depth, promise.get_future()));
    promise.set_value(0);
    EXPECT_EQ(suspended.get(), depth);
    EXPECT_EQ(pool.run(chain(depth, promise.get_future())), depth);
}

// ---- the ends of pools ------------------------------------------------------------------------

task<> lives_on(witness, pilfer::future<int> f, std::atomic<unsigned>& began, std::atomic<unsigned>& done) {
    ++began;
    co_await pilfer::resume_after(2ms);
    (void)co_await f;
    co_await pilfer::resume_after(100us);
    ++done;
}

TEST_P(row_C7_coroutines, a_drain_waits_for_all_that_is_suspended) {
    std::atomic<int> alive = 0;
    std::atomic<unsigned> began = 0;
    std::atomic<unsigned> done = 0;
    pilfer::pool pool(with_workers());
    pilfer::promise<int> promise;
    for (int i = 0; i < 50; ++i) {
        pool.submit(lives_on(witness(alive), promise.get_future(), began, done));
    }
    std::thread setter([&] {
        while (!pool.core().is_closed() || began != 50) {
            std::this_thread::sleep_for(100us);
        }
        promise.set_value(1);
    });
    pool.shutdown();
    EXPECT_EQ(done, 50U);
    EXPECT_EQ(alive, 0);
    setter.join();
}

TEST_P(row_C7_coroutines, drop_ends_what_has_not_begun_and_lets_the_others_end) {
    std::atomic<int> alive = 0;
    std::atomic<unsigned> began = 0;
    std::atomic<unsigned> done = 0;
    pilfer::pool pool(with_workers());
    pilfer::promise<int> promise;
    const auto early = [&] {
        std::vector<pilfer::future<void>> all;
        for (int i = 0; i < 20; ++i) {
            all.push_back(pool.async(lives_on(witness(alive), promise.get_future(), began, done)));
        }
        return all;
    }();
    while (began != 20) {
        std::this_thread::yield();
    }
    // All workers are held, so that what comes now cannot begin.
    std::atomic<unsigned> held = 0;
    std::atomic<bool> go = false;
    for (unsigned i = 0; i < GetParam(); ++i) {
        pool.submit([&] {
            ++held;
            while (!go) {
                std::this_thread::yield();
            }
        });
    }
    while (held != GetParam()) {
        std::this_thread::yield();
    }
    std::vector<pilfer::future<void>> late;
    for (int i = 0; i < 20; ++i) {
        late.push_back(pool.async(lives_on(witness(alive), promise.get_future(), began, done)));
        pool.submit(lives_on(witness(alive), promise.get_future(), began, done));
    }
    std::thread end([&] { pool.shutdown(shutdown_mode::drop); });
    while (!pool.core().dropping()) {
        std::this_thread::yield();
    }
    go = true;
    for (auto& f : late) {
        EXPECT_THROW(f.get(), pilfer::broken_promise);
    }
    promise.set_value(1);
    for (const auto& f : early) {
        EXPECT_NO_THROW(f.get());
    }
    end.join();
    EXPECT_EQ(done, 20U);
    EXPECT_EQ(began, 20U);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(pool.counters().dropped, 40U);
}

// ---- awaitables of others ---------------------------------------------------------------------

struct by_a_thread {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) {
        std::thread([h] { h.resume(); }).detach();
    }
    [[nodiscard]] int await_resume() const noexcept { return 5; }
};
struct stays {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    [[nodiscard]] bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
    void await_resume() const noexcept {}
};
struct throws {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const { throw std::runtime_error("not suspended"); }
    void await_resume() const noexcept {}
};
struct at_once {
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    [[nodiscard]] std::coroutine_handle<> await_suspend(std::coroutine_handle<> h) const noexcept {
        return h;
    }
    void await_resume() const noexcept {}
};
struct with_member {
    [[nodiscard]] at_once operator co_await() const noexcept { return {}; }
};

TEST_P(row_C7_coroutines, comes_back_to_its_pool_from_awaitables_of_others) {
    pilfer::pool pool(with_workers());
    const auto body = [](pilfer::pool& p) -> task<int> {
        int sum = 0;
        for (int i = 0; i < 5; ++i) {
            sum += co_await by_a_thread();
            EXPECT_TRUE(runs_in(p));
            co_await stays();
            co_await std::suspend_never();
            co_await at_once();
            EXPECT_TRUE(runs_in(p));
            co_await with_member();
            EXPECT_TRUE(runs_in(p));
            bool thrown = false;
            try {
                co_await throws();
            } catch (const std::runtime_error&) {
                thrown = true;
            }
            EXPECT_TRUE(thrown);
        }
        co_return sum;
    };
    EXPECT_EQ(pool.run(body(pool)), 25);
    auto detached = pool.async(body(pool));
    pool.shutdown(); // waits for what a thread will resume
    EXPECT_TRUE(detached.ready());
}

/// A coroutine of another library, which awaits a future of this one.
struct foreign {
    struct promise_type {
        foreign get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};
foreign elsewhere(pilfer::pool& p, pilfer::future<int> f, std::atomic<int>& out) {
    co_await p.schedule();
    EXPECT_TRUE(runs_in(p));
    const int got = co_await f;
    co_await pilfer::resume_after(1ms);
    EXPECT_TRUE(runs_in(p));
    out = got;
}

TEST_P(row_C7_coroutines, foreign_coroutines_can_await_futures_times_and_pools) {
    pilfer::pool pool(with_workers());
    std::atomic<int> out = 0;
    elsewhere(pool, pool.async([] { return 3; }), out);
    pool.shutdown();
    EXPECT_EQ(out, 3);
}

TEST_P(row_C7_coroutines, between_two_waits_it_forks_and_blocks_like_any_task) {
    pilfer::pool pool(with_workers());
    const auto body = [](pilfer::pool& p) -> task<std::uint64_t> {
        std::uint64_t sum = fib_join(10);
        co_await p.schedule();
        sum += fib_spawn(10);
        sum += p.async([] { return fib_defer(10); }).get(); // blocks, and frees its worker
        sum += p.run(fib_task(10));
        pilfer::sleep_for(1ms);
        co_await pilfer::resume_after(1ms);
        sum += pilfer::sync_wait(fib_task(10));
        co_return sum;
    };
    std::vector<pilfer::future<std::uint64_t>> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(pool.async(body(pool)));
    }
    for (auto& f : all) {
        EXPECT_EQ(f.get(), 5 * fib(10));
    }
}

TEST_P(row_C7_coroutines, what_follows_one_runs_in_its_pool) {
    pilfer::pool pool(with_workers());
    const auto where = [&] {
        const pilfer::detail::worker* w = pilfer::detail::this_worker();
        return w != nullptr ? w->pool : nullptr;
    };
    auto followed = pool.async([]() -> task<int> { co_return 1; }()).then([&](int) { return where(); });
    EXPECT_EQ(followed.get(), &pool.core());
}

INSTANTIATE_TEST_SUITE_P(workers, row_C7_coroutines, ::testing::Values(1U, 2U, 3U, 8U),
                         ::testing::PrintToStringParamName());

} // namespace
