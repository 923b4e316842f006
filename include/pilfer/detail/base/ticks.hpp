// Clocks that cost little: for decisions that are made often.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A clock for measuring pieces of work: cheap, unordered, only differences of one thread count.
[[nodiscard]] PILFER_API std::uint64_t cheap_ticks() noexcept;
/// About 4 us in cheap_ticks(): long against the look at the signal word and the clock (about 30 ns), short
/// against a wake-up (5 us and more).
[[nodiscard]] PILFER_API std::uint64_t piece_ticks() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
