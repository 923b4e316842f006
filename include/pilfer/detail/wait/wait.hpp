// Waits of tasks and threads, for the objects that they wait for: see src/sync/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/time.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

using waiters = wait_list<std_atom, futex_park>;

/// A waiter that is neither a frame nor a thread: it is called once, on any stack, when its entry is
/// completed. It must neither wait nor run code of the user.
struct callback_waiter {
    void (*tell)(callback_waiter& self) noexcept;
};
inline constexpr std::uintptr_t waiter_is_callback = 1; // in entry::done, beside waiter_is_foreign

enum class awaited {
    anything, ///< Perhaps the work of a task that has not started yet.
    a_holder, ///< The work of a task or thread that already has a stack.
    /// As anything, but the frame's scopes are marked only if it is resumed on another worker (scope.M6,
    /// src/scope). Only if the pool lets its contexts be resumed on any worker.
    anything_at_home,
    /// As a_holder, and the worker begins nothing beside the wait: it sleeps until a frame has to resume on
    /// it. Only with resume::own_thread, and not on a guest; elsewhere as a_holder.
    beside_nothing,
};

enum class leaves {
    at_the_end,   ///< Only a notification or the time ends the wait.
    when_stopped, ///< A cancellation of the task ends it, too: see leave_if_stopped().
};

/// Waits. `e` is in `list`, and the list's lock is free. Returns when another thread has taken `e` out or
/// called it, soon after `until` at the latest; `e.end` is the reason.
///
/// On a worker the frame suspends, and may be resumed on another worker. If there is no stack, other tasks
/// run on top of the frame (worker.W4 in src/worker), unless it awaits `a_holder`. Any other thread blocks.
/// `why`, which outlives the wait, and `object` are for reports. With leaves::when_stopped the object may end
/// only after such waits have returned, as with waits that have a time limit.
PILFER_API void wait_in(waiters& list, waiters::entry& e, instant until, const wait_kind& why,
                        const void* object, awaited what = awaited::anything,
                        leaves when = leaves::at_the_end) noexcept;
/// A wait whose time is over before it begins. The awaited task may be ready on this very worker, and a loop
/// of such waits would keep it from running. So the calling task lets others go first, as by yield(), and may
/// be resumed on another worker. On any other thread it does nothing, because the system gives other threads
/// their turn.
PILFER_API void give_way(awaited what = awaited::anything) noexcept;
/// Resumes the waiter of `e`, which was taken out; the list's lock is free again. Nothing of `e` or its frame
/// is touched afterwards. Nor is the object, unless the caller has other rights to it.
PILFER_API void go_on(waiters::entry& e) noexcept;
/// go_on() for all entries of a chain of take_all().
PILFER_API void go_on_all(waiters::entry* chain) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
