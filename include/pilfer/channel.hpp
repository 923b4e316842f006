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

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/sync/channel.hpp>
#include <pilfer/detail/sync/channel_protocol.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {

/// A bounded queue between tasks and threads, for any number of senders and receivers. Values are received in
/// the order in which they were accepted. With capacity 0 a send waits until a receiver takes its value.
///
/// A task that has to wait suspends, any other thread blocks; waiters are served in the order in which they
/// came. After close() sends return false, also those that wait for room. Values that were accepted can still
/// be received; then every receive returns nothing. A send that returns false leaves an rvalue as it was, if
/// T can be move-assigned. An exception of T's move comes out of the call: out of a send nothing was sent,
/// out of a receive the value is the next to be received. No code of T runs under a lock. Throws
/// std::bad_alloc: a send allocates one cell. Cost: one short lock each.
template <class T>
class channel {
    static_assert(std::is_object_v<T> && !std::is_const_v<T> && std::is_move_constructible_v<T>,
                  "what travels through a channel is moved");

public:
    /// Makes a channel in which at most `capacity` values wait; 0: each send waits for a receive.
    explicit channel(std::size_t capacity) noexcept : m_core(capacity) {}
    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;
    /// No task or thread may wait any more. Values that were not received end with it.
    ~channel() {
        while (detail::channel_core::cell* c = m_core.receive(0)) {
            delete static_cast<item*>(c);
        }
    }

    /// Returns true if the value was accepted, false if the channel is closed.
    [[nodiscard]] bool send(T&& value) { return send_within(std::move(value), detail::never); }
    /// Sends a copy.
    [[nodiscard]] bool send(const T& value) requires std::copy_constructible<T> {
        return send_within(value, detail::never);
    }
    /// Returns false if the channel is closed, or if it would have to wait.
    [[nodiscard]] bool try_send(T&& value) {
        PILFER_TEST_POINT("looks whether a channel has room", &m_core);
        return m_core.state().accepts() && send_within(std::move(value), 0);
    }
    /// Sends a copy, without a wait.
    [[nodiscard]] bool try_send(const T& value) requires std::copy_constructible<T> {
        PILFER_TEST_POINT("looks whether a channel has room", &m_core);
        return m_core.state().accepts() && send_within(value, 0);
    }
    /// Returns false if the channel is closed, or if there was no room in time; closed() says which.
    template <class Rep, class Period>
    [[nodiscard]] bool try_send_for(T&& value, std::chrono::duration<Rep, Period> d) {
        return send_within(std::move(value), detail::after(d));
    }
    /// Sends a copy, within `d`.
    template <class Rep, class Period>
    [[nodiscard]] bool
    try_send_for(const T& value, std::chrono::duration<Rep, Period> d) requires std::copy_constructible<T> {
        return send_within(value, detail::after(d));
    }
    /// As try_send_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_send_until(T&& value, const std::chrono::time_point<Clock, Duration>& t) {
        return send_within(std::move(value), detail::at(t));
    }
    /// Sends a copy, until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool
    try_send_until(const T& value,
                   const std::chrono::time_point<Clock, Duration>& t) requires std::copy_constructible<T> {
        return send_within(value, detail::at(t));
    }

    /// Returns nothing if the channel is closed and empty.
    [[nodiscard]] std::optional<T> receive() { return receive_within(detail::never); }
    /// Returns nothing if it would have to wait, or if the channel is closed and empty.
    [[nodiscard]] std::optional<T> try_receive() { return receive_within(0); }
    /// Returns nothing if no value came in time, or if the channel is closed and empty.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<T> try_receive_for(std::chrono::duration<Rep, Period> d) {
        return receive_within(detail::after(d));
    }
    /// As try_receive_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] std::optional<T> try_receive_until(const std::chrono::time_point<Clock, Duration>& t) {
        return receive_within(detail::at(t));
    }

    /// May be called again. Does not wait.
    void close() noexcept { m_core.close(); }
    /// True after close().
    [[nodiscard]] bool closed() noexcept {
        PILFER_TEST_POINT("looks whether a channel is closed", &m_core);
        return m_core.state().closed();
    }
    /// The number of values in it; 0 with capacity 0.
    [[nodiscard]] std::size_t size() noexcept {
        PILFER_TEST_POINT("looks at the size of a channel", &m_core);
        return m_core.state().size();
    }
    /// The bound that the constructor was given.
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
                delete std::addressof(got);
            } else {
                core.put_back(got);
            }
        }
    };

    detail::channel_core m_core;
};

} // namespace v0
} // namespace pilfer
