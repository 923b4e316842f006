// Calls of objects by coroutines: the wait for the object's lock, and the wait for a condition.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pilfer/co_lock.hpp>
#include <pilfer/detail/coroutine/lock_awaiters.hpp>
#include <pilfer/detail/coroutine/lock_resumptions.hpp>
#include <pilfer/detail/objects/objects_core.hpp>
#include <pilfer/monitor.hpp>
#include <pilfer/synchronized.hpp>
#include <pilfer/task.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The awaiter of an object's lock. After the wait the lock belongs to the running task, as in a call of a
/// function, because the call itself does not suspend the coroutine. `Limit`: wait_limit or no_limit.
template <class Lock, bool Shared, class Limit>
class object_awaiter {
    static constexpr bool is_mutex = std::is_same_v<Lock, mutex>;
    using resumption = std::conditional_t<is_mutex, mutex_resumption, shared_mutex_resumption>;

public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    object_awaiter(call_lock<Lock>& l, instant until) noexcept : m_lock(l), m_limit(until) {}
    [[nodiscard]] bool await_ready() noexcept {
        PILFER_TEST_CANNOT_REPEAT("a coroutine that calls an object");
        if constexpr (is_mutex) {
            return coroutine_locks::try_lock(m_lock.lock());
        } else {
            return shared_mutex_resumption::try_lock(m_lock.lock(), Shared);
        }
    }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        m_waits = true;
        auto* const wait = new (&m_wait) resumption;
        wait->is_of(h);
        m_limit.limits(*wait);
        if constexpr (is_mutex) {
            return wait->wait_for(m_lock.lock());
        } else {
            return wait->wait_for(m_lock.lock(), Shared);
        }
    }
    /// True: the task is inside. False: the time was over first.
    bool await_resume() {
        if (m_waits) {
            if constexpr (is_mutex) {
                m_wait.leave_if_taken_out();
            } else {
                m_wait.leave_if_taken_out(m_lock.lock());
            }
            if (!is_in_time(m_limit)) {
                if constexpr (!is_mutex) {
                    m_wait.leaves_queue(m_lock.lock());
                }
                return false;
            }
        }
        if constexpr (Shared && !is_mutex) {
            m_lock.adopt_shared();
        } else {
            m_lock.adopt();
        }
        return true;
    }

private:
    call_lock<Lock>& m_lock;
    [[no_unique_address]] Limit m_limit;
    bool m_waits = false;
    union {
        resumption m_wait; // while m_waits
    };
};

/// Enters an object.
template <class Lock, class Limit>
struct object_entry {
    using pilfer_awaitable = void;
    call_lock<Lock>& lock;
    instant until;
    [[nodiscard]] object_awaiter<Lock, false, Limit> operator co_await() const noexcept {
        return object_awaiter<Lock, false, Limit>(lock, until);
    }
};

/// A coroutine's wait for the condition of a monitor call.
class PILFER_API monitor_resumption : public listed_resumption {
public:
    /// The running task is inside, and the condition of `c` does not hold. True: the coroutine is suspended,
    /// and the caller touches nothing of this. Throws usage_error; then the task is outside.
    [[nodiscard]] bool wait_for(monitor_core& m, monitor_call& c);
    /// After the wait. True: inside again. False: outside, and `until` is over. Throws `stopped`, and what
    /// the condition has thrown; then it is outside.
    [[nodiscard]] bool enter_again(monitor_core& m, const monitor_call& c, const std::exception_ptr& error,
                                   instant until);
};

struct object_access {
    template <class T, class Lock>
    [[nodiscard]] static call_lock<Lock>& lock(const synchronized<T, Lock>& s) noexcept {
        return s.m_lock;
    }
    template <class T>
    [[nodiscard]] static call_lock<mutex>& lock(const monitor<T>& m) noexcept {
        return m.m_core.lock();
    }
    template <class T>
    [[nodiscard]] static monitor_core& core(monitor<T>& m) noexcept {
        return m.m_core;
    }
    template <class T>
    [[nodiscard]] static const T& value(const monitor<T>& m) noexcept {
        return m.m_value;
    }

    // The task is inside, and leaves.
    template <class T, class Lock, class F>
    static call_result_t<F, T> call(synchronized<T, Lock>& s, F& f) {
        const typename synchronized<T, Lock>::leaving guard{s.m_lock};
        return std::invoke(f, s.m_value);
    }
    template <class T, class Lock, class F>
    static call_result_t<F, const T> read(const synchronized<T, Lock>& s, F& f) {
        if constexpr (std::is_same_v<Lock, shared_mutex>) {
            const typename synchronized<T, Lock>::leaving_shared guard{s.m_lock, this_activation()};
            return std::invoke(f, s.m_value);
        } else {
            const typename synchronized<T, Lock>::leaving guard{s.m_lock};
            return std::invoke(f, s.m_value);
        }
    }
    template <class T, class F>
    static call_result_t<F, T> call(monitor<T>& m, F& f) {
        return m.changing(f);
    }
    template <class T, class F>
    static call_result_t<F, const T> read(const monitor<T>& m, F& f) {
        const typename monitor<T>::unchanged guard{m.m_core};
        return std::invoke(f, m.m_value);
    }
    template <class T, class Lock, class F>
    [[nodiscard]] static tried_t<F, T> tried(synchronized<T, Lock>& s, F& f) {
        return s.inside(f);
    }
    template <class T, class F>
    [[nodiscard]] static tried_t<F, T> tried(monitor<T>& m, F& f) {
        return m.tried(f);
    }
    template <class T, class C>
    [[nodiscard]] static bool is_ready(monitor<T>& m, C& ready) {
        return m.is_ready(ready);
    }
};

