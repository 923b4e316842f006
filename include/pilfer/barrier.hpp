// barrier: no task begins the next phase before all have arrived.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include <pilfer/detail/sync/barrier.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {

/// std::barrier for tasks and threads, with time limits. A task that waits suspends, any other thread blocks.
/// Coroutines use arrive_and_wait(), in <pilfer/co_barrier.hpp>.
///
/// The last one to arrive in a phase calls the completion, on its own task or thread; then all waiters of the
/// phase go on. The completion may wait, too. The barrier may be destroyed once all calls have returned. A
/// coroutine that is not below a scope or in a join may still be about to go on. Throws only `stopped` from
/// arrive_and_wait(), and from the constructor for a negative count; allocates nothing. Cost: one short lock
/// per call, two for the last one of a phase. The checked build aborts if more arrive in a phase than are
/// expected.
template <class Completion = detail::nothing_to_complete>
class barrier {
    static_assert(std::is_nothrow_invocable_v<Completion&>, "a barrier's completion must not throw");

public:
    /// The phase of an arrival.
    class arrival_token {
        friend barrier;
        explicit arrival_token(std::uint64_t phase) noexcept : m_phase(phase) {}
        std::uint64_t m_phase;
    };
    /// The largest number of participants.
    [[nodiscard]] static constexpr std::ptrdiff_t max() noexcept {
        return std::numeric_limits<std::ptrdiff_t>::max();
    }

    /// Makes a barrier of `expected` participants; `completion` ends each phase. Throws
    /// std::invalid_argument.
    constexpr explicit barrier(std::ptrdiff_t expected, Completion completion = Completion())
        : m_core(expected), m_completion(std::move(completion)) {
        if (expected < 0) {
            PILFER_THROW(std::invalid_argument("pilfer: a barrier cannot expect less than nothing"));
        }
    }

    /// Counts `update` arrivals in the current phase; does not wait.
    [[nodiscard]] arrival_token arrive(std::ptrdiff_t update = 1) noexcept { return arrived(update, false); }
    /// Waits until the phase of `token` has ended.
    void wait(arrival_token&& token) const noexcept { (void)m_core.wait(token.m_phase, detail::never); }
    /// Arrives and waits. A task that is cancelled before the phase has ended leaves by `stopped`: its call
    /// was an arrive_and_drop(). It may be gone before the completion runs, so what it contributes must
    /// outlive it. In destructors use wait(arrive()), which does not throw.
    void arrive_and_wait() { m_core.wait_or_drop(arrive().m_phase); }
    /// Arrives, and is not expected in later phases.
    void arrive_and_drop() noexcept { (void)arrived(1, true); }
    /// Returns false if the phase did not end in time; the token may be used again.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(const arrival_token& token, std::chrono::duration<Rep, Period> d) const {
        return m_core.wait(token.m_phase, detail::after(d));
    }
    /// As wait_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(const arrival_token& token,
                                  const std::chrono::time_point<Clock, Duration>& t) const {
        return m_core.wait(token.m_phase, detail::at(t));
    }

private:
    friend struct detail::barrier_access;
    arrival_token arrived(std::ptrdiff_t update, bool leave) noexcept {
        const auto a = m_core.arrive(update, leave);
        if (a.last) {
            end_phase();
        }
        return arrival_token(a.phase);
    }
    void end_phase() noexcept {
        m_completion();
        m_core.begin_next();
    }

    mutable detail::barrier_core m_core;
    Completion m_completion;
};

} // namespace v0
} // namespace pilfer
