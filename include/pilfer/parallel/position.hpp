// The ends of a loop: integers or iterators.
#pragma once

#include <concepts>
#include <iterator>

namespace pilfer {
inline namespace v0 {

/// The ends of a loop: integers of up to 64 bits, or random-access iterators. The distance is counted in 64
/// bits; that of two __int128 would be cut without a word.
template <class I>
concept loop_position = (std::integral<I> && sizeof(I) <= 8) || std::random_access_iterator<I>;

} // namespace v0
} // namespace pilfer
