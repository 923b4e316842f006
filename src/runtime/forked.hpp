// fork(): the child has the memory of all pools and none of their threads. Protocol:
// src/pool/README.md, "fork()".
#pragma once

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Called by each pool before its first thread. From now on a fork() counts in the child. Throws
/// std::bad_alloc.
void prepare_for_fork();

} // namespace detail
} // namespace v0
} // namespace pilfer
