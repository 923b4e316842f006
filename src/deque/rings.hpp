// Memory of deques.
#pragma once

#include <cstdint>

#include <pilfer/detail/deque/deque.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Makes a ring of `capacity` slots, with entries for weights if it `weighs`; null without memory.
[[nodiscard]] ring<std_atom>* make_ring(std::int64_t capacity, bool weighs) noexcept;
void free_ring(ring<std_atom>* r) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
