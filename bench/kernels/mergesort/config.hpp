// Sizes of mergesort: random 32-bit numbers. The answer is an order-free hash of them; their order is
// checked.
#pragma once

#include <cstddef>

#include "common/bench.hpp"

namespace bench::mergesort {

inline constexpr by_size<std::size_t> numbers{
    .tiny = 20'000, .quick = 1'000'000, .medium = 10'000'000, .full = 10'000'000, .large = 50'000'000};

/// Fewer numbers than this are sorted, or merged, by the standard library.
inline constexpr std::size_t sort_leaf = 256;
inline constexpr std::size_t merge_leaf = 2'048;

} // namespace bench::mergesort
