// The scope of a continuation, as the scheduler knows it: the node that is the scope's first member.
#pragma once

#include <pilfer/detail/context/scope_node.hpp>
#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The innermost scope around the task of an entry.
[[nodiscard]] inline scope_node* parent_of(task_word entry) noexcept {
    const task_word at = entry & ~kind_mask;
    return (entry & kind_mask) == kind_continuation ? reinterpret_cast<scope_node*>(at)
                                                    : reinterpret_cast<spark*>(at)->parent_to_start();
}
/// The rest of the function that has announced it in the scope of `node`.
[[nodiscard]] inline const continuation* rest_of(const scope_node& node) noexcept {
    return &node.head().rest;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
