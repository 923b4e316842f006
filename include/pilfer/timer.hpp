// Time: tasks that sleep without a thread, and functions that run later or again and again.
#pragma once

#include <chrono>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/timer/alarm.hpp>
#include <pilfer/detail/timer/timed_task.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// The calling task sleeps for `d` and its worker does other things; any other thread blocks.
/// It never wakes early. A task for which `d` is 0 or less lets others go first, as by yield(). Throws
/// `stopped` if the task is cancelled. Cost: a suspension and a place in a heap; no allocation.
template <class Rep, class Period>
void sleep_for(std::chrono::duration<Rep, Period> d) {
    detail::sleep_until(detail::after(d));
}
/// As sleep_for(), until `t`. A clock that is set meanwhile does not change the end.
template <class Clock, class Duration>
void sleep_until(const std::chrono::time_point<Clock, Duration>& t) {
    detail::sleep_until(detail::at(t));
}

/// A handle to a function that runs later. Copies refer to the same function, which also runs if no handle is
/// left. A default-made handle refers to none.
class timer {
public:
    timer() noexcept = default;
    /// Makes another handle to the same function.
    timer(const timer& other) noexcept : m_task(other.m_task) {
        if (m_task != nullptr) {
            m_task->retain();
        }
    }
    /// Takes over the handle of `other`.
    timer(timer&& other) noexcept : m_task(std::exchange(other.m_task, nullptr)) {}
    /// Replaces the handle.
    timer& operator=(timer other) noexcept {
        std::swap(m_task, other.m_task);
        return *this;
    }
    ~timer() {
        if (m_task != nullptr) {
            m_task->release();
        }
    }

    /// False if it refers to no function.
    [[nodiscard]] bool valid() const noexcept { return m_task != nullptr; }
    /// Cancels it. Returns true if it does not begin again because of this call; a run that has begun goes
    /// on. Returns false if it would not have begun anyway, or if this handle refers to none. From any
    /// thread, also from the function itself. Cost: a lock.
    bool cancel() noexcept { return m_task != nullptr && m_task->cancel(); }
    /// True if the function neither runs nor will run again.
    [[nodiscard]] bool over() const noexcept {
        PILFER_TEST_CANNOT_REPEAT("timer::over");
        return m_task == nullptr || m_task->is_over();
    }

    /// For the library.
    explicit timer(detail::timed_task* adopted) noexcept : m_task(adopted) {}

private:
    detail::timed_task* m_task = nullptr;
};

/// Runs f() as a task of `p` after `d`. No thread and no stack waits meanwhile.
/// An exception of f goes to options.on_error. shutdown(drain) waits until it has run, shutdown(drop) drops
/// it. Throws pool_closed, std::bad_alloc. Cost: one allocation, a place in a heap, a submission.
template <class Rep, class Period, class F>
timer after(pool& p, std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_timer(p.core(), std::forward<F>(f), detail::after(d), 0);
}
/// As above, in the pool of the calling worker, or in pool::common().
template <class Rep, class Period, class F>
timer after(std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_timer(detail::own_or_common(), std::forward<F>(f), detail::after(d), 0);
}

/// Runs f() as a task of `p` every `d`, first after `d`, until it is cancelled, f returns false (if it
/// returns bool) or the pool is shut down. It never overlaps itself, and has no stack between two runs. Runs
/// are due on a grid of `d` that lateness does not shift; up to 16 late runs are made up for. An exception of
/// f goes to options.on_error, and the timer goes on. Throws std::invalid_argument unless `d` is from 1 ns to
/// 100 years, pool_closed, std::bad_alloc. Cost: one allocation for all runs, and a submission each.
template <class Rep, class Period, class F>
timer every(pool& p, std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_every(p.core(), d, std::forward<F>(f));
}
/// As above, in the pool of the calling worker, or in pool::common().
template <class Rep, class Period, class F>
timer every(std::chrono::duration<Rep, Period> d, F&& f) {
    return detail::start_every(detail::own_or_common(), d, std::forward<F>(f));
}

} // namespace v0
} // namespace pilfer
