// What objects call that tasks and threads wait for: see src/sync/README.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/detail/worker/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

using waiters = wait_list<std_atom, futex_park>;

/// Nanoseconds of the monotonic clock at which a wait is over, whether or not anything has happened.
using instant = std::uint64_t;
inline constexpr instant never = std::numeric_limits<instant>::max();

/// In place of a frame or a thread that waits: told once, on any stack, when its entry is completed. It must
/// neither wait nor run code of the user.
struct told_waiter {
    void (*tell)(told_waiter& self) noexcept;
};
inline constexpr std::uintptr_t waiter_is_told = 1; // in entry::done, beside waiter_is_foreign

enum class awaited {
    anything, ///< perhaps what a task will do that nobody has started yet
    a_holder, ///< what somebody will do who has a stack already
    /// As anything, and the frame's scopes are marked only if it goes on on another worker (M6, src/scope).
    /// Only where the pool lets its contexts go on anywhere.
    anything_at_home,
};

enum class leaves {
    at_the_end,   ///< only others or the time end the wait
    when_stopped, ///< a cancellation of a scope that the task is below of does, too: see leave_if_stopped()
};

/// `e` is in `list`, and the lock is free. Returns when somebody has taken it out or called it, which is at
/// the latest soon behind `until`; `e.end` says why. On a worker the frame suspends and may go on on another
/// one; where no stack can be had, other tasks run on top of it (W4 in src/worker), but not where it awaits
/// `a_holder`. Any other thread blocks. `why`, which outlives the wait, and `object` are for reports. With
/// leaves::when_stopped the object may end only when such waits have returned, as for those with a time.
PILFER_API void wait_in(waiters& list, waiters::entry& e, instant until, const wait_kind& why,
                        const void* object, awaited what = awaited::anything,
                        leaves when = leaves::at_the_end) noexcept;
/// A wait whose time is over before it begins. What it is for may be ready on this very worker, where a loop
/// of such waits would keep it from running: the calling task lets others go first, as by yield(), and may
/// go on on another worker. On any other thread: nothing, the system's threads get their turn.
void give_way(awaited what = awaited::anything) noexcept;
/// `e` was taken out and the lock is free again: it goes on. Nothing of `e`, its frame or, unless the caller
/// has other rights to it, the object is touched afterwards.
PILFER_API void go_on(waiters::entry& e) noexcept;
/// The same for a chain of take_all().
PILFER_API void go_on_all(waiters::entry* chain) noexcept;

[[nodiscard]] PILFER_API instant now() noexcept;

/// Far away and negative durations included; not a number: now.
template <class Rep, class Period>
[[nodiscard]] instant after(std::chrono::duration<Rep, Period> d) noexcept {
    const instant start = now();
    using seconds = std::chrono::duration<long double>;
    const long double ns = std::chrono::duration_cast<seconds>(d).count() * 1e9L;
    if (!(ns > 0)) {
        return start;
    }
    if (ns >= static_cast<long double>(never - start)) {
        return never;
    }
    if constexpr (std::is_integral_v<Rep> && std::ratio_less_equal_v<std::nano, Period>) {
        // Exact, and in range: what lies above 2^63 was sorted out.
        if (ns < 9e18L) {
            return start +
                   static_cast<instant>(
                       std::chrono::duration_cast<std::chrono::duration<std::int64_t, std::nano>>(d).count());
        }
    }
    const auto whole = static_cast<instant>(ns);
    return start + whole + (static_cast<long double>(whole) < ns ? 1 : 0); // never too early
}
/// By what the clock says now: a clock that is set later does not change the wait.
template <class Clock, class Duration>
[[nodiscard]] instant at(const std::chrono::time_point<Clock, Duration>& t) noexcept {
    const auto from = Clock::now();
    return t <= from ? now() : after(t - from);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
