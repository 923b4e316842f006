// An event: something has happened, and stays so until it is reset.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
/// A flag that tasks and threads wait for, with manual reset.
///
/// set() lets all waiters go on, and all later ones, until reset(). A task that waits suspends, any other
/// thread blocks, and a coroutine can co_await the event. A waiter at the moment of set() goes on even if
/// reset() follows at once.
///
/// The event may be destroyed after a wait has returned. Before that, all waits with a time limit, and all
/// waits of tasks below a scope or in a branch of a join, must have returned. Throws nothing but `stopped`,
/// allocates nothing. Cost: one short lock each; is_set() is a load.
class PILFER_API event {
public:
    /// Makes an event that is set or not.
    constexpr explicit event(bool set = false) noexcept : m_set(set) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    /// No task or thread may wait; the checked build aborts otherwise.
    ~event();

    /// Sets the flag and lets all waiters go on.
    void set() noexcept;
    /// Clears the flag: later waits wait.
    void reset() noexcept;
    /// True if the event is set. Writes before set() are visible to a caller that gets true.
    [[nodiscard]] bool is_set() const noexcept {
        PILFER_TEST_POINT("looks at an event", this);
        const bool set = m_set.load(detail::acq); // the store in set()
#if defined(PILFER_RACE)
        if (set) {
            detail::race::acquire(this);
        }
#endif
        return set;
    }

    /// Waits until the event is set. Throws stopped if the task is cancelled.
    void wait() { (void)wait_within(detail::never); }
    /// Waits at most `d`. Returns false if the event was not set in time.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> d) {
        return wait_within(detail::after(d));
    }
    /// As wait_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const std::chrono::time_point<Clock, Duration>& t) {
        return wait_within(detail::at(t));
    }

private:
    friend class detail::event_reaction;
    friend class detail::event_resumption;
    [[nodiscard]] bool wait_within(detail::instant until);

    detail::waiters m_waiting;
    std::atomic<bool> m_set;   // written under the list's lock
    std::uint64_t m_times = 0; // calls of set(); under the list's lock
};

} // namespace v0
} // namespace pilfer
