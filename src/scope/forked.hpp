// In a child of fork(), called by its only thread.
#pragma once

namespace pilfer {
inline namespace v0 {
namespace detail {

/// For a calling thread outside all pools: children of its scopes that have not ended never will.
void forget_children() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
