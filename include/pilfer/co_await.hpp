// Awaitables for coroutines: futures, times, channels, events, latches, barriers, locks.
#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <utility>

#include <pilfer/channel.hpp>
#include <pilfer/co_barrier.hpp>
#include <pilfer/co_lock.hpp>
#include <pilfer/detail/coroutine/awaiters.hpp>
#include <pilfer/error.hpp>
#include <pilfer/event.hpp>
#include <pilfer/future.hpp>
#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {

// ---- futures and times ------------------------------------------------------------------------

/// co_await f: waits without a stack until the result is there. Gives a const reference to it (T itself if
/// that is a reference), or rethrows. It does not run the task itself, as get() does. Throws stopped if the
/// task is cancelled. The first wait below a scope allocates; without memory for that a cancellation does not
/// end the wait.
template <class T>
[[nodiscard]] detail::future_awaiter<T, false> operator co_await(const future<T>& f) {
    return detail::future_awaiter<T, false>(f);
}
/// co_await of a temporary: gives a copy; a result that cannot be copied is moved out, as by take().
template <class T>
[[nodiscard]] detail::future_awaiter<T, true> operator co_await(future<T>&& f) {
    return detail::future_awaiter<T, true>(f);
}
/// future_status s = co_await wait_for(f, d): waits for the result for at most `d`, counted from the call,
/// and does not look at it. `f` must live until then.
///
/// Throws usage_error if f refers to nothing, stopped if the task is cancelled, and std::bad_alloc: the first
/// such wait for a result allocates. A time that is over already lets other tasks run first.
template <class T, class Rep, class Period>
[[nodiscard]] detail::limited_future_wait wait_for(const future<T>& f, std::chrono::duration<Rep, Period> d) {
    return {f.core(), detail::after(d)};
}
/// As wait_for(), until `t` by the present reading of its clock.
template <class T, class Clock, class Duration>
[[nodiscard]] detail::limited_future_wait wait_until(const future<T>& f,
                                                     const std::chrono::time_point<Clock, Duration>& t) {
    return {f.core(), detail::at(t)};
}

/// The awaitable of resume_after() and resume_at(); may be awaited again.
class resume_time {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// For the library.
    explicit resume_time(detail::instant due) noexcept : m_due(due) {}
    /// The awaiter of a coroutine.
    [[nodiscard]] detail::timed_awaiter operator co_await() const noexcept {
        return detail::timed_awaiter(m_due);
    }

private:
    detail::instant m_due;
};

/// co_await resume_after(d): the coroutine goes on after `d`, counted from the call, as a task of its pool. A
/// negative duration is over at once. No allocation. Throws stopped if the task is cancelled; outside of all
/// pools also what pool::common() throws. A shutdown waits for it, as for a task that sleeps.
template <class Rep, class Period>
[[nodiscard]] resume_time resume_after(std::chrono::duration<Rep, Period> d) noexcept {
    return resume_time(detail::after(d));
}
/// As resume_after(), at `t`. A clock that is set meanwhile does not change the end.
template <class Clock, class Duration>
[[nodiscard]] resume_time resume_at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return resume_time(detail::at(t));
}

// ---- channels ---------------------------------------------------------------------------------

/// The awaitable of send(); may be awaited once. `Limit` is for the library.
template <class T, class Limit = detail::no_limit>
class [[nodiscard]] channel_send {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// Prepares a send of `value` to `c`.
    template <class U>
    channel_send(channel<T>& c, U&& value, detail::instant until = detail::never)
        : m_channel(c), m_what(std::make_unique<detail::channel_item<T>>(std::forward<U>(value))),
          m_until(until) {}
    /// Throws usage_error for one that was awaited before.
    [[nodiscard]] detail::send_awaiter<T, Limit> operator co_await() && {
        if (m_what == nullptr) {
            PILFER_THROW(usage_error("pilfer: this send was awaited before"));
        }
        return detail::send_awaiter<T, Limit>(m_channel, std::move(m_what), m_until);
    }

private:
    channel<T>& m_channel;
    std::unique_ptr<detail::channel_item<T>> m_what;
    detail::instant m_until;
};

