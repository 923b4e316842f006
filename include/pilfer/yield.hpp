// yield: let others go first.
#pragma once

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// Lets one other thing run first, if anything is ready on this worker or queued in its pool. The order is: a
/// submission, a task of this worker, a context that can be resumed. The calling task may be on another
/// worker afterwards. On a thread that is no worker: the system's yield.
///
/// For loops that poll a condition for which there is no wait. A future, a mutex or an event costs nothing
/// while it waits. A timed wait whose time is already over also yields, except with the back-end one_lock.
/// Throws nothing. Cost: a suspension.
PILFER_API void yield() noexcept;

} // namespace v0
} // namespace pilfer
