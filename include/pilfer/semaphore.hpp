// Counting semaphores for tasks and threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>

#include <pilfer/detail/sync/semaphore.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {

/// std::counting_semaphore for tasks and threads. A task that waits suspends, any other thread blocks.
/// Coroutines use acquire(), in <pilfer/co_lock.hpp>.
///
/// Waiters are served in the order in which they came, and no newcomer takes what was released for them. A
/// task that is cancelled while it waits leaves by `stopped` and takes nothing. The semaphore must outlive
/// the waits of tasks below a scope or in a branch of a join. Throws nothing else, but the constructor for a
/// count below 0 or above max(); allocates nothing. Cost: one short lock each. The checked build aborts if
/// more than max() is released, or less than 0.
template <std::ptrdiff_t LeastMax = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
    static_assert(LeastMax >= 0);

public:
    /// The largest number of permits.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return LeastMax; }

    /// Begins with `desired` permits. Throws std::invalid_argument.
    constexpr explicit counting_semaphore(std::ptrdiff_t desired) : m_core(desired) {
        if (desired < 0 || desired > max()) {
            PILFER_THROW(
                std::invalid_argument("pilfer: a semaphore must begin with a count from 0 to max()"));
        }
    }

    /// Gives `update` permits at once; does not wait.
    void release(std::ptrdiff_t update = 1) noexcept { m_core.release(update, max()); }
    /// Takes one permit; waits while there is none.
    void acquire() { (void)m_core.acquire(detail::never); }
    /// True if there was a permit; unlike that of the standard it never fails without a reason.
    [[nodiscard]] bool try_acquire() noexcept { return m_core.acquire(0); } // no wait, so nothing is thrown
    /// Takes one permit within `d`, or returns false.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> d) {
        return m_core.acquire(detail::after(d));
    }
    /// As try_acquire_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& t) {
        return m_core.acquire(detail::at(t));
    }

private:
    friend struct detail::semaphore_access;
    detail::semaphore_core m_core;
};

/// A semaphore of one permit.
using binary_semaphore = counting_semaphore<1>;

} // namespace v0
} // namespace pilfer