/// The awaitable of a call, which is awaited once. `run` is called inside, and leaves. With a wait_limit the
/// result is an optional.
template <class Lock, bool Shared, class Object, class F, class Result, class Limit = no_limit>
class [[nodiscard]] object_call {
public:
    using pilfer_awaitable = void;
    using run = Result (*)(Object&, F&);

    object_call(Object& o, F&& f, run how, instant until = never)
        : m_object(o), m_function(std::move(f)), m_run(how), m_until(until) {}

    class awaiter : private object_awaiter<Lock, Shared, Limit> {
        using entry = object_awaiter<Lock, Shared, Limit>;

    public:
        explicit awaiter(object_call& c) noexcept
            : entry(object_access::lock(c.m_object), c.m_until), m_call(c) {}
        using entry::await_ready;
        using entry::await_suspend;
        Result await_resume() {
            const bool is_inside = entry::await_resume();
            if constexpr (!std::is_same_v<Limit, no_limit>) {
                if (!is_inside) {
                    return std::nullopt;
                }
            }
            return m_call.m_run(m_call.m_object, m_call.m_function);
        }

    private:
        object_call& m_call;
    };
    [[nodiscard]] awaiter operator co_await() && noexcept { return awaiter(*this); }

private:
    Object& m_object;
    F m_function;
    run m_run;
    instant m_until;
};
template <class T, class Lock, class F>
using limited_call = object_call<Lock, false, synchronized<T, Lock>, F, tried_t<F, T>, wait_limit>;

/// The objects of call_all() in their order, and the locks that the coroutine has already: of each object
/// one.
template <std::size_t N>
struct locks_of_all {
    std::array<synchronized_part, N> parts;
    std::array<coroutine_lock<mutex>, N> alone;
    std::array<coroutine_lock<shared_mutex>, N> shared;

    template <class... Objects>
    explicit locks_of_all(const std::tuple<Objects&...>& objects)
        : parts(std::apply(
              [](auto&... o) { return std::array<synchronized_part, N>{synchronized_access::part(o)...}; },
              objects)) {
        detail::order_all(parts.data(), N);
    }
    /// With all locks. They belong to the running task from now on, as in a call of a function.
    [[nodiscard]] inside_all enter() noexcept {
        for (std::size_t i = 0; i < N; ++i) {
            parts[i].adopt(parts[i].object);
            coroutine_locks::disown(alone[i]);
            coroutine_locks::disown(shared[i]);
        }
        return {parts.data(), N};
    }
};

/// The awaiter of a condition. The coroutine is inside before and after.
template <class T, class C, class Limit>
class call_condition_awaiter : private monitor_resumption, private monitor_call {
public:
    call_condition_awaiter(monitor<T>& o, C& ready, instant until) noexcept
        : m_object(o), m_ready(ready), m_until(until), m_limit(until) {
        look = &decide;
    }
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        this->is_of(h);
        m_limit.limits(*this);
        return this->wait_for(object_access::core(m_object), *this);
    }
    /// False: the time was over first, and the task is outside.
    bool await_resume() { return this->enter_again(object_access::core(m_object), *this, m_error, m_until); }

private:
    /// Inside, perhaps on another stack. The coroutine itself runs the call.
    static queue::verdict decide(monitor_call& self, bool /*here*/) noexcept {
        auto& c = static_cast<call_condition_awaiter&>(self);
        PILFER_TRY {
            return std::invoke(c.m_ready, object_access::value(c.m_object)) ? queue::verdict::given
                                                                            : queue::verdict::waits;
        }
        PILFER_CATCH_ALL { c.m_error = detail::caught_error(); }
        return queue::verdict::served;
    }

    monitor<T>& m_object;
    C& m_ready;
    instant m_until;
    [[no_unique_address]] Limit m_limit;
    std::exception_ptr m_error;
};
template <class T, class C, class Limit>
struct condition_of_call {
    using pilfer_awaitable = void;
    monitor<T>& object;
    C& ready;
    instant until;
    [[nodiscard]] call_condition_awaiter<T, C, Limit> operator co_await() const noexcept {
        return call_condition_awaiter<T, C, Limit>(object, ready, until);
    }
};

/// A call with a condition and a time limit.
template <class T, class C, class F>
task<tried_t<F, T>> call_within(monitor<T>& object, instant until, C ready, F f) {
    const bool entered = co_await object_entry<mutex, wait_limit>{object_access::lock(object), until};
    if (!entered) {
        co_return std::nullopt;
    }
    if (!object_access::is_ready(object, ready)) {
        const bool holds = co_await condition_of_call<T, C, wait_limit>{object, ready, until};
        if (!holds) {
            co_return std::nullopt;
        }
    }
    co_return object_access::tried(object, f);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
