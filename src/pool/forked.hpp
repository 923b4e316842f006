// fork(): the child has the memory of all pools and none of their threads. Protocol: README.md, "fork()".
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace forks {

/// Which process this is: one more in each child. A pool that remembers another number was left behind.
[[nodiscard]] std::uint64_t this_process() noexcept;
/// By each pool, before its first thread: from now on children know that they are. Throws std::bad_alloc.
void prepare();
/// A task of a pool that was left behind ends, or waits: there is no scheduler that could go on.
[[noreturn]] void no_way_back() noexcept;

} // namespace forks

// What stays in a child of fork() where it is, and who makes it forget: by the only thread that there is.
// Locks are made anew, for who holds them may be a thread that the child does not have.
namespace registry {
void forget_all() noexcept;
}
namespace cancellation {
void forget_all() noexcept;
}
void forget_common_pool() noexcept;
void forget_mutex_waits() noexcept;
void forget_blocks_outside() noexcept;
/// Of the calling thread, which is outside all pools: children of its scopes that have not ended never will.
void forget_children() noexcept;

/// Until the calling thread ends, the library is not unloaded.
void keep_loaded() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
