// Counting semaphores for tasks and threads.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>

#include <pilfer/detail/sync/semaphore.hpp>
#include <pilfer/detail/worker/wait.hpp>

namespace pilfer {
inline namespace v0 {

/// As the standard's: `acquire` takes one of what `release` gives, and waits where there is none. A task that
/// waits suspends, any other thread blocks. Who waits is served in the order of coming, and nobody takes what
/// was released for those who wait. A task that is stopped (scope::cancel) while it waits leaves by `stopped`
/// and takes nothing; so the semaphore may end only when the waits of tasks below of a scope, or in a branch
/// of a join, have returned. No call throws otherwise or allocates, except the constructor for a count that
/// is negative or above max(). Cost: one short lock each. The checked build aborts with a message if more
/// than max() is released, or less than nothing.
template <std::ptrdiff_t LeastMax = std::numeric_limits<std::ptrdiff_t>::max()>
class counting_semaphore {
    static_assert(LeastMax >= 0);

public:
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept { return LeastMax; }

    constexpr explicit counting_semaphore(std::ptrdiff_t desired) : m_core(desired) {
        if (desired < 0 || desired > max()) {
            PILFER_THROW(
                std::invalid_argument("pilfer: a semaphore must begin with a count from 0 to max()"));
        }
    }

    /// Gives `update` at once; does not wait.
    void release(std::ptrdiff_t update = 1) noexcept { m_core.release(update, max()); }
    void acquire() { (void)m_core.acquire(detail::never); }
    /// Never fails where there is something to take.
    [[nodiscard]] bool try_acquire() noexcept { return m_core.acquire(0); } // no wait, so nothing is thrown
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> d) {
        return m_core.acquire(detail::after(d));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(const std::chrono::time_point<Clock, Duration>& t) {
        return m_core.acquire(detail::at(t));
    }

private:
    detail::semaphore_core m_core;
};

using binary_semaphore = counting_semaphore<1>;

} // namespace v0
} // namespace pilfer
