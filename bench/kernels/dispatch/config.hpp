// Sizes of dispatch: how many empty loops are started one after another. Seconds / loops is the latency of
// one.
#pragma once

#include <cstddef>

#include "common/bench.hpp"

namespace bench::dispatch {

inline constexpr by_size<std::size_t> loops{
    .tiny = 100, .quick = 10'000, .medium = 200'000, .full = 200'000, .large = 1'000'000};

/// Bodies of one loop.
inline constexpr std::size_t bodies = 64;

} // namespace bench::dispatch
