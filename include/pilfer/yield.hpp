// yield: let others go first.
#pragma once

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// Lets one other thing run first, if anything is ready on this worker or queued in its pool: a submission,
/// else a task of this worker's, else a context that may go on. The calling task may be on another worker
/// afterwards. On any other thread: the system's yield. For loops that poll what cannot be waited for; a wait
/// of its own (a future, a mutex, an event) costs nothing while it lasts. Timed waits whose time is over
/// before they begin do the same, but with the back-end one_lock. Throws nothing. Cost: a suspension.
PILFER_API void yield() noexcept;

} // namespace v0
} // namespace pilfer
