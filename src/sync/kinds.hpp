// What the primitives say about their waits.
#pragma once

#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Nobody knows who will end such a wait.
inline void nothing_known(const suspension&, wait_facts&) noexcept {}

} // namespace detail
} // namespace v0
} // namespace pilfer