/// The awaitable of receive(); may be awaited again.
template <class T>
class [[nodiscard]] channel_receive {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// Prepares a receive from `c`.
    explicit channel_receive(channel<T>& c) noexcept : m_channel(c) {}
    /// The awaiter of a coroutine.
    [[nodiscard]] detail::receive_awaiter<T, detail::no_limit> operator co_await() const noexcept {
        return detail::receive_awaiter<T, detail::no_limit>(m_channel);
    }

private:
    channel<T>& m_channel;
};

/// co_await send(c, value): as c.send(value), but waits without a stack. Gives true if the value was
/// accepted, false if the channel is closed. `c` must live until then. Throws std::bad_alloc and what making
/// a T throws; then nothing was sent. Cost: one cell, and one short lock, two if it waits.
template <class T, class U = T>
requires std::constructible_from<T, U&&>
[[nodiscard]] channel_send<T> send(channel<T>& c, U&& value) {
    return channel_send<T>(c, std::forward<U>(value));
}
/// co_await receive(c): as c.receive(), but waits without a stack. Gives nothing if the channel is closed and
/// empty. If T's move throws, the value is the next to be received.
template <class T>
[[nodiscard]] channel_receive<T> receive(channel<T>& c) noexcept {
    return channel_receive<T>(c);
}
/// bool sent = co_await try_send_for(c, value, d): as send(), but waits for room for at most `d`, counted
/// from the call. Gives false if there was none in time, or if the channel is closed; c.closed() says which.
/// The value then ends with the expression.
template <class T, class U = T, class Rep, class Period>
requires std::constructible_from<T, U&&>
[[nodiscard]] channel_send<T, detail::wait_limit> try_send_for(channel<T>& c, U&& value,
                                                               std::chrono::duration<Rep, Period> d) {
    return {c, std::forward<U>(value), detail::after(d)};
}
/// As try_send_for(), until `t` by the present reading of its clock.
template <class T, class U = T, class Clock, class Duration>
requires std::constructible_from<T, U&&>
[[nodiscard]] channel_send<T, detail::wait_limit>
try_send_until(channel<T>& c, U&& value, const std::chrono::time_point<Clock, Duration>& t) {
    return {c, std::forward<U>(value), detail::at(t)};
}
/// co_await try_receive_for(c, d): as receive(), but waits for at most `d`, counted from the call. Gives
/// nothing if no value came in time, or if the channel is closed and empty.
template <class T, class Rep, class Period>
[[nodiscard]] detail::limited_receive<T> try_receive_for(channel<T>& c,
                                                         std::chrono::duration<Rep, Period> d) noexcept {
    return {c, detail::after(d)};
}
/// As try_receive_for(), until `t` by the present reading of its clock.
template <class T, class Clock, class Duration>
[[nodiscard]] detail::limited_receive<T>
try_receive_until(channel<T>& c, const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return {c, detail::at(t)};
}

// ---- events -----------------------------------------------------------------------------------

/// co_await e: as e.wait(), but waits without a stack, in turn with tasks and threads. Throws outside of all
/// pools what pool::common() throws. Cost: one short lock, two if it waits.
[[nodiscard]] inline detail::event_awaiter<detail::no_limit> operator co_await(event& e) noexcept {
    return detail::event_awaiter<detail::no_limit>(e);
}
/// bool set = co_await wait_for(e, d): as co_await e, but for at most `d`, counted from the call. Gives false
/// if the event was not set in time.
template <class Rep, class Period>
[[nodiscard]] detail::limited_event_wait wait_for(event& e, std::chrono::duration<Rep, Period> d) noexcept {
    return {e, detail::after(d)};
}
/// As wait_for(), until `t` by the present reading of its clock.
template <class Clock, class Duration>
[[nodiscard]] detail::limited_event_wait
wait_until(event& e, const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return {e, detail::at(t)};
}

} // namespace v0
} // namespace pilfer
