// Shared by the tests of stopped coroutines: waits that only a cancellation ends.
#pragma once

#include <atomic>
#include <chrono>
#include <coroutine>
#include <utility>

#include "coroutine/support.hpp"

namespace coroutine_tests {

using namespace std::chrono_literals;

class in_a_pool : public testing::TestWithParam<unsigned> {
    support::watchdog m_watchdog{support::patience};

protected:
    pilfer::pool pool{{.workers = GetParam()}};
};

/// Until it holds; other tasks run meanwhile.
template <class F>
void until(F holds) {
    while (!holds()) {
        pilfer::yield();
    }
}

/// Awaits `wait`, whose time is over before the scope is cancelled; the coroutine goes on after both. In a
/// pool of one worker, which is busy until then.
template <class Awaitable>
struct cancelled_after_its_time {
    using pilfer_awaitable = void;
    Awaitable wait;
    pilfer::pool& pool;
    pilfer::scope& scope;
    bool& suspended; // becomes true if it happened so; otherwise the time was over before the coroutine
                     // suspended

    struct awaiter {
        decltype(std::declval<Awaitable&>().operator co_await()) wait;
        pilfer::pool& pool;
        pilfer::scope& scope;
        bool& suspended;
        [[nodiscard]] bool await_ready() noexcept { return wait.await_ready(); }
        template <class Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
            suspended = wait.await_suspend(h);
            while (suspended && is_parked()) { // nothing resumes it here: the worker is this one
            }
            if (suspended) {
                scope.cancel();
            }
            return suspended;
        }
        auto await_resume() { return wait.await_resume(); }
        [[nodiscard]] bool is_parked() const { return suspended_in(pool) != 0; }
    };
    [[nodiscard]] awaiter operator co_await() { return {wait.operator co_await(), pool, scope, suspended}; }
};

/// `wait(limit, late)` gives a coroutine that does `co_await late(a)`, where `a` waits so long in vain.
template <class Wait>
void expect_stopped_after_its_time(Wait wait) {
    pilfer::pool pool(workers(1));
    bool suspended = false;
    bool came_back = false;
    std::chrono::microseconds limit = 1ms;
    while (!suspended) {
        pool.run([&] {
            came_back = false;
            pilfer::scope s;
            s.fork([&] {
                pool.run(wait(limit, [&](auto awaitable) {
                    return cancelled_after_its_time<decltype(awaitable)>{awaitable, pool, s, suspended};
                }));
                came_back = true;
            });
            s.sync();
        });
        limit *= 2;
    }
    EXPECT_FALSE(came_back) << "the time counted more than the cancellation";
}

/// The objects that a test's coroutines wait for. None of them becomes ready by itself.
struct things {
    pilfer::event event;
    pilfer::channel<int> empty{0};
    pilfer::channel<int> full{1};
    pilfer::promise<int> promise;
    pilfer::future<int> result = promise.get_future();
    things() { EXPECT_TRUE(full.try_send(0)); }
};
enum kind { a_time, a_result, a_copied_result, a_value, room, an_event, kinds };

inline task<int> waits_for(things& all, int what) {
    switch (what) {
    case a_time:
        co_await pilfer::resume_after(1h);
        break;
    case a_result:
        co_return co_await all.result;
    case a_copied_result:
        co_return co_await pilfer::future<int>(all.result);
    case a_value:
        co_return (co_await pilfer::receive(all.empty)).value_or(-1);
    case room:
        co_return co_await pilfer::send(all.full, 1) ? 1 : 0;
    default:
        co_await all.event;
        break;
    }
    co_return 0;
}
/// waits_for() so many levels down. Each level has an object with a destructor.
inline task<int> waits_below(things& all, int what, int levels, std::atomic<int>& alive) {
    const witness here(alive);
    if (levels == 0) {
        co_return co_await waits_for(all, what);
    }
    const int got = co_await waits_below(all, what, levels - 1, alive);
    co_return got + 1;
}

} // namespace coroutine_tests
