// A latch: opens once, after a number of arrivals.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>
#include <stdexcept>

#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
class latch_resumption;
} // namespace detail

/// std::latch for tasks and threads, with time limits. A task that waits suspends, any other thread blocks.
/// Coroutines use wait() and arrive_and_wait(), in <pilfer/co_barrier.hpp>.
///
/// The latch may be destroyed after a wait has returned. Before that, all waits with a time limit, and all
/// waits of tasks below a scope or in a branch of a join, must have returned.
///
/// A task that is cancelled while it waits leaves by `stopped`. Nothing else is thrown, except by the
/// constructor for a negative count; nothing is allocated. Cost: one short lock each. The checked build
/// aborts if more arrive than were expected.
class PILFER_API latch {
public:
    /// The largest number of arrivals.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::ptrdiff_t>::max();
    }

    /// Makes a latch that opens after `expected` arrivals. Throws std::invalid_argument.
    constexpr explicit latch(std::ptrdiff_t expected) : m_left(expected) {
        if (expected < 0) {
            PILFER_THROW(std::invalid_argument("pilfer: a latch cannot expect less than nothing"));
        }
    }
    latch(const latch&) = delete;
    latch& operator=(const latch&) = delete;
    ~latch();

    /// Counts `update` arrivals; does not wait.
    void count_down(std::ptrdiff_t update = 1) noexcept;
    /// True if the latch is open. Unlike std::latch::try_wait() it never fails spuriously.
    [[nodiscard]] bool try_wait() const noexcept;
    /// Waits until it is open.
    void wait() const { (void)wait_within(detail::never); }
    /// Counts `update` arrivals and waits.
    void arrive_and_wait(std::ptrdiff_t update = 1) {
        count_down(update);
        wait();
    }
    /// Returns false if it did not open in time.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> d) const {
        return wait_within(detail::after(d));
    }
    /// As wait_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& t) const {
        return wait_within(detail::at(t));
    }

private:
    friend class detail::latch_resumption;
    [[nodiscard]] bool wait_within(detail::instant until) const;
    [[nodiscard]] detail::waiters::entry* counted(std::ptrdiff_t update) noexcept;

    mutable detail::waiters m_waiting;
    std::ptrdiff_t m_left; // under the list's lock
};

} // namespace v0
} // namespace pilfer
