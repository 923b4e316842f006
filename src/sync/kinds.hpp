// Descriptions of the waits of the primitives.
#pragma once

#include <pilfer/detail/task/suspension.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Adds no facts: it is unknown which task will end such a wait.
inline void nothing_known(const suspension&, wait_facts&) noexcept {}

} // namespace detail
} // namespace v0
} // namespace pilfer
