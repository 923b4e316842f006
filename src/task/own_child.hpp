// A scope asks for the children that their parent runs itself, in a schedule that follows a recording.
#pragma once

#if defined(PILFER_TEST)

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Takes the newest child of `scope` that no other task runs in the recording. Null: there is none. `w`: the
/// worker of an explored pool.
[[nodiscard]] spark* take_own_child(worker* w, scope_node* scope) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
