// Awaiters of locks, permits and conditions. Each is in the frame of the coroutine that waits.
#pragma once

#include <coroutine>
#include <cstddef>
#include <new>

#include <pilfer/detail/coroutine/lock_resumptions.hpp>
#include <pilfer/error.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The awaiter of a mutex. `Guard` is made from the mutex and the root.
template <class Guard>
class mutex_awaiter {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    explicit mutex_awaiter(mutex& m) noexcept : m_mutex(m) {}
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
        return wait->wait_for(m_mutex);
    }
    [[nodiscard]] Guard await_resume() {
        if (m_waits) {
            m_wait.leave_if_taken_out();
        }
        coroutine_locks::took(m_mutex, m_root);
        return Guard(m_mutex, m_root);
    }

private:
    mutex& m_mutex;
    coroutine_root* m_root = nullptr;
    bool m_waits = false;
    union {
        mutex_resumption m_wait; // while m_waits
    };
};

/// The awaiter of a shared mutex.
template <class Mutex, class Guard, bool Shared>
class shared_mutex_awaiter {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    explicit shared_mutex_awaiter(Mutex& m) noexcept : m_mutex(m) {}
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
        return wait->wait_for(m_mutex, Shared);
    }
    [[nodiscard]] Guard await_resume() {
        if (m_waits) {
            m_wait.leave_if_taken_out(m_mutex);
        }
        coroutine_locks::takes(m_root);
        return Guard(m_mutex, m_root);
    }

private:
    Mutex& m_mutex;
    coroutine_root* m_root = nullptr;
    bool m_waits = false;
    union {
        shared_mutex_resumption m_wait; // while m_waits
    };
};

/// The awaiter of a permit.
class semaphore_awaiter {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    explicit semaphore_awaiter(semaphore_core& s) noexcept : m_semaphore(s) {}
    [[nodiscard]] bool await_ready() const { return m_semaphore.acquire(0); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        m_waits = true;
        auto* const wait = new (&m_wait) semaphore_resumption;
        wait->is_of(h);
        return wait->wait_for(m_semaphore);
    }
    void await_resume() const {
        if (m_waits) {
            m_wait.leave_if_taken_out();
        }
    }

private:
    semaphore_core& m_semaphore;
    bool m_waits = false;
    union {
        semaphore_resumption m_wait; // while m_waits
    };
};

/// The awaiter of a condition.
class condition_awaiter : private condition_resumption {
public:
    condition_awaiter(condition_variable& c, mutex& m) noexcept : m_condition(c), m_mutex(m) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        m_root = coroutine_locks::root_of(h);
        return wait_for(m_condition, m_mutex, m_root);
    }
    void await_resume() const {
        coroutine_locks::took(m_mutex, m_root);
        leave_if_taken_out();
    }

private:
    condition_variable& m_condition;
    mutex& m_mutex;
    coroutine_root* m_root = nullptr;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
