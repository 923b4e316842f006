// The children that the owner of a scope runs itself, in a recording and in a schedule that follows one.
#pragma once

#if defined(PILFER_TEST)

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Takes the newest child of `scope` that the calling task has forked, and that no other task runs in the
/// recording. Null: there is none. `w`: the worker of an explored pool.
[[nodiscard]] spark* take_own_child(worker* w, scope_node* scope) noexcept;
/// False: the calling task is recorded, and another task has to run `child` of its scope. A recording says
/// neither when another task has forked a child, nor where the caller has gone on after a wait. So an owner
/// runs a child itself only if it has forked it since its last wait: then it takes the newest one, as the
/// repetition does.
[[nodiscard]] bool may_run_child_itself(spark& child) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
