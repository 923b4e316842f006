// A coroutine of this library that awaits an awaitable of another library.
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class A>
decltype(auto) awaiter_of(A&& a) {
    if constexpr (requires { static_cast<A&&>(a).operator co_await(); }) {
        return static_cast<A&&>(a).operator co_await();
    } else if constexpr (requires { operator co_await(static_cast<A&&>(a)); }) {
        return operator co_await(static_cast<A&&>(a));
    } else {
        return static_cast<A&&>(a);
    }
}

/// The stand-in that a foreign awaitable gets instead of the waiting coroutine. Its resumption, on any
/// thread, only makes the real coroutine a task of its pool again.
struct stand_in_coroutine {
    struct promise_type {
        stand_in_coroutine get_return_object() noexcept {
            return {std::coroutine_handle<promise_type>::from_promise(*this)};
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };
    std::coroutine_handle<> handle;
};
inline stand_in_coroutine stand_in_for(resumption* r) {
    r->go_on();
    co_return;
}

template <class A>
class foreign_awaiter {
    using awaiter = decltype(detail::awaiter_of(std::declval<A>()));

public:
    explicit foreign_awaiter(A&& a) : m_awaiter(detail::awaiter_of(static_cast<A&&>(a))) {}
    [[nodiscard]] decltype(auto) await_ready() { return m_awaiter.await_ready(); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        m_place.is_of(h);
        m_place.leave_if_stopped(); // before the wait begins: afterwards the result is the coroutine's
        PILFER_TEST_CANNOT_REPEAT("a coroutine that awaits something of another library");
        m_place.begin();
        m_place.park(parked_elsewhere, nullptr);
        std::coroutine_handle<> other;
        std::coroutine_handle<> next;
        bool suspended = false;
        PILFER_TRY {
            other = stand_in_for(&m_place).handle;
            suspended = suspend(other, next);
        }
        PILFER_CATCH_ALL {
            stay(other);
            PILFER_RETHROW;
        }
        if (!suspended) {
            stay(other);
            return false;
        }
        // This may be gone.
        if (next) {
            next.resume();
        }
        return true;
    }
    decltype(auto) await_resume() { return m_awaiter.await_resume(); }

private:
    bool suspend(std::coroutine_handle<> h, std::coroutine_handle<>& next) {
        using answer = decltype(m_awaiter.await_suspend(h));
        if constexpr (std::is_void_v<answer>) {
            m_awaiter.await_suspend(h);
            return true;
        } else if constexpr (std::same_as<answer, bool>) {
            return m_awaiter.await_suspend(h);
        } else {
            next = m_awaiter.await_suspend(h);
            return true;
        }
    }
    void stay(std::coroutine_handle<> other) noexcept {
        m_place.withdraw();
        if (other) {
            other.destroy();
        }
    }
    awaiter m_awaiter;
    resumption m_place;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
