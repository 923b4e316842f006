// Memory of deques.
#pragma once

#include <cstdint>

#include <pilfer/detail/deque/deque.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Makes a ring of `capacity` slots, with entries for weights if it `weighs`; null without memory.
[[nodiscard]] ring<std_atom>* make_ring(std::int64_t capacity, bool weighs) noexcept;
/// Throws std::bad_alloc: a deque reads its first ring at once, and only a larger one may be missing.
[[nodiscard]] ring<std_atom>* make_first_ring(std::int64_t capacity);
void free_rings(split_deque<std_atom>& d) noexcept;

/// Replaces the ring by one of twice its size. False: there is no memory.
[[nodiscard]] bool grow_ring(split_deque<std_atom>::owner_end& own) noexcept;
/// Before the first task with a weight: replaces the ring by one of equal size that has entries for weights.
[[nodiscard]] bool make_scales(split_deque<std_atom>::owner_end& own) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
