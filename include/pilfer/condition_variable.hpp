// A condition variable for tasks and threads.
#pragma once

#include <chrono>
#include <utility>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
class condition_resumption;
} // namespace detail

/// The way in which a wait with a time limit has ended.
enum class cv_status {
    no_timeout, ///< by a notification
    timeout,    ///< the time was over first
};

/// std::condition_variable_any for tasks and threads: takes any lock with lock() and unlock(). Coroutines use
/// wait(), in <pilfer/co_lock.hpp>.
///
/// A task that waits suspends, any other thread blocks. There are no wake-ups without a notification or the
/// end of the time, but the condition may be false again by then: use the forms with a predicate.
/// Notifications reach waiters in the order in which they came. A task that is cancelled while it waits, and
/// holds no other lock, leaves by `stopped` with the lock locked. It must outlive waits with a time limit and
/// waits of tasks below a scope or in a branch of a join; otherwise it may be destroyed once all waiters are
/// notified. Throws what lock.unlock() and the predicate throw; locking again must not throw. Cost of a
/// notification without waiters: two atomic operations.
class PILFER_API condition_variable {
public:
    constexpr condition_variable() noexcept = default;
    condition_variable(const condition_variable&) = delete;
    condition_variable& operator=(const condition_variable&) = delete;
    /// No task or thread may wait without having been notified; the checked build aborts otherwise.
    ~condition_variable();

    /// Wakes the waiter that came first.
    void notify_one() noexcept;
    /// Wakes all waiters.
    void notify_all() noexcept;

    /// Unlocks, waits, and locks again. A notification that is made under the lock finds this waiter.
    template <class Lock>
    void wait(Lock& lock) {
        (void)wait_within(lock, detail::never);
    }
    /// Waits until `holds()` is true; it is asked under the lock.
    template <class Lock, class Predicate>
    void wait(Lock& lock, Predicate holds) {
        while (!holds()) {
            wait(lock);
        }
    }
    /// As wait(), for at most `d`.
    template <class Lock, class Rep, class Period>
    cv_status wait_for(Lock& lock, std::chrono::duration<Rep, Period> d) {
        return wait_within(lock, detail::after(d)) ? cv_status::no_timeout : cv_status::timeout;
    }
    /// As wait(), until `t`.
    template <class Lock, class Clock, class Duration>
    cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& t) {
        return wait_within(lock, detail::at(t)) ? cv_status::no_timeout : cv_status::timeout;
    }
    /// Returns the last value of the predicate.
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock& lock, std::chrono::duration<Rep, Period> d, Predicate holds) {
        return wait_while_not(lock, detail::after(d), std::move(holds));
    }
    /// As wait_for() with a predicate, until `t`. Returns its last value.
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& t, Predicate holds) {
        return wait_while_not(lock, detail::at(t), std::move(holds));
    }

private:
    friend class detail::condition_resumption;
    using entry = detail::waiters::entry;

    template <class Lock, class Predicate>
    bool wait_while_not(Lock& lock, detail::instant until, Predicate holds) {
        while (!holds()) {
            if (!wait_within(lock, until)) {
                return holds();
            }
        }
        return true;
    }
    template <class Lock>
    bool wait_within(Lock& lock, detail::instant until) {
        entry self;
        enter(self);
        PILFER_TRY { lock.unlock(); }
        PILFER_CATCH_ALL {
            if (wait_in(self, 0, detail::leaves::at_the_end)) { // it leaves at once
                notify_one();                                   // the notification was for one that waits
            }
            PILFER_RETHROW;
        }
        const bool notified = wait_in(self, until, detail::leaves::when_stopped);
        const bool leaves = !notified && detail::must_leave(); // asked here: who holds a lock need not
        relock(lock);
        if (leaves) {
            PILFER_THROW(stopped());
        }
        return notified;
    }
    template <class Lock>
    static void relock(Lock& lock) noexcept {
        lock.lock();
    }
    void enter(entry& e) noexcept;
    [[nodiscard]] bool wait_in(entry& e, detail::instant until, detail::leaves when) noexcept;

    detail::waiters m_waiting;
};

} // namespace v0
} // namespace pilfer
