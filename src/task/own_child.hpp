// The children that the owner of a scope runs itself, in a recording and in a schedule that follows one.
#pragma once

#if defined(PILFER_TEST)

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Takes the newest child of `scope` that no other task runs in the recording. Null: there is none. `w`: the
/// worker of an explored pool.
[[nodiscard]] spark* take_own_child(worker* w, scope_node* scope) noexcept;
/// The calling task is about to run `child` of `scope` itself. A recording cannot be repeated if another task
/// has forked it, because when that was is in none, or if the task has run an older child before: the
/// repetition runs the newest first. Another order comes about if a task waits inside a child, and goes on on
/// a worker whose deque has some of the others.
[[nodiscard]] test_identity::own_child runs_child_itself(spark& child, const scope_node* scope) noexcept;
/// It has ended. `child`: the result of runs_child_itself().
void has_run_child_itself(const test_identity::own_child& child) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
