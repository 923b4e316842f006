// Sizes of skynet: the number of leaves. The answer is the sum of 0 ... leaves - 1.
#pragma once

#include <cstdint>

#include "common/bench.hpp"

namespace bench::skynet {

inline constexpr by_size<std::uint64_t> leaves{
    .tiny = 1'000, .quick = 1'000'000, .medium = 100'000'000, .full = 100'000'000, .large = 100'000'000};

} // namespace bench::skynet
