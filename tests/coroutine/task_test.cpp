// Coroutines: results, and the futures, times and pools that they can wait for.
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

static_assert(std::movable<task<int>> && !std::copyable<task<int>>);
static_assert(std::is_nothrow_move_constructible_v<task<>> &&
              std::is_nothrow_default_constructible_v<task<>>);
static_assert(std::same_as<task<int&>::value_type, int&>);
static_assert(!pilfer::detail::is_own_awaitable<std::suspend_never>);
static_assert(pilfer::detail::is_own_awaitable<pilfer::future<int>>);

class coroutine_tasks : public over_workers {};
class coroutines : public guarded {};

// ---- results ----------------------------------------------------------------------------------

task<> awaits_all_kinds(int& target) {
    EXPECT_EQ(co_await give(7), 7);
    EXPECT_EQ(&(co_await give<int&>(target)), &target);
    EXPECT_EQ(&(co_await give<const int&>(target)), &target);
    EXPECT_EQ(*co_await give(std::make_unique<int>(8)), 8);
    EXPECT_EQ(co_await give(std::string(100, 'x')), std::string(100, 'x'));
    co_await nothing();
    task<int> named = give(9);
    EXPECT_TRUE(named.valid());
    EXPECT_EQ(co_await std::move(named), 9);
    EXPECT_FALSE(named.valid()); // NOLINT(bugprone-use-after-move)
    std::string seen;
    try {
        (void)co_await fail("inner");
    } catch (const std::runtime_error& e) {
        seen = e.what();
    }
    EXPECT_EQ(seen, "inner");
    bool refused = false;
    try {
        co_await task<>();
    } catch (const pilfer::usage_error&) {
        refused = true;
    }
    EXPECT_TRUE(refused);
}

TEST_P(coroutine_tasks, results_of_every_kind_by_every_entry) {
    pilfer::pool pool(with_workers());
    int target = 0;
    const auto all = [&] {
        pool.run(awaits_all_kinds(target));
        EXPECT_EQ(pool.run(give(1)), 1);
        EXPECT_EQ(&pool.run(give<int&>(target)), &target);
        EXPECT_EQ(*pool.run(give(std::make_unique<int>(2))), 2);
        EXPECT_THROW((void)pool.run(fail("out")), std::runtime_error);
        EXPECT_EQ(pilfer::sync_wait(pool, give(3)), 3);
        EXPECT_EQ(pool.async(give(4)).get(), 4);
        EXPECT_EQ(*pool.async(give(std::make_unique<int>(5))).take(), 5);
        EXPECT_EQ(&pool.async(give<int&>(target)).get(), &target);
        pool.async(nothing()).get();
        EXPECT_THROW((void)pool.async(fail("out")).get(), std::runtime_error);
        EXPECT_EQ(pool.run(fib_task(12)), fib(12));
        EXPECT_EQ(pool.run(fib_forked(pool, 14)), fib(14));
    };
    all();
    pool.run([&] {
        all();
        EXPECT_EQ(pilfer::sync_wait(give(6)), 6);
        EXPECT_EQ(pilfer::async(give(7)).get(), 7);
    });
    EXPECT_EQ(pilfer::sync_wait(give(8)), 8); // in the common pool
    EXPECT_EQ(pilfer::async(give(9)).get(), 9);
}

struct throws_at_its_end {
    throws_at_its_end() = default;
    throws_at_its_end(const throws_at_its_end&) = delete;
    throws_at_its_end& operator=(const throws_at_its_end&) = delete;
    ~throws_at_its_end() noexcept(false) { throw std::runtime_error("x"); }
};

TEST_F(coroutines, an_exception_after_the_result_replaces_it) {
    const auto value = std::make_shared<int>(0);
    const auto returns = [](std::shared_ptr<int> v) -> pilfer::task<std::shared_ptr<int>> {
        const throws_at_its_end last;
        co_return v;
    };
    EXPECT_THROW((void)pilfer::sync_wait(returns(value)), std::runtime_error);
    EXPECT_EQ(value.use_count(), 1);
}

