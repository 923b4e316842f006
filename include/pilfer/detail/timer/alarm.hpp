// Alarms: timers for the rest of the library.
#pragma once

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/timer/timers.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;

/// A timer and the function that it calls.
struct alarm : timer_heap<std_atom, futex_park>::timer {
    /// Called on the stack of a scheduler or by the timekeeper: must not wait, nor run code of the user. It
    /// calls over() and then touches the alarm no more, unless it owns the alarm.
    void (*fire)(alarm& self) noexcept = nullptr;
    /// Null: the alarm of a wait, which ends before its pool does. Otherwise a shutdown takes the alarm out
    /// before its time, and calls this function, under the rules of `fire`.
    void (*drop)(alarm& self) noexcept = nullptr;
    bool counts = false; ///< shutdown(drain) waits until it has fired; only shutdown(drop) drops it
};

enum class told {
    at_once, ///< the caller may run on for any time
    soon,    ///< the caller is about to return to its scheduler, which then notifies the watching worker
};

/// Arms `a`, which is idle and has its `fire`. On a worker of the pool.
void arm(scheduler& w, alarm& a, instant due, told when) noexcept;
/// Arms `a` from a thread that is no worker of the pool.
void arm(pool_core& p, alarm& a, instant due) noexcept;
/// Disarms an alarm that was armed; called by its owner. True: it has not fired and will not. False: it has
/// fired, and its function is done with it.
[[nodiscard]] inline bool disarm(alarm& a) noexcept { return timer_heap<std_atom, futex_park>::disarm(a); }

} // namespace detail
} // namespace v0
} // namespace pilfer
