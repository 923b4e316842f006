// Ranges that have an end.
#pragma once

#include <concepts>
#include <iterator>
#include <ranges>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The end of a range that has one: any sentinel but std::unreachable_sentinel. A serial search may do
/// without an end, because it reads nothing after its result. A parallel one does.
template <class S, class I>
concept reachable_end = std::sentinel_for<S, I> && !std::same_as<S, std::unreachable_sentinel_t>;

/// The ends of two ranges, one of which may have no end.
template <class S1, class I1, class S2, class I2>
concept reachable_ends = std::sentinel_for<S1, I1> && std::sentinel_for<S2, I2> &&
    (reachable_end<S1, I1> || reachable_end<S2, I2>);

/// A range with random access and an end.
template <class R>
concept sequence_range = std::ranges::random_access_range<R> &&
    reachable_end<std::ranges::sentinel_t<R>, std::ranges::iterator_t<R>>;

/// A range of a forward iterator and an end.
template <class R>
concept walk_range =
    std::ranges::forward_range<R> && reachable_end<std::ranges::sentinel_t<R>, std::ranges::iterator_t<R>>;

/// Two ranges, one of which may have no end.
template <class R1, class R2>
concept pair_of_ranges = reachable_ends<std::ranges::sentinel_t<R1>, std::ranges::iterator_t<R1>,
                                        std::ranges::sentinel_t<R2>, std::ranges::iterator_t<R2>>;

} // namespace detail
} // namespace v0
} // namespace pilfer