TEST_F(coroutines, a_task_that_never_begins_destroys_its_parameters) {
    std::atomic<int> alive = 0;
    bool ran = false;
    const auto body = [](witness, bool& flag) -> task<> {
        flag = true;
        co_return;
    };
    {
        const auto t = body(witness(alive), ran);
        EXPECT_EQ(alive, 1);
    }
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(ran);
    pilfer::pool pool(workers(2));
    EXPECT_THROW(pool.run(task<>()), pilfer::usage_error);
    EXPECT_THROW((void)pool.async(task<int>()), pilfer::usage_error);
    EXPECT_THROW(pool.submit(task<int>()), pilfer::usage_error);
    pool.shutdown();
    EXPECT_THROW(pool.run(body(witness(alive), ran)), pilfer::pool_closed);
    EXPECT_THROW((void)pool.async(body(witness(alive), ran)), pilfer::pool_closed);
    EXPECT_THROW(pool.submit(body(witness(alive), ran)), pilfer::pool_closed);
    EXPECT_EQ(alive, 0);
    EXPECT_FALSE(ran);
}

TEST_P(coroutine_tasks, exceptions_of_detached_coroutines_go_to_on_error) {
    std::atomic<int> heard = 0;
    std::atomic<int> alive = 0;
    auto o = with_workers();
    o.on_error = [&](const std::exception_ptr& e) {
        EXPECT_THROW(std::rethrow_exception(e), std::runtime_error);
        ++heard;
    };
    const auto body = [](witness, bool throws) -> task<int> {
        co_await pilfer::resume_after(1ms);
        co_return throws ? co_await fail("nobody") : 0;
    };
    pilfer::pool pool(o);
    for (int i = 0; i < 20; ++i) {
        pool.submit(body(witness(alive), i % 2 == 0));
    }
    pool.run([&] { pool.submit(body(witness(alive), true)); });
    pool.shutdown();
    EXPECT_EQ(heard, 11);
    EXPECT_EQ(alive, 0);
}

// ---- futures ----------------------------------------------------------------------------------

task<> awaits_futures(pilfer::pool& pool, bool later) {
    // `later`: none of them is ready when it is awaited.
    const auto hold = [later] {
        if (later) {
            pilfer::sleep_for(1ms);
        }
    };
    int target = 0;
    auto value = pool.async([&hold] {
        hold();
        return std::string("value");
    });
    auto reference = pool.async([&hold, &target]() -> int& {
        hold();
        return target;
    });
    auto none = pool.async([&hold] { hold(); });
    auto bad = pool.async([&hold]() -> int {
        hold();
        throw std::runtime_error("bad");
    });
    if (!later) {
        value.wait();
        reference.wait();
        none.wait();
        bad.wait();
    }
    const std::string& seen = co_await value;
    EXPECT_EQ(seen, "value");
    EXPECT_EQ(&seen, &(co_await value)) << "the same object for all";
    EXPECT_EQ(&(co_await reference), &target);
    co_await none;
    EXPECT_EQ(co_await pool.async([&hold] {
        hold();
        return 3;
    }),
              3);
    auto moved = co_await pool.async([&hold] {
        hold();
        return std::make_unique<int>(4);
    });
    EXPECT_EQ(*moved, 4);
    std::string what;
    try {
        (void)co_await bad;
    } catch (const std::runtime_error& e) {
        what = e.what();
    }
    EXPECT_EQ(what, "bad");
    bool refused = false;
    try {
        (void)co_await pilfer::future<int>();
    } catch (const pilfer::usage_error&) {
        refused = true;
    }
    EXPECT_TRUE(refused);
    EXPECT_TRUE(runs_in(pool));
}

TEST_P(coroutine_tasks, awaits_futures_that_are_ready_and_that_are_not) {
    pilfer::pool pool(with_workers());
    pool.run(awaits_futures(pool, false));
    pool.run(awaits_futures(pool, true));
    pool.run([&] { pool.run(awaits_futures(pool, true)); });
}

TEST_P(coroutine_tasks, combines_tasks_by_their_futures) {
    pilfer::pool pool(with_workers());
    const auto body = [](pilfer::pool& p) -> task<std::uint64_t> {
        std::vector<pilfer::future<std::uint64_t>> parts;
        for (unsigned n = 0; n < 12; ++n) {
            parts.push_back(p.async(fib_task(n)));
        }
        std::uint64_t sum = 0;
        for (const auto& f : co_await pilfer::when_all(parts.begin(), parts.end())) {
            sum += co_await f;
        }
        co_return sum;
    };
    EXPECT_EQ(pool.run(body(pool)), fib(13) - 1);
}

