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

class coroutine_life : public over_workers {};
class coroutine_ends : public guarded {};

// ---- chains and loops -------------------------------------------------------------------------

task<std::uint64_t> chain(unsigned depth, pilfer::future<int> end) {
    if (depth == 0) {
        co_return static_cast<std::uint64_t>(co_await end);
    }
    co_return co_await chain(depth - 1, std::move(end)) + 1;
}

TEST_P(coroutine_life, neither_loops_nor_depth_take_stack) {
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

TEST_P(coroutine_life, a_drain_waits_for_all_that_is_suspended) {
    std::atomic<int> alive = 0;
    std::atomic<unsigned> began = 0;
    std::atomic<unsigned> done = 0;
    pilfer::pool pool(with_workers());
    pilfer::promise<int> promise;
    for (int i = 0; i < 50; ++i) {
        pool.submit(lives_on(witness(alive), promise.get_future(), began, done));
    }
    std::thread setter([&] {
        while (!pool.core().gate.is_closed() || began != 50) {
            std::this_thread::sleep_for(100us);
        }
        promise.set_value(1);
    });
    pool.shutdown();
    EXPECT_EQ(done, 50U);
    EXPECT_EQ(alive, 0);
    setter.join();
}

TEST_P(coroutine_life, drop_ends_coroutines_that_have_not_begun_and_lets_others_finish) {
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
    // All workers are held, so that later tasks cannot begin.
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

TEST_P(coroutine_life, returns_to_its_pool_from_foreign_awaitables) {
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
    pool.shutdown(); // waits for a coroutine that a thread will resume
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

TEST_P(coroutine_life, foreign_coroutines_can_await_futures_times_and_pools) {
    pilfer::pool pool(with_workers());
    std::atomic<int> out = 0;
    elsewhere(pool, pool.async([] { return 3; }), out);
    pool.shutdown();
    EXPECT_EQ(out, 3);
}

TEST_P(coroutine_life, between_two_waits_it_forks_and_blocks_like_any_task) {
    pilfer::pool pool(with_workers());
    const auto body = [](pilfer::pool& p) -> task<std::uint64_t> {
        std::uint64_t sum = fib_join(10);
        co_await p.schedule();
        sum += fib_spawn(10);
        sum += p.async([] { return fib_fork(10); }).get(); // blocks, and frees its worker
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

// ---- scopes -----------------------------------------------------------------------------------

/// Two children, by both ways.
[[nodiscard]] int two_children_of(pilfer::scope& s) {
    std::atomic<int> ran = 0;
    s.fork([&] { ++ran; });
    s.spawn([&] { ++ran; });
    s.sync();
    return ran;
}

/// A child with a chain of scopes. If it is stolen, all of them are shared, `outer` included.
task<int> waits_and_forks(const pilfer::scope& outer) {
    pilfer::scope own;
    int ran = two_children_of(own);
    co_await pilfer::resume_after(100us);
    ran += two_children_of(own);
    pilfer::scope inner;
    const auto* here = pilfer::detail::this_worker();
    inner.fork([&] {
        EXPECT_TRUE(here == pilfer::detail::this_worker() ||
                    (inner.shared() && own.shared() && outer.shared()));
        ++ran;
    });
    inner.sync();
    co_return ran; // of 5
}

task<> keeps_a_scope_across_waits(pilfer::pool& p, pilfer::pool& other, pilfer::pool& closed) {
    const bool several = p.core().size() > 1;
    auto own = std::make_optional<pilfer::scope>();
    pilfer::scope second;
    EXPECT_EQ(two_children_of(*own), 2);
    co_await nothing();
    co_await stays(); // resumes as usual
    bool thrown = false;
    try {
        co_await throws();
    } catch (const std::runtime_error&) {
        thrown = true;
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(two_children_of(*own), 2);
    EXPECT_EQ(two_children_of(second), 2);
    thrown = false;
    try {
        co_await closed.schedule();
    } catch (const pilfer::pool_closed&) {
        thrown = true;
    }
    EXPECT_TRUE(thrown);
    EXPECT_EQ(two_children_of(second), 2);
    co_await p.schedule();
    EXPECT_TRUE(!several || (own->shared() && second.shared())) << "another worker may have gone on in them";
    EXPECT_EQ(two_children_of(*own), 2);
    EXPECT_EQ(two_children_of(second), 2);
    EXPECT_EQ(co_await waits_and_forks(second), 5);
    EXPECT_EQ(two_children_of(*own), 2);
    pilfer::promise<int> promise;
    auto f = promise.get_future();
    pilfer::after(100us, [&] { promise.set_value(1); });
    EXPECT_EQ(co_await f, 1);
    EXPECT_EQ(co_await by_a_thread(), 5);
    own.reset(); // out of turn
    EXPECT_EQ(two_children_of(second), 2);
    co_await other.schedule();
    EXPECT_TRUE(runs_in(other));
    EXPECT_EQ(two_children_of(second), 2);
    pilfer::scope third;
    co_await p.schedule();
    EXPECT_EQ(two_children_of(third) + two_children_of(second), 4);
}

TEST_P(coroutine_life, empty_scopes_live_across_waits) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(2));
    pilfer::pool closed(workers(1));
    closed.shutdown();
    pool.run(keeps_a_scope_across_waits(pool, other, closed)); // of a thread outside
    std::vector<pilfer::future<void>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(pool.async(keeps_a_scope_across_waits(pool, other, closed)));
    }
    pool.run([&] { // of a task inside a scope
        pilfer::scope outer;
        EXPECT_EQ(pool.run(waits_and_forks(outer)), 5);
        EXPECT_EQ(outer.shared(), GetParam() > 1);
        EXPECT_EQ(other.run(waits_and_forks(outer)), 5);
        EXPECT_TRUE(outer.shared());
        EXPECT_EQ(two_children_of(outer), 2);
    });
    for (auto& f : all) {
        f.get();
    }
}

task<> waits_alone() {
    pilfer::scope outer;
    const pilfer::scope inner;
    co_await pilfer::resume_after(1us);
    EXPECT_EQ(two_children_of(outer), 2);
    EXPECT_FALSE(outer.shared() || inner.shared());
}

TEST_F(coroutine_ends, scopes_across_waits_are_not_shared_on_one_worker) {
    pilfer::options o = workers(1);
    for (const bool profiled : {false, true}) {
        o.debug.profile = profiled;
        pilfer::pool pool(o);
        pool.run([&] { pool.run(waits_alone()); });
        pool.async(waits_alone()).get();
        EXPECT_EQ(pool.counters().scopes_shared, 0U);
    }
}

task<> receives(pilfer::channel<int>& c) { (void)co_await pilfer::receive(c); }
task<> waits(std::chrono::microseconds d) { co_await pilfer::resume_after(d); }

/// `by` makes an awaitable from a duration. It is awaited while a child has not been awaited, and once more
/// afterwards. A time that has passed would not suspend, so the duration must be long enough.
template <class By>
task<> keeps_children_across_a_wait(By by) {
    pilfer::scope s;
    std::atomic<int> ran = 0;
    s.fork([&] { ++ran; });
    co_await nothing(); // does not suspend
    bool refused = false;
    try {
        co_await by(1h);
    } catch (const pilfer::usage_error&) {
        refused = true;
    }
    EXPECT_TRUE(refused);
    s.sync();
    EXPECT_EQ(ran, 1) << "nothing is lost";
    co_await by(100us);
    EXPECT_EQ(two_children_of(s), 2);
}

TEST_P(coroutine_life, a_scope_with_children_does_not_live_across_a_wait) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(1));
    pool.run(keeps_children_across_a_wait([](auto d) { return pilfer::resume_after(d); }));
    pool.run(keeps_children_across_a_wait([](auto d) { return waits(d); }));
    pool.run(keeps_children_across_a_wait([](auto) { return by_a_thread(); }));
    pool.run(keeps_children_across_a_wait([&](auto) { return pool.schedule(); }));
    pool.run(keeps_children_across_a_wait([&](auto) { return other.schedule(); }));
    pilfer::promise<void> promise;
    pilfer::after(1ms, [&] { promise.set_value(); });
    auto late = promise.get_future();
    pool.run([](pilfer::future<void>& f) -> task<> { // when it goes out, the scope awaits its children
        bool refused = false;
        std::atomic<int> ran = 0;
        try {
            pilfer::scope s;
            s.fork([&] { ++ran; });
            co_await f;
            EXPECT_TRUE(f.ready()); // it may have been in time
        } catch (const pilfer::usage_error&) {
            refused = true;
        }
        EXPECT_TRUE(refused || f.ready());
        EXPECT_EQ(ran, 1);
        co_await f;
    }(late));
}

// ---- locks ------------------------------------------------------------------------------------

/// `by` makes an awaitable. It is awaited, itself or by a task, under a lock and in a cancelled scope.
template <class By>
task<> keeps_a_lock_across_a_wait(By by, pilfer::scope& cancelled) {
    pilfer::shared_mutex first;
    pilfer::mutex second;
    pilfer::scope before;
    first.lock_shared();
    {
        pilfer::scope under;
        cancelled.cancel();
        co_await nothing(); // does not suspend
        bool refused = false;
        try {
            co_await by(1h);
        } catch (const pilfer::usage_error& e) {
            refused = std::string(e.what()).find("lock") != std::string::npos;
        }
        EXPECT_TRUE(refused);
        EXPECT_FALSE(first.try_lock()) << "it is held as before";
        EXPECT_FALSE(pilfer::cancelled()) << "by a holder";
        EXPECT_EQ(two_children_of(under), 2);
        second.lock();
        first.unlock_shared();
        EXPECT_FALSE(pilfer::cancelled()) << "there is another lock";
        second.unlock();
        EXPECT_TRUE(pilfer::cancelled());
    }
    EXPECT_TRUE(pilfer::cancelled());
    second.lock();
    EXPECT_FALSE(pilfer::cancelled()) << "the counts are right";
    second.unlock();
    EXPECT_TRUE(pilfer::cancelled());
}

TEST_P(coroutine_life, a_lock_is_not_held_across_a_wait) {
    pilfer::pool pool(with_workers());
    pilfer::pool other(workers(1));
    pilfer::pool closed(workers(1));
    closed.shutdown();
    pilfer::channel<int> nobody_sends(1);
    const pilfer::promise<void> nobody_sets;
    const auto in_a_task = [&](auto by) {
        pool.run([&] {
            pilfer::scope s;
            bool ended = false;
            s.fork([&] {
                pool.run(keeps_a_lock_across_a_wait(by, s));
                ended = true;
            });
            s.sync();
            EXPECT_TRUE(ended);
        });
    };
    in_a_task([](auto d) { return pilfer::resume_after(d); });
    in_a_task([](auto d) { return waits(d); });
    in_a_task([](auto) { return by_a_thread(); });
    in_a_task([](auto) { return stays(); });
    in_a_task([&](auto) { return pool.schedule(); });
    in_a_task([&](auto) { return other.schedule(); });
    in_a_task([&](auto) { return closed.schedule(); });
    in_a_task([&](auto) { return receives(nobody_sends); });
    in_a_task([&](auto) { return nobody_sets.get_future(); });
}

/// Inside a call that holds a lock: no cancellation is delivered to it, but it may suspend.
task<> waits_below_of_a_holder(pilfer::pool& closed, pilfer::scope& cancelled) {
    pilfer::scope own;
    cancelled.cancel();
    EXPECT_FALSE(pilfer::cancelled());
    co_await stays();
    EXPECT_FALSE(pilfer::cancelled());
    EXPECT_THROW(co_await closed.schedule(), pilfer::pool_closed);
    EXPECT_FALSE(pilfer::cancelled());
    co_await pilfer::resume_after(100us);
    EXPECT_FALSE(pilfer::cancelled());
    EXPECT_EQ(two_children_of(own), 2);
}

TEST_P(coroutine_life, a_task_that_holds_a_lock_may_await_one) {
    pilfer::pool pool(with_workers());
    pilfer::pool closed(workers(1));
    closed.shutdown();
    pool.run([&] {
        pilfer::mutex held;
        pilfer::scope s;
        bool ended = false;
        s.fork([&] {
            held.lock();
            pool.run(waits_below_of_a_holder(closed, s));
            EXPECT_FALSE(pilfer::cancelled());
            held.unlock();
            EXPECT_TRUE(pilfer::cancelled());
            ended = true;
        });
        s.sync();
        EXPECT_TRUE(ended);
    });
}

TEST_P(coroutine_life, continuations_of_a_coroutine_run_in_its_pool) {
    pilfer::pool pool(with_workers());
    const auto where = [&] {
        const pilfer::detail::worker* w = pilfer::detail::this_worker();
        return w != nullptr ? w->pool : nullptr;
    };
    auto followed = pool.async([]() -> task<int> { co_return 1; }()).then([&](int) { return where(); });
    EXPECT_EQ(followed.get(), &pool.core());
}

INSTANTIATE_TEST_SUITE_P(workers, coroutine_life, ::testing::Values(1U, 2U, 3U, 8U),
                         ::testing::PrintToStringParamName());

} // namespace
