// fork(): the child has the memory of all pools and none of their threads. Protocol:
// src/pool/README.md, "fork()".
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace forks {

/// The number of this process; each child's number is one higher. A pool with another number is a parent's.
[[nodiscard]] std::uint64_t this_process() noexcept;
/// Called in the child, before fork() returns.
void count() noexcept;
/// Aborts: in a child of fork() a task of a parent's pool ends or has to wait, and has no scheduler.
[[noreturn]] void no_way_back() noexcept;

} // namespace forks
} // namespace detail
} // namespace v0
} // namespace pilfer