TEST_P(coroutine_tasks, thousands_wait_for_one_promise_without_stacks) {
    const auto n = static_cast<unsigned>(hundredth_of(500'000, 500));
    pilfer::pool pool(with_workers());
    pilfer::promise<int> promise;
    std::atomic<unsigned> waiting = 0;
    const auto body = [](pilfer::future<int> f, std::atomic<unsigned>& arrived) -> task<int> {
        ++arrived;
        co_return co_await f + 1;
    };
    std::vector<pilfer::future<int>> all;
    for (unsigned i = 0; i < n; ++i) {
        all.push_back(pool.async(body(promise.get_future(), waiting)));
    }
    while (waiting != n) {
        std::this_thread::sleep_for(1ms);
    }
    promise.set_value(1);
    for (auto& f : all) {
        EXPECT_EQ(f.get(), 2);
    }
    EXPECT_LT(pool.counters().contexts_peak, 64U * (GetParam() + 1))
        << "some for each worker, none for each wait";
}

TEST_P(coroutine_tasks, a_pool_may_end_as_soon_as_the_last_result_is_there) {
    for (std::uint64_t round = 0; round < hundredth_of(5'000, 20); ++round) {
        auto pool = std::make_unique<pilfer::pool>(with_workers());
        pilfer::promise<int> promise;
        const auto body = [](pilfer::future<int> f) -> task<int> { co_return co_await f; };
        auto result = pool->async(body(promise.get_future()));
        // This thread may still look for a worker to wake when the coroutine has ended.
        std::thread setter([&] { promise.set_value(1); });
        EXPECT_EQ(result.get(), 1);
        pool.reset();
        setter.join();
    }
}

// ---- times ------------------------------------------------------------------------------------

TEST_P(coroutine_tasks, sleeps_without_a_stack_and_never_too_short) {
    const auto n = static_cast<int>(hundredth_of(50'000, 50));
    pilfer::pool pool(with_workers());
    const auto body = [](pilfer::pool& p, int i) -> task<int> {
        const auto d = std::chrono::microseconds(100 * (i % 30));
        const auto begin = std::chrono::steady_clock::now();
        co_await pilfer::resume_after(d);
        EXPECT_GE(std::chrono::steady_clock::now() - begin, d);
        co_await pilfer::resume_after(-1s);
        co_await pilfer::resume_at(std::chrono::steady_clock::now() + 100us);
        co_await pilfer::resume_at(std::chrono::system_clock::now() - 1h);
        EXPECT_TRUE(runs_in(p));
        co_return 1;
    };
    std::vector<pilfer::future<int>> all;
    for (int i = 0; i < n; ++i) {
        all.push_back(pool.async(body(pool, i)));
    }
    int sum = 0;
    for (auto& f : all) {
        sum += f.get();
    }
    EXPECT_EQ(sum, n);
    EXPECT_EQ(pool.run(body(pool, 1)), 1);
}

// ---- pools ------------------------------------------------------------------------------------

task<int> wanders(pilfer::pool& a, pilfer::pool& b, pilfer::pool& c, int rounds) {
    int hops = 0;
    for (int i = 0; i < rounds; ++i) {
        for (pilfer::pool* p : {&a, &b, &c, &c}) {
            co_await p->schedule();
            EXPECT_TRUE(runs_in(*p));
            EXPECT_EQ(co_await p->async([i] { return i; }), i);
            EXPECT_TRUE(runs_in(*p));
            ++hops;
        }
        co_await pilfer::resume_after(10us);
        EXPECT_TRUE(runs_in(c));
    }
    co_return hops;
}

TEST_P(coroutine_tasks, moves_from_pool_to_pool) {
    const auto rounds = static_cast<int>(hundredth_of(5'000, 10));
    pilfer::pool a(with_workers());
    pilfer::pool b(workers(1));
    pilfer::pool c(workers(2));
    auto first = a.async(wanders(a, b, c, rounds));
    auto second = b.async(wanders(b, c, a, rounds));
    EXPECT_EQ(c.run(wanders(c, a, b, rounds)), 4 * rounds);
    EXPECT_EQ(first.get(), 4 * rounds);
    EXPECT_EQ(second.get(), 4 * rounds);
}

TEST_P(coroutine_tasks, a_closed_pool_refuses_and_a_dropping_one_drops) {
    pilfer::pool home(with_workers());
    pilfer::pool closed(workers(1));
    closed.shutdown();
    const auto tries = [](pilfer::pool& from, pilfer::pool& to) -> task<bool> {
        bool refused = false;
        try {
            co_await to.schedule();
        } catch (const pilfer::pool_closed&) {
            refused = runs_in(from);
        }
        co_return refused;
    };
    EXPECT_TRUE(home.run(tries(home, closed)));

    auto dropping = std::make_unique<pilfer::pool>(workers(1));
    std::atomic<bool> inside = false;
    std::atomic<bool> go = false;
    auto busy = dropping->async([&] {
        inside = true;
        while (!go) {
            std::this_thread::yield();
        }
    });
    const auto hops = [](pilfer::pool& to) -> task<bool> {
        bool dropped = false;
        try {
            co_await to.schedule();
        } catch (const pilfer::broken_promise&) {
            dropped = runs_in(to);
        }
        co_return dropped;
    };
    while (!inside) {
        std::this_thread::yield();
    }
    auto fresh = dropping->async(give(1));
    auto hopping = home.async(hops(*dropping));
    std::thread end([&] { dropping->shutdown(shutdown_mode::drop); });
    while (!dropping->core().dropping()) {
        std::this_thread::yield();
    }
    go = true; // no task runs there any more; a late one is refused
    busy.get();
    EXPECT_THROW((void)fresh.get(), pilfer::broken_promise);
    try {
        EXPECT_TRUE(hopping.get());
    } catch (const pilfer::pool_closed&) {
    }
    end.join();
}

TEST_P(coroutine_tasks, run_in_pools_of_every_kind) {
    std::vector<pilfer::options> kinds(5, with_workers());
    kinds[0].debug.profile = true; // of one worker only
    kinds[0].workers = 1;
    kinds[1].resume = pilfer::resume::own_thread;
    kinds[2].resume = pilfer::resume::elsewhere;
    kinds[3].balance.exposure = pilfer::exposure::always_public;
    kinds[4].debug.count_all = true;
    kinds[4].max_contexts = 2 * GetParam();
    pilfer::pool other(workers(1));
    for (const auto& o : kinds) {
        pilfer::pool pool(o);
        int target = 0;
        pool.run(awaits_all_kinds(target));
        pool.run(awaits_futures(pool, true));
        EXPECT_EQ(pool.run(fib_forked(pool, 11)), fib(11));
        EXPECT_EQ(pool.run([&] { return pool.run(fib_forked(pool, 10)); }), fib(10));
        EXPECT_EQ(pool.run(wanders(pool, other, pool, 3)), 12);
        EXPECT_EQ(pool.async(wanders(other, pool, other, 3)).get(), 12);
    }
}

INSTANTIATE_TEST_SUITE_P(workers, coroutine_tasks, ::testing::Values(1U, 2U, 3U, 8U),
                         ::testing::PrintToStringParamName());

/// Counts the end of the last of those that were moved into each other.
struct counted_end {
    explicit counted_end(int& n) : ends(&n) {}
    counted_end(counted_end&& other) noexcept : ends(std::exchange(other.ends, nullptr)) {}
    counted_end& operator=(counted_end&&) = delete;
    ~counted_end() {
        if (ends != nullptr) {
            ++*ends;
        }
    }
    int* ends;
};
// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters)
task<const counted_end&> gives_its_parameter(counted_end parameter) { co_return parameter; }
bool is_alive(const counted_end& c, const int& ends) { return c.ends == &ends && ends == 0; }

/// To the end of the caller's full-expression, as the parameters of a function.
TEST(coroutine_results, may_refer_to_the_frame) {
    pilfer::pool pool(workers(2));
    const auto all_ways = [&] {
        int ends = 0;
        EXPECT_TRUE(is_alive(pool.run(gives_its_parameter(counted_end(ends))), ends));
        EXPECT_EQ(std::exchange(ends, 0), 1);
        EXPECT_TRUE(is_alive(pilfer::sync_wait(gives_its_parameter(counted_end(ends))), ends));
        EXPECT_EQ(std::exchange(ends, 0), 1);
        EXPECT_TRUE(is_alive(pilfer::sync_wait(pool, gives_its_parameter(counted_end(ends))), ends));
        EXPECT_EQ(std::exchange(ends, 0), 1);
    };
    all_ways();
    pool.run(all_ways);
}

} // namespace
