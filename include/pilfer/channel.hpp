// A channel: values from those who send to those who receive, in order, with a bound on how many are under
// way.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/sync/channel.hpp>
#include <pilfer/detail/sync/channel_protocol.hpp>
#include <pilfer/detail/worker/wait.hpp>

namespace pilfer {
inline namespace v0 {

/// A queue of at most `capacity` values between tasks of any pool and any threads, for any number of senders
/// and receivers; values are received in the order in which they were accepted. With capacity 0 a send waits
/// until a receiver takes its value. Who has to wait suspends if it is a task, and blocks otherwise; those
/// who wait are served in the order in which they came.
///
/// close(): nobody sends any more. Sends return false from then on, those that wait for room too; what was
/// accepted before can still be received, and then every receive returns nothing.
///
/// A send that returns false has not sent. A value that it was given as an rvalue is then as before, moved
/// back if it had to be moved meanwhile (T is move-assignable; otherwise it is lost then). What T's move
/// throws comes out of the call. Out of a send: nothing was sent. Out of a receive: the value is the next to
/// be received again, in the state in which that move left it. No code of T runs under a lock.
///
/// Costs: a send allocates one cell (and so may throw std::bad_alloc; then nothing was sent); send and
/// receive take one short lock each.
template <class T>
class channel {
    static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_move_constructible_v<T>,
                  "what travels through a channel is moved");

public:
    explicit channel(std::size_t capacity) noexcept : m_core(capacity) {}
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    /// Nobody may wait any more. Values that nobody received end with it.
    ~channel() {
        while (detail::channel_core::cell* c = m_core.receive(0)) {
            delete static_cast<item*>(c);
        }
    }

    /// True: accepted. False: the channel is closed.
    [[nodiscard]] bool send(T&& value) { return send_within(std::move(value), detail::never); }
    [[nodiscard]] bool send(const T& value) requires std::copy_constructible<T> {
        return send_within(value, detail::never);
    }
    /// False: closed, or it would have to wait.
    [[nodiscard]] bool try_send(T&& value) {
        return m_core.state().accepts() && send_within(std::move(value), 0);
    }
    [[nodiscard]] bool try_send(const T& value) requires std::copy_constructible<T> {
        return m_core.state().accepts() && send_within(value, 0);
    }
    /// False: closed, or there was no room in time; closed() tells.
    template <class Rep, class Period>
    [[nodiscard]] bool try_send_for(T&& value, std::chrono::duration<Rep, Period> d) {
        return send_within(std::move(value), detail::after(d));
    }
    template <class Rep, class Period>
    [[nodiscard]] bool
    try_send_for(const T& value, std::chrono::duration<Rep, Period> d) requires std::copy_constructible<T> {
        return send_within(value, detail::after(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_send_until(T&& value, const std::chrono::time_point<Clock, Duration>& t) {
        return send_within(std::move(value), detail::at(t));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool
    try_send_until(const T& value,
                   const std::chrono::time_point<Clock, Duration>& t) requires std::copy_constructible<T> {
        return send_within(value, detail::at(t));
    }

    /// Nothing: closed, and everything was received.
    [[nodiscard]] std::optional<T> receive() { return receive_within(detail::never); }
    /// Nothing: it would have to wait, or closed.
    [[nodiscard]] std::optional<T> try_receive() { return receive_within(0); }
    /// Nothing: nothing came in time, or closed.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<T> try_receive_for(std::chrono::duration<Rep, Period> d) {
        return receive_within(detail::after(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] std::optional<T> try_receive_until(const std::chrono::time_point<Clock, Duration>& t) {
        return receive_within(detail::at(t));
    }

    /// May be called again. Does not wait.
    void close() noexcept { m_core.close(); }
    [[nodiscard]] bool closed() noexcept { return m_core.state().closed(); }
    /// How many values wait in it; with capacity 0 none does.
    [[nodiscard]] std::size_t size() noexcept { return m_core.state().size(); }
    [[nodiscard]] std::size_t capacity() const noexcept { return m_core.capacity(); }

private:
    template <class, class>
    friend class detail::channel_reaction;
    friend struct detail::channel_access;
    using item = detail::channel_item<T>;

    template <class U>
    [[nodiscard]] bool send_within(U&& value, detail::instant until) {
        auto made = std::make_unique<item>(std::forward<U>(value));
        if (m_core.send(*made, until)) {
            (void)made.release();
            return true;
        }
        if constexpr (!std::is_lvalue_reference_v<U> && std::is_move_assignable_v<T>) {
            value = std::move(made->value);
        }
        return false;
    }
    [[nodiscard]] std::optional<T> receive_within(detail::instant until) {
        return received(m_core.receive(until));
    }
    [[nodiscard]] std::optional<T> received(detail::channel_core::cell* cell) {
        auto* const got = static_cast<item*>(cell);
        if (got == nullptr) {
            return std::nullopt;
        }
        const putting_back guard{m_core, *got};
        std::optional<T> out(std::in_place, std::move(got->value));
        guard.received = true;
        return out;
    }
    /// The end of a receive: the cell goes, or returns into the channel.
    struct putting_back {
        detail::channel_core& core;
        item& got;
        mutable bool received = false;
        ~putting_back() {
            if (received) {
                delete &got;
            } else {
                core.put_back(got);
            }
        }
    };

    detail::channel_core m_core;
};

} // namespace v0
} // namespace pilfer
