// Timers as the rest of the library uses them.
#pragma once

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/worker/timers.hpp>
#include <pilfer/detail/worker/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;

/// A timer and what it does.
struct alarm : timer_heap<std_atom, futex_park>::timer {
    /// Runs on the stack of a scheduler: must not wait, nor run code of the user. Says over() and then
    /// touches the alarm no more, unless it is the alarm's owner.
    void (*fire)(alarm& self) noexcept = nullptr;
    /// Null: a wait, which ends before its pool does. Otherwise a shutdown takes it out in place of the time,
    /// and calls this, under the same rules.
    void (*drop)(alarm& self) noexcept = nullptr;
    bool counts = false; ///< shutdown(drain) waits until it has fired; only shutdown(drop) drops it
};

enum class told {
    at_once, ///< the caller may run on for as long as it likes
    soon,    ///< the caller is about to return to its scheduler, which tells then
};

/// `a` is idle, and has its `fire`. On a worker of the pool.
void arm(scheduler& w, alarm& a, instant due, told when) noexcept;
/// From any other thread.
void arm(pool_core& p, alarm& a, instant due) noexcept;
/// By the owner, of an alarm that was armed. True: it has not fired and will not. False: it has, and is
/// through.
[[nodiscard]] inline bool disarm(alarm& a) noexcept { return timer_heap<std_atom, futex_park>::disarm(a); }

} // namespace detail
} // namespace v0
} // namespace pilfer
