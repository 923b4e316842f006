// The questions of tasks about cancellation: at spawns and waits.
#pragma once

#include <cstdint>
#include <exception>

#include <pilfer/detail/context/scope_node.hpp>
#include <pilfer/detail/task/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// True if the running task has been cancelled. One load of a word of the worker while nothing is cancelled.
[[nodiscard]] PILFER_API bool stopped_cold(worker* w) noexcept;
[[nodiscard]] PILFER_ALWAYS_INLINE bool stopped_here(worker* w) noexcept {
    return w->deque.signal().has(signal_word<std_atom>::stop) && detail::stopped_cold(w);
}
/// True if the running task must leave now. False while an exception of its own is in flight: it unwinds
/// already, and a destructor must not throw a second one.
[[nodiscard]] PILFER_API bool must_leave() noexcept;
/// Throws stopped if the running task must leave. On any thread.
PILFER_API void leave_if_stopped();
/// Counts `tasks` tasks that do not start, and throws stopped in the task that would have started them.
[[noreturn]] PILFER_API PILFER_COLD void drop_and_leave(std::uint64_t tasks);

/// The innermost node whose cancellation can stop a task at `node`. Skips the task's own scopes: they never
/// stop it, and may end in any order while it runs. Ends at a shield of the task. Has the mark of a holder
/// if a lock is on the way.
[[nodiscard]] PILFER_API scope_node* place_below(scope_node* node) noexcept;
/// True if a cancellation can stop a task at `node`, as long as the task enters and leaves no scope.
[[nodiscard]] inline bool can_be_stopped_at(scope_node* node) noexcept {
    scope_node* const below = detail::place_below(node);
    return scope_node::strip(below) != nullptr && !scope_node::holds(below);
}
/// True if a cancellation can stop the running task, as long as the task enters and leaves no scope.
[[nodiscard]] inline bool can_be_stopped(worker* w) noexcept {
    return can_be_stopped_at(w->current.load(rlx)->node.load(rlx));
}

/// True if `error` is a `stopped`, which is no error.
[[nodiscard]] PILFER_API bool says_stopped(const std::exception_ptr& error) noexcept;
/// True if the exception that is handled here is a `stopped`.
[[nodiscard]] PILFER_API bool leaves_by_stopped() noexcept;
/// The exception of a task that was cancelled before it began.
[[nodiscard]] PILFER_API std::exception_ptr stopped_error() noexcept;

/// The slow path of announce_rest().
[[nodiscard]] PILFER_API bool rest_signalled(worker* w, task_word rest) noexcept;
/// A child of spawn, on its own stack, after the announcement. False if it is cancelled; then
/// is_left_out() is true of its context.
[[nodiscard]] PILFER_API bool child_begins(worker* w) noexcept;
[[nodiscard]] inline bool is_left_out(const context* c) noexcept { return c->job == &c->next; }

} // namespace detail
} // namespace v0
} // namespace pilfer
