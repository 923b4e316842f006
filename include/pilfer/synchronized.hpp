// synchronized: an object that can only be reached under its lock.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <functional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/objects/objects_core.hpp>
#include <pilfer/detail/objects/synchronized.hpp>
#include <pilfer/shared_mutex.hpp>

namespace pilfer {
inline namespace v0 {

template <class T, class Lock = mutex>
class synchronized;

/// A T that several tasks and threads share: call(f) runs f(T&) on the caller, under the object's lock.
///
/// A task that has to wait for the lock suspends, any other thread blocks. If Lock is pilfer::shared_mutex,
/// calls of read(f) get a `const T&` and run beside each other. Coroutines use <pilfer/co_call.hpp>.
///
/// f returns a value, no reference. If f throws, the call throws that exception, and the object stays as f
/// left it. The function may wait, spawn, and call other objects: the lock stays held. call_all() takes
/// several objects in one order, so that no two callers wait for each other. If f itself calls the same
/// object, that call throws usage_error, also in a branch of a join that runs on f's stack. In a read() that
/// another reader has joined this is not noticed: the call may succeed, or wait for ever. If a child that f
/// waits for calls the object, both wait for ever.
///
/// Cost without contention: a mutex's lock and unlock, and two stores.
template <class T, class Lock>
class synchronized {
    static_assert(std::is_object_v<T> && !std::is_const_v<T>, "an object that calls may change");
    static_assert(std::is_same_v<Lock, mutex> || std::is_same_v<Lock, shared_mutex>,
                  "pilfer::mutex or pilfer::shared_mutex");
    static constexpr bool shares = std::is_same_v<Lock, shared_mutex>;

public:
    /// Makes the T from `args`.
    template <class... Args>
    requires std::constructible_from<T, Args...>
    explicit(sizeof...(Args) != 0) synchronized(Args&&... args) : m_value(std::forward<Args>(args)...) {}
    synchronized(const synchronized&) = delete;
    synchronized& operator=(const synchronized&) = delete;
    ~synchronized() = default;

    /// Returns f(T&), once the lock is the caller's.
    template <class F>
    detail::call_result_t<F, T> call(F&& f) {
        m_lock.enter();
        const leaving guard{m_lock};
        return std::invoke(f, m_value);
    }
    /// Returns f(const T&), beside other reads where the lock is a shared_mutex.
    template <class F>
    detail::call_result_t<F, const T> read(F&& f) const {
        if constexpr (shares) {
            const leaving_shared guard{m_lock, m_lock.enter_shared()};
            return std::invoke(f, m_value);
        } else {
            m_lock.enter();
            const leaving guard{m_lock};
            return std::invoke(f, m_value);
        }
    }
    /// Returns f(T&) if the lock is free, otherwise nothing. A void result becomes std::monostate.
    template <class F>
    [[nodiscard]] detail::tried_t<F, T> try_call(F&& f) {
        return m_lock.try_enter() ? inside(f) : std::nullopt;
    }
    /// As call(), if the lock is free within `d`; otherwise nothing.
    template <class Rep, class Period, class F>
    [[nodiscard]] detail::tried_t<F, T> try_call_for(std::chrono::duration<Rep, Period> d, F&& f) {
        return m_lock.enter_until(detail::after(d)) ? inside(f) : std::nullopt;
    }
    /// As try_call_for(), until `t`.
    template <class Clock, class Duration, class F>
    [[nodiscard]] detail::tried_t<F, T> try_call_until(const std::chrono::time_point<Clock, Duration>& t,
                                                       F&& f) {
        return m_lock.enter_until(detail::at(t)) ? inside(f) : std::nullopt;
    }

private:
    friend struct detail::synchronized_access;
    friend struct detail::object_access;
    using lock_type = detail::call_lock<Lock>;

    struct leaving {
        lock_type& lock;
        ~leaving() { lock.leave(); }
    };
    struct leaving_shared {
        lock_type& lock;
        detail::activation* reader;
        ~leaving_shared() { lock.leave_shared(reader); }
    };
    template <class F>
    [[nodiscard]] detail::tried_t<F, T> inside(F& f) {
        const leaving guard{m_lock};
        return detail::tried(f, m_value);
    }

    mutable lock_type m_lock;
    T m_value;
};

/// Returns f(T&, U&, ...) under the locks of all objects: a transfer between two accounts. The locks are
/// taken in the order of the addresses, so that such calls never wait for each other in a cycle. Throws
/// usage_error if an object is named twice.
template <class F, class... Ts, class... Locks>
requires(sizeof...(Ts) > 0) auto call_all(F&& f, synchronized<Ts, Locks>&... objects) ->
    typename detail::all_result<F, Ts...>::type {
    std::array<detail::synchronized_part, sizeof...(Ts)> parts{detail::synchronized_access::part(objects)...};
    detail::enter_all(parts.data(), parts.size());
    const detail::inside_all guard{parts.data(), parts.size()};
    return std::invoke(f, detail::synchronized_access::value(objects)...);
}

} // namespace v0
} // namespace pilfer
