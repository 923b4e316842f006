// Time: tasks that sleep without a thread, and functions that run later or again and again.
#pragma once

#include <chrono>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <pilfer/detail/timer/timed_task.hpp>
#include <pilfer/detail/worker/alarm.hpp>
#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// The calling task sleeps for `d`: its context suspends, and the worker does other things. Any other thread
/// blocks. Never shorter; longer while every worker is inside a function that neither ends nor waits nor
/// forks: nobody goes on with the task then. Where `d` is not above 0 a task lets others go first, as by
/// yield(). Throws stopped if the task is (scope::cancel), and nothing else. Cost: a suspension and a place
/// in a heap; no allocation.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> d) {
    detail::sleep_until(detail::after(d));
}
/// The same until `t`. A clock that is set meanwhile does not change when it ends.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
    detail::sleep_until(detail::at(t));
}

/// A handle to a function that runs later. Copies refer to the same one; it runs also if no handle is left. A
/// default-made one refers to none.
class timer {
public:
    timer() noexcept = default;
    timer(const timer& other) noexcept : m_task(other.m_task) {
        if (m_task != nullptr) {
            m_task->retain();
        }
    }
    timer(timer&& other) noexcept : m_task(std::exchange(other.m_task, nullptr)) {}
    timer& operator=(timer other) noexcept {
        std::swap(m_task, other.m_task);
        return *this;
    }
    ~timer() {
        if (m_task != nullptr) {
            m_task->release();
        }
    }

    [[nodiscard]] bool valid() const noexcept { return m_task != nullptr; }
    /// True: thanks to this call it does not begin (again); a run that has begun goes on. False: it would not
    /// have anyway, because it has begun for the last time, was cancelled before, or ended with its pool, or
    /// this handle refers to none. Any thread, its own function included. Cost: a lock.
    bool cancel() noexcept { return m_task != nullptr && m_task->cancel(); }
    /// Nothing runs any more, and nothing will.
    [[nodiscard]] bool over() const noexcept { return m_task == nullptr || m_task->is_over(); }

    /// For the library.
    explicit timer(detail::timed_task* adopted) noexcept : m_task(adopted) {}

private:
    detail::timed_task* m_task = nullptr;
};

/// Runs f() as a task of `p`, in `d` from now or later. No thread and no stack waits for that. What f throws
/// goes to options.on_error. shutdown(drain) waits until it has run, shutdown(drop) drops and counts it.
/// Throws pool_closed, std::bad_alloc. Cost: one allocation, a place in a heap, a submission.
template <class Rep, class Period, class F>
timer after(pool& p, std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_timer(p.core(), std::forward<F>(f), detail::after(d), 0);
}
/// The same in the pool of the calling worker, or in pool::common().
template <class Rep, class Period, class F>
timer after(std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_timer(detail::own_or_common(), std::forward<F>(f), detail::after(d), 0);
}

/// Runs f() as a task of `p` every `d`, for the first time in `d` from now, until it is cancelled, f returns
/// false (if it returns bool) or the pool is shut down. It never overlaps itself: the next run begins when it
/// is due and the one before has ended. Runs are due on a grid of `d` that lateness does not shift; up to 16
/// that could not begin in time are made up for, more are left out. Between two runs it has no stack. What f
/// throws goes to options.on_error, and it goes on. Throws std::invalid_argument unless `d` is at least a
/// nanosecond and at most 100 years, pool_closed, std::bad_alloc. Cost: one allocation for all runs, each a
/// submission.
template <class Rep, class Period, class F>
timer every(pool& p, std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_every(p.core(), d, std::forward<F>(f));
}
/// The same in the pool of the calling worker, or in pool::common().
template <class Rep, class Period, class F>
timer every(std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_every(detail::own_or_common(), d, std::forward<F>(f));
}

} // namespace v0
} // namespace pilfer
