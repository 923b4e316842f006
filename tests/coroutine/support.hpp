// Shared by the tests of coroutines.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include <gtest/gtest.h>

#include <pilfer/pilfer.hpp>

#include "pool/pool_core.hpp"
#include "support/harness.hpp"

namespace coroutine_tests {

using namespace support;
using pilfer::task;

[[nodiscard]] inline bool runs_in(const pilfer::pool& p) {
    const auto* w = pilfer::detail::this_worker();
    return w != nullptr && w->pool == &p.core();
}

/// The number of suspended coroutines.
[[nodiscard]] inline std::size_t suspended_in(pilfer::pool& p) {
    std::size_t n = 0;
    for (unsigned i = 0; i < p.core().schedulers(); ++i) {
        auto& list = p.core().at(i).waiting_coroutines;
        list.lock();
        list.for_each_locked([&n](const auto& /*parked*/) { ++n; });
        list.unlock();
    }
    return n;
}

/// Awaits `wait`, and calls f() between its look whether it is ready, and its wait. In a pool of one worker.
template <class Awaitable, class F>
struct overtaken {
    using pilfer_awaitable = void;
    Awaitable wait;
    F f;

    struct awaiter {
        decltype(std::declval<Awaitable&>().operator co_await()) wait;
        F& f;
        [[nodiscard]] bool await_ready() {
            const bool ready = wait.await_ready();
            EXPECT_FALSE(ready);
            return ready;
        }
        template <class Promise>
        [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
            f();
            return wait.await_suspend(h);
        }
        auto await_resume() { return wait.await_resume(); }
    };
    [[nodiscard]] awaiter operator co_await() { return {wait.operator co_await(), f}; }
};
template <class Awaitable, class F>
overtaken(Awaitable, F) -> overtaken<Awaitable, F>;

/// Counts those alive.
struct witness {
    explicit witness(std::atomic<int>& n) : count(&n) { ++n; }
    witness(witness&& other) noexcept : count(other.count) { ++*count; }
    witness& operator=(witness&&) = delete;
    ~witness() { --*count; }
    std::atomic<int>* count;
};

template <class T>
inline task<T> give(T value) {
    co_return std::forward<T>(value);
}
inline task<> nothing() { co_return; }
inline task<int> fail(const char* text) {
    throw std::runtime_error(text);
    co_return 0;
}
inline task<std::uint64_t> fib_task(unsigned n) {
    if (n < 2) {
        co_return n;
    }
    const std::uint64_t a = co_await fib_task(n - 1);
    const std::uint64_t b = co_await fib_task(n - 2);
    co_return a + b;
}
inline task<std::uint64_t> fib_forked(pilfer::pool& p, unsigned n) {
    if (n < 8) {
        co_return co_await fib_task(n);
    }
    auto a = p.async(fib_forked(p, n - 1));
    const std::uint64_t b = co_await fib_forked(p, n - 2);
    co_return co_await a + b;
}

} // namespace coroutine_tests
