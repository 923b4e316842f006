// Latches and barriers for coroutines: included by <pilfer/co_await.hpp>.
#pragma once

#include <chrono>
#include <cstddef>

#include <pilfer/barrier.hpp>
#include <pilfer/detail/coroutine/arrivals.hpp>
#include <pilfer/latch.hpp>

namespace pilfer {
inline namespace v0 {

/// The awaitable of wait() for a latch; may be awaited again.
class [[nodiscard]] latch_wait {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// For the library.
    explicit latch_wait(const latch& l) noexcept : m_latch(l) {}
    /// The awaiter of a coroutine.
    [[nodiscard]] detail::latch_awaiter<detail::no_limit> operator co_await() const noexcept {
        return detail::latch_awaiter<detail::no_limit>(m_latch);
    }

private:
    const latch& m_latch;
};
/// co_await wait(l): as l.wait(), but waits without a stack, beside tasks and threads. l.count_down() is an
/// ordinary call, for coroutines too.
///
/// Throws stopped if the task is cancelled, and usage_error if it has to wait and may not; outside of all
/// pools also what pool::common() throws. Cost: one short lock, two if it waits.
[[nodiscard]] inline latch_wait wait(const latch& l) noexcept { return latch_wait(l); }
/// bool open = co_await wait_for(l, d): as wait(), but for at most `d`, counted from the call. Gives false if
/// the latch did not open in time.
template <class Rep, class Period>
[[nodiscard]] detail::limited_latch_wait wait_for(const latch& l,
                                                  std::chrono::duration<Rep, Period> d) noexcept {
    return {l, detail::after(d)};
}
/// As wait_for(), until `t` by the present reading of its clock.
template <class Clock, class Duration>
[[nodiscard]] detail::limited_latch_wait
wait_until(const latch& l, const std::chrono::time_point<Clock, Duration>& t) noexcept {
    return {l, detail::at(t)};
}

/// The awaitable of arrive_and_wait() for a latch. Each co_await of it arrives.
class [[nodiscard]] latch_arrival {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// For the library.
    latch_arrival(latch& l, std::ptrdiff_t update) noexcept : m_latch(l), m_update(update) {}
    /// The awaiter of a coroutine.
    [[nodiscard]] detail::latch_arrival_awaiter operator co_await() const noexcept {
        return detail::latch_arrival_awaiter(m_latch, m_update);
    }

private:
    latch& m_latch;
    std::ptrdiff_t m_update;
};
/// co_await arrive_and_wait(l): as l.arrive_and_wait(update), but waits without a stack. A cancelled
/// coroutine has arrived before it leaves; what else is thrown is thrown before it arrives. Otherwise as
/// wait().
[[nodiscard]] inline latch_arrival arrive_and_wait(latch& l, std::ptrdiff_t update = 1) noexcept {
    return latch_arrival(l, update);
}

/// The awaitable of arrive_and_wait() for a barrier. Each co_await of it arrives.
template <class Completion>
class [[nodiscard]] barrier_arrival {
public:
    /// Marks awaitables of this library.
    using pilfer_awaitable = void;
    /// For the library.
    explicit barrier_arrival(barrier<Completion>& b) noexcept : m_barrier(b) {}
    /// The awaiter of a coroutine.
    [[nodiscard]] detail::barrier_awaiter<Completion> operator co_await() const noexcept {
        return detail::barrier_awaiter<Completion>(m_barrier);
    }

private:
    barrier<Completion>& m_barrier;
};
/// co_await arrive_and_wait(b): as b.arrive_and_wait(), but waits without a stack, beside tasks and threads.
/// The last one of a phase calls the completion, in its own task.
///
/// A coroutine that is cancelled before the phase has ended leaves by `stopped`: its call was an
/// arrive_and_drop(). Throws usage_error before it arrives, if it has to wait and may not; outside of all
/// pools also what pool::common() throws. Cost: two short locks; three if the other missing
/// ones arrive during the call.
template <class Completion>
[[nodiscard]] barrier_arrival<Completion> arrive_and_wait(barrier<Completion>& b) noexcept {
    return barrier_arrival<Completion>(b);
}

} // namespace v0
} // namespace pilfer
