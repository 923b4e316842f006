// The checked build: invariants of a pool that has ended.
#pragma once

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// Called after all threads are joined: aborts if a sum is wrong or a task is left.
void check_end(pool_core& p) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
