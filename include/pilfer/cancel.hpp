// Cancellation: scope::cancel() stops every task below of a scope; what those see of it.
#pragma once

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {

/// What a stopped task leaves by: thrown by the library in spawn, fork, join, loops and waits, swallowed
/// where the task ends. Not a std::exception, so that handlers of errors let it pass. Whoever catches it
/// rethrows it soon, or the next of these calls throws it again. Never thrown while another exception is in
/// flight in the task, except by a join in a destructor whose stolen branch was stopped; a destructor that
/// waits must not be one of those that run on the ordinary way out.
///
/// Cleanup may fork: a scope that begins while its task unwinds, because it was stopped or because of any
/// other exception, is shielded. Its children run and are not stopped from further out, nor is anything below
/// of them; cancel() of that scope itself, or of one further in, stops them as ever. (Of an exception of the
/// task's own, and a cancellation that comes during its flight, this is certain from the scope's spawn() or
/// sync() on.) Code in C has no unwinding: its calls return PILFER_ECANCELED.
class PILFER_API stopped {};

/// Is the running task stopped: was a scope cancelled that it is below of, or has a function of a join thrown
/// beside which it is part of another one? Always false on threads that are no workers, and in a task that
/// holds a lock (see scope::cancel()), but for scopes that began under it. For long tasks that neither
/// announce nor wait. Cost: a call and one load of a word of the own worker while nothing in the process is
/// cancelled; otherwise a look up to the first scope that says so.
[[nodiscard]] PILFER_API bool cancelled() noexcept;

} // namespace v0
} // namespace pilfer
