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
/// The calling task is about to run `child` itself. If another task has forked it, a recording cannot be
/// repeated: when that was is in none.
void runs_child_itself(spark& child) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
