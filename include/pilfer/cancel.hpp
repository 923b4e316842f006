// Cancellation: what a task sees after scope::cancel() of an enclosing scope.
#pragma once

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// The exception by which a cancelled task leaves. Spawn, fork, join, loops and waits throw it, and the end
/// of the task swallows it. It is not a std::exception, so handlers of errors let it pass.
///
/// A handler that catches it rethrows it soon; otherwise the next of these calls throws it again. It is not
/// thrown while another exception is in flight in the task, except by a join in a destructor whose stolen
/// branch was cancelled. Functions in C return PILFER_ECANCELED instead.
///
/// Cleanup may fork: a scope that begins while its task unwinds is shielded from cancellations further out.
/// If the cancellation comes after the exception, the shield begins with the first `spawn`, `fork` with
/// options or `sync` there. Children of a plain `fork` that have begun before that are stopped. The
/// scope then counts as cancelled: what has not begun, and what is forked later, is dropped. `sync` returns
/// all the same.
class PILFER_API stopped {};

/// True if the current task has been cancelled: an enclosing scope was cancelled, or the task is in a stolen
/// branch of a join of which another function threw. Always false on a thread that is no worker. False in a
/// task that holds a lock, except for scopes that began under the lock. For long computations that neither
/// fork nor wait. Cost: a call and one load while nothing in the process is cancelled.
[[nodiscard]] PILFER_API bool cancelled() noexcept;

} // namespace v0
} // namespace pilfer
