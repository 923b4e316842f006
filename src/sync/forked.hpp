// In a child of fork(), called by its only thread.
#pragma once

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A thread that exists only in the parent may hold the lock of the mutexes' waits.
void forget_mutex_waits() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
