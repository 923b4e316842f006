// Awaiters of locks, permits and conditions. Each is in the frame of the coroutine that waits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>
#include <type_traits>

#include <pilfer/detail/coroutine/lock_resumptions.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// True if the wait of `limit` ended in time. Always true without a limit.
[[nodiscard]] constexpr bool is_in_time(const no_limit& /*limit*/) noexcept { return true; }
[[nodiscard]] inline bool is_in_time(const wait_limit& limit) noexcept { return limit.in_time(); }

/// The awaiter of a mutex. `Guard` is made from the mutex and the root. `Limit`: wait_limit or no_limit.
template <class Guard, class Limit>
class mutex_awaiter {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    explicit mutex_awaiter(mutex& m, instant until = never) noexcept : m_mutex(m), m_limit(until) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        m_root = coroutine_locks::root_of(h);
        if (coroutine_locks::try_lock(m_mutex)) [[likely]] {
            return false;
        }
        m_waits = true;
        auto* const wait = new (&m_wait) mutex_resumption;
        wait->is_of(h);
        m_limit.limits(*wait);
        return wait->wait_for(m_mutex);
    }
    /// Returns a guard that owns nothing if the time was over first.
    [[nodiscard]] Guard await_resume() {
        if (m_waits) {
            m_wait.leave_if_taken_out();
            if (!is_in_time(m_limit)) {
                return Guard();
            }
        }
        coroutine_locks::took(m_mutex, m_root);
        return Guard(m_mutex, m_root);
    }

private:
    mutex& m_mutex;
    coroutine_root* m_root = nullptr;
    [[no_unique_address]] Limit m_limit;
    bool m_waits = false;
    union {
        mutex_resumption m_wait; // while m_waits
    };
};

/// The awaiter of a shared mutex.
template <class Mutex, class Guard, bool Shared, class Limit>
class shared_mutex_awaiter {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    explicit shared_mutex_awaiter(Mutex& m, instant until = never) noexcept : m_mutex(m), m_limit(until) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        m_root = coroutine_locks::root_of(h);
        if (shared_mutex_resumption::try_lock(m_mutex, Shared)) {
            return false;
        }
        m_waits = true;
        auto* const wait = new (&m_wait) shared_mutex_resumption;
        wait->is_of(h);
        m_limit.limits(*wait);
        return wait->wait_for(m_mutex, Shared);
    }
    /// Returns a guard that owns nothing if the time was over first.
    [[nodiscard]] Guard await_resume() {
        if (m_waits) {
            m_wait.leave_if_taken_out(m_mutex);
            if (!is_in_time(m_limit)) {
                m_wait.leaves_queue(m_mutex);
                return Guard();
            }
        }
        coroutine_locks::takes(m_root);
        return Guard(m_mutex, m_root);
    }

private:
    Mutex& m_mutex;
    coroutine_root* m_root = nullptr;
    [[no_unique_address]] Limit m_limit;
    bool m_waits = false;
    union {
        shared_mutex_resumption m_wait; // while m_waits
    };
};

/// The awaiter of a permit.
template <class Limit>
class semaphore_awaiter {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    explicit semaphore_awaiter(semaphore_core& s, instant until = never) noexcept
        : m_semaphore(s), m_limit(until) {}
    [[nodiscard]] bool await_ready() const { return m_semaphore.acquire(0); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        m_waits = true;
        auto* const wait = new (&m_wait) semaphore_resumption;
        wait->is_of(h);
        m_limit.limits(*wait);
        return wait->wait_for(m_semaphore);
    }
    /// Returns false if the time was over first.
    typename Limit::result await_resume() const {
        if (m_waits) {
            m_wait.leave_if_taken_out();
        }
        return m_limit.in_time();
    }

private:
    semaphore_core& m_semaphore;
    [[no_unique_address]] Limit m_limit;
    bool m_waits = false;
    union {
        semaphore_resumption m_wait; // while m_waits
    };
};

using limited_acquire = limited_awaitable<semaphore_awaiter<wait_limit>, semaphore_core>;

/// The awaiter of a condition.
template <class Limit>
class condition_awaiter : private condition_resumption {
public:
    condition_awaiter(condition_variable& c, mutex& m, instant until = never) noexcept
        : m_condition(c), m_mutex(m), m_limit(until) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        m_root = coroutine_locks::root_of(h);
        m_limit.limits(*this);
        return wait_for(m_condition, m_mutex, m_root);
    }
    auto await_resume() const {
        coroutine_locks::took(m_mutex, m_root);
        leave_if_taken_out();
        if constexpr (!std::is_same_v<Limit, no_limit>) {
            return m_limit.in_time() ? cv_status::no_timeout : cv_status::timeout;
        }
    }

private:
    condition_variable& m_condition;
    mutex& m_mutex;
    coroutine_root* m_root = nullptr;
    [[no_unique_address]] Limit m_limit;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
