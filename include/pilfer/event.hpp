// An event: something has happened, and stays so until it is reset.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/worker/wait.hpp>

namespace pilfer {
inline namespace v0 {
/// Manual reset: set() lets everybody go on who waits, and everybody who comes, until reset(). Whoever waited
/// when it was set goes on, even if it is reset before it runs. A task that waits suspends, any other thread
/// blocks; a coroutine can co_await it (<pilfer/task.hpp>). No call throws or allocates. Who has seen it set
/// by one of the waits (not by is_set()) may destroy it, once all waits with a time limit, and those of tasks
/// and coroutines below of a scope or in a branch of a join, have returned. Cost: one short lock each;
/// is_set() is a load.
class PILFER_API event {
public:
    constexpr explicit event(bool set = false) noexcept : m_set(set) {}
    event(const event&) = delete;
    event& operator=(const event&) = delete;
    /// The checked build aborts with a message if somebody waits.
    ~event();

    void set() noexcept;
    void reset() noexcept;
    /// What was written before set() is seen by who is told true.
    [[nodiscard]] bool is_set() const noexcept { return m_set.load(detail::acq); } // the store in set()

    /// Throws stopped, as the others do, if the waiting task is (scope::cancel).
    void wait() { (void)wait_within(detail::never); }
    /// False: it was not set in time.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> d) {
        return wait_within(detail::after(d));
    }
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
    std::uint64_t m_times = 0; // that set() was called; under the list's lock
};

} // namespace v0
} // namespace pilfer
