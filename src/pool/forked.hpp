// fork(): the child has the memory of all pools and none of their threads. Protocol:
// src/pool/README.md, "fork()".
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

#include "worker/forks.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace forks {

/// Called by each pool before its first thread. From now on a fork() counts in the child. Throws
/// std::bad_alloc.
void prepare();
} // namespace forks

// State that each room resets in a child of fork(), called by the child's only thread. Locks are made anew,
// because a thread that exists only in the parent may hold them.
namespace registry {
void forget_all() noexcept;
}
void forget_common_pool() noexcept;
void forget_mutex_waits() noexcept;
/// For a calling thread outside all pools: children of its scopes that have not ended never will.
void forget_children() noexcept;

/// Until the calling thread ends, the library is not unloaded.
void keep_loaded() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
