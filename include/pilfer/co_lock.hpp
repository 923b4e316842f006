// Locks, permits and conditions for coroutines: included by <pilfer/co_await.hpp>.
#pragma once

#include <chrono>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <pilfer/condition_variable.hpp>
#include <pilfer/detail/coroutine/lock_awaiters.hpp>
#include <pilfer/error.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/semaphore.hpp>
#include <pilfer/shared_mutex.hpp>

namespace pilfer {
inline namespace v0 {

/// The lock of a coroutine, given by co_await scoped_lock(m) or scoped_lock_shared(m). Unlocks as it ends.
///
/// It belongs to the coroutine that took it, and to those that await this one: they may hold it across a
/// co_await and unlock on any thread. It ends before the last of them does; the checked build aborts
/// otherwise. Not for std::unique_lock or for another coroutine.
template <class Mutex, bool Shared = false>
class [[nodiscard]] coroutine_lock {
public:
    /// Owns nothing.
    coroutine_lock() noexcept = default;
    /// Takes the lock of `other`, which owns nothing afterwards.
    coroutine_lock(coroutine_lock&& other) noexcept
        : m_mutex(std::exchange(other.m_mutex, nullptr)), m_root(other.m_root) {}
    /// Unlocks, and takes the lock of `other`.
    coroutine_lock& operator=(coroutine_lock&& other) noexcept {
        coroutine_lock moved(std::move(other));
        std::swap(m_mutex, moved.m_mutex);
        std::swap(m_root, moved.m_root);
        return *this;
    }
    ~coroutine_lock() { unlock(); }

    /// True if it has a lock.
    [[nodiscard]] bool owns_lock() const noexcept { return m_mutex != nullptr; }
    /// The mutex that it has locked; null if it owns nothing.
    [[nodiscard]] Mutex* mutex() const noexcept { return m_mutex; }
    /// Unlocks before its end; does nothing if it owns nothing.
    void unlock() noexcept {
        Mutex* const m = std::exchange(m_mutex, nullptr);
        if (m == nullptr) {
            return;
        }
        if constexpr (Shared) {
            detail::coroutine_locks::release_shared(*m);
        } else {
            detail::coroutine_locks::release(*m, m_root);
        }
        detail::coroutine_locks::gives(m_root); // the mutex may be gone
    }

    /// For the library.
    coroutine_lock(Mutex& m, detail::coroutine_root* root) noexcept : m_mutex(&m), m_root(root) {}

private:
    friend struct detail::coroutine_locks;
    Mutex* m_mutex = nullptr;
    detail::coroutine_root* m_root = nullptr;
};

namespace detail {
template <class Mutex, bool Shared, class Limit>
using lock_awaiter =
    std::conditional_t<std::is_same_v<Mutex, mutex>, mutex_awaiter<coroutine_lock<Mutex, Shared>, Limit>,
                       shared_mutex_awaiter<Mutex, coroutine_lock<Mutex, Shared>, Shared, Limit>>;
template <class Mutex, bool Shared>
using limited_lock = limited_awaitable<lock_awaiter<Mutex, Shared, wait_limit>, Mutex>;
} // namespace detail

/// The awaitable of scoped_lock() and scoped_lock_shared(); may be awaited again.
template <class Mutex, bool Shared = false>
class [[nodiscard]] lock_of_coroutine {
    using awaiter = detail::lock_awaiter<Mutex, Shared, detail::no_limit>;

public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// For the library.
    explicit lock_of_coroutine(Mutex& m) noexcept : m_mutex(m) {}
    /// The awaiter of a coroutine.
    [[nodiscard]] awaiter operator co_await() const noexcept { return awaiter(m_mutex); }

private:
    Mutex& m_mutex;
};

/// auto guard = co_await scoped_lock(m): locks, and gives a coroutine_lock. Waits without a stack, in turn
/// with tasks and threads.
///
/// A coroutine that is cancelled while it waits leaves by `stopped`, without the lock. While it holds the
/// lock no cancellation reaches it, as with tasks; the wait after the unlock throws. Throws usage_error if it
/// has to wait and holds a lock that was not taken by co_await; outside of all pools also what
/// pool::common() throws. Allocates nothing, except that the first waits below a scope may. Cost without
/// contention: a lock() and one more resumption point.
[[nodiscard]] inline lock_of_coroutine<mutex> scoped_lock(mutex& m) noexcept {
    return lock_of_coroutine<mutex>(m);
}
/// As scoped_lock() of a mutex: locks alone.
[[nodiscard]] inline lock_of_coroutine<shared_mutex> scoped_lock(shared_mutex& m) noexcept {
    return lock_of_coroutine<shared_mutex>(m);
}
/// As scoped_lock(), together with other readers. A coroutine must not lock it shared twice.
[[nodiscard]] inline lock_of_coroutine<shared_mutex, true> scoped_lock_shared(shared_mutex& m) noexcept {
    return lock_of_coroutine<shared_mutex, true>(m);
}

/// auto guard = co_await try_scoped_lock_for(m, d): as scoped_lock(), but waits for at most `d`, counted from
/// the call. Then it gives a coroutine_lock that owns nothing. `m` is a mutex or a shared_mutex.
///
/// Tries at least once. If the lock is not free and the time is over already, other tasks run first. A
/// deadlock that a time limit would end is not reported. Cost beside scoped_lock(), if it waits: an alarm,
/// in the coroutine's frame.
template <class Mutex, class Rep, class Period>
[[nodiscard]] detail::limited_lock<Mutex, false>
try_scoped_lock_for(Mutex& m, std::chrono::duration<Rep, Period> d) noexcept {
    return {m, detail::after(d)};
}
/// As try_scoped_lock_for(), until `t` by the present reading of its clock.
template <class Mutex, class Clock, class Duration>
[[nodiscard]] detail::limited_lock<Mutex, false>
try_scoped_lock_until(Mutex& m, const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return {m, detail::at(t)};
}
/// As try_scoped_lock_for(), together with other readers.
template <class Rep, class Period>
[[nodiscard]] detail::limited_lock<shared_mutex, true>
try_scoped_lock_shared_for(shared_mutex& m, std::chrono::duration<Rep, Period> d) noexcept {
    return {m, detail::after(d)};
}
/// As try_scoped_lock_shared_for(), until `t` by the present reading of its clock.
template <class Clock, class Duration>
[[nodiscard]] detail::limited_lock<shared_mutex, true>
try_scoped_lock_shared_until(shared_mutex& m, const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return {m, detail::at(t)};
}

/// The awaitable of acquire(); may be awaited again.
class [[nodiscard]] semaphore_acquire {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// For the library.
    explicit semaphore_acquire(detail::semaphore_core& s) noexcept : m_semaphore(s) {}
    /// The awaiter of a coroutine.
    [[nodiscard]] detail::semaphore_awaiter<detail::no_limit> operator co_await() const noexcept {
        return detail::semaphore_awaiter<detail::no_limit>(m_semaphore);
    }

private:
    detail::semaphore_core& m_semaphore;
};
/// co_await acquire(s): as s.acquire(), but waits without a stack. Any task or thread may release the permit.
/// A cancelled coroutine leaves by `stopped` and takes nothing. Throws as scoped_lock().
template <std::ptrdiff_t LeastMax>
[[nodiscard]] semaphore_acquire acquire(counting_semaphore<LeastMax>& s) noexcept {
    return semaphore_acquire(detail::semaphore_access::core(s));
}

/// bool acquired = co_await try_acquire_for(s, d): as acquire(), but waits for at most `d`, counted from the
/// call. Gives false if there was no permit in time. Otherwise as try_scoped_lock_for().
template <std::ptrdiff_t LeastMax, class Rep, class Period>
[[nodiscard]] auto try_acquire_for(counting_semaphore<LeastMax>& s,
                                   std::chrono::duration<Rep, Period> d) noexcept {
    return detail::limited_acquire(detail::semaphore_access::core(s), detail::after(d));
}
/// As try_acquire_for(), until `t` by the present reading of its clock.
template <std::ptrdiff_t LeastMax, class Clock, class Duration>
[[nodiscard]] auto try_acquire_until(counting_semaphore<LeastMax>& s,
                                     const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return detail::limited_acquire(detail::semaphore_access::core(s), detail::at(t));
}

/// The awaitable of wait(); may be awaited again. `Limit` is for the library.
template <class Limit>
class [[nodiscard]] condition_wait {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// For the library.
    condition_wait(condition_variable& c, coroutine_lock<mutex>& lock,
                   detail::instant until = detail::never) noexcept
        : m_condition(c), m_lock(lock), m_until(until) {}
    /// Throws usage_error if the lock owns nothing.
    [[nodiscard]] detail::condition_awaiter<Limit> operator co_await() const {
        if (!m_lock.owns_lock()) {
            PILFER_THROW(usage_error("pilfer: a wait for a condition without the lock"));
        }
        return detail::condition_awaiter<Limit>(m_condition, *m_lock.mutex(), m_until);
    }

private:
    condition_variable& m_condition;
    coroutine_lock<mutex>& m_lock;
    detail::instant m_until;
};
/// co_await wait(c, guard): as c.wait(lock), but waits without a stack: unlocks, waits for a notification,
/// locks again. In a loop: while (!ready) co_await wait(c, guard);
///
/// A coroutine that is cancelled meanwhile, and holds no other lock, leaves by `stopped` with the lock
/// locked. Throws as scoped_lock(), before it unlocks.
[[nodiscard]] inline condition_wait<detail::no_limit> wait(condition_variable& c,
                                                           coroutine_lock<mutex>& guard) noexcept {
    return condition_wait<detail::no_limit>(c, guard);
}
/// cv_status s = co_await wait_for(c, guard, d): as wait(), but waits for a notification for at most `d`,
/// counted from the call. Gives cv_status::timeout if none came in time. The lock is locked again in any
/// case.
template <class Rep, class Period>
[[nodiscard]] condition_wait<detail::wait_limit> wait_for(condition_variable& c, coroutine_lock<mutex>& guard,
                                                          std::chrono::duration<Rep, Period> d) noexcept {
    return condition_wait<detail::wait_limit>(c, guard, detail::after(d));
}
/// As wait_for(), until `t` by the present reading of its clock.
template <class Clock, class Duration>
[[nodiscard]] condition_wait<detail::wait_limit>
wait_until(condition_variable& c, coroutine_lock<mutex>& guard,
           const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return condition_wait<detail::wait_limit>(c, guard, detail::at(t));
}

} // namespace v0
} // namespace pilfer
