// Awaiters of this library's objects. Each is in the frame of the coroutine that waits.
#pragma once

#include <concepts>
#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/channel.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/coroutine/channel_resumption.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/detail/coroutine/event_resumption.hpp>
#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/event.hpp>
#include <pilfer/future.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// True for an awaitable of this library: its coroutine returns to the pool by itself.
template <class A>
inline constexpr bool is_own_awaitable = requires {
    typename A::pilfer_awaitable;
};
template <class T>
inline constexpr bool is_own_awaitable<future<T>> = true;
template <>
inline constexpr bool is_own_awaitable<event> = true;

/// co_await of a future. `Copies`: the result is copied, because the future does not outlive the expression.
template <class T, bool Copies>
class future_awaiter : private future_resumption {
public:
    explicit future_awaiter(const future<T>& f)
        : m_state(static_cast<future_state<T>&>(f.core())) {} // throws for a future that refers to nothing
    [[nodiscard]] bool await_ready() const noexcept {
        PILFER_TEST_POINT("looks whether a future is ready", &m_state);
        return m_state.is_done();
    }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        return wait_for(m_state);
    }
    decltype(auto) await_resume() const {
        leave_if_taken_out();
        m_state.wait(); // it is done: records the task that waited and the one that it waited for
        if constexpr (std::is_void_v<T>) {
            (void)m_state.look();
        } else if constexpr (std::is_reference_v<T>) {
            return static_cast<T>(*m_state.look());
        } else if constexpr (!Copies) {
            return (m_state.look());
        } else if constexpr (std::copy_constructible<T>) {
            return T(m_state.look());
        } else {
            return T(m_state.take());
        }
    }

private:
    future_state<T>& m_state;
};

/// The awaiter of a wait for a future with a time limit.
class limited_future_awaiter : private future_resumption {
public:
    limited_future_awaiter(future_core& f, instant until) noexcept : m_future(f), m_limit(until) {}
    [[nodiscard]] bool await_ready() const noexcept {
        PILFER_TEST_POINT("looks whether a future is ready", &m_future);
        return m_future.is_done();
    }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        m_limit.limits(*this);
        return wait_for(m_future);
    }
    future_status await_resume() const {
        leave_if_taken_out();
        if (!m_future.is_done()) { // the end may have come right after the time
            return future_status::timeout;
        }
        m_future.wait(); // records the task that waited and the one that it waited for
        return future_status::ready;
    }

private:
    future_core& m_future;
    wait_limit m_limit;
};
using limited_future_wait = limited_awaitable<limited_future_awaiter, future_core>;

/// The awaiter of resume_after().
class timed_awaiter : private timed_resumption {
public:
    explicit timed_awaiter(instant when) noexcept : m_when(when) {}
    /// Not ready if the task must leave: a loop over times that are over has to end, too.
    [[nodiscard]] bool await_ready() const noexcept {
        PILFER_TEST_CANNOT_REPEAT("a coroutine that waits for a time");
        return m_when <= detail::now() && !detail::must_leave();
    }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        return wait_until(m_when);
    }
    void await_resume() const { leave_if_taken_out(); }

private:
    instant m_when;
};

/// The awaiter of an event. `Limit`, here and below: wait_limit or no_limit.
template <class Limit>
class event_awaiter : private event_resumption {
public:
    explicit event_awaiter(event& e, instant until = never) noexcept : m_event(e), m_limit(until) {}
    [[nodiscard]] bool await_ready() noexcept { return is_set(m_event); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        this->is_of(h);
        m_limit.limits(*this);
        return this->wait_for(m_event);
    }
    /// Returns false if the time was over first.
    typename Limit::result await_resume() const {
        this->leave_if_taken_out();
        return m_limit.in_time();
    }

private:
    event& m_event;
    [[no_unique_address]] Limit m_limit;
};
using limited_event_wait = limited_awaitable<event_awaiter<wait_limit>, event>;

struct channel_access {
    template <class T>
    [[nodiscard]] static channel_core& core(channel<T>& c) noexcept {
        return c.m_core;
    }
    template <class T>
    [[nodiscard]] static std::optional<T> received(channel<T>& c, channel_core::cell* cell) {
        return c.received(cell);
    }
};

template <class T, class Limit>
class send_awaiter : private channel_resumption {
public:
    using item = channel_item<T>;
    send_awaiter(channel<T>& c, std::unique_ptr<item> what, instant until) noexcept
        : m_core(channel_access::core(c)), m_what(std::move(what)), m_limit(until) {}
    [[nodiscard]] bool await_ready() noexcept { return try_send(m_core, *m_what); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        m_limit.limits(*this);
        return wait_to_send(m_core, *m_what);
    }
    [[nodiscard]] bool await_resume() {
        leave_if_taken_out();
        if (sent()) {
            (void)m_what.release(); // NOLINT(bugprone-unused-return-value): it is the channel's
            return true;
        }
        return false;
    }

private:
    channel_core& m_core;
    std::unique_ptr<item> m_what;
    [[no_unique_address]] Limit m_limit;
};

template <class T, class Limit>
class receive_awaiter : private channel_resumption {
public:
    explicit receive_awaiter(channel<T>& c, instant until = never) noexcept : m_channel(c), m_limit(until) {}
    [[nodiscard]] bool await_ready() noexcept { return try_receive(channel_access::core(m_channel)); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        m_limit.limits(*this);
        return wait_to_receive(channel_access::core(m_channel));
    }
    [[nodiscard]] std::optional<T> await_resume() {
        leave_if_taken_out();
        return channel_access::received(m_channel, received());
    }

private:
    channel<T>& m_channel;
    [[no_unique_address]] Limit m_limit;
};
template <class T>
using limited_receive = limited_awaitable<receive_awaiter<T, wait_limit>, channel<T>>;

} // namespace detail
} // namespace v0
} // namespace pilfer
