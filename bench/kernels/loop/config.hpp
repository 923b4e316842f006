// Sizes of loop: the number of bodies of about 1 ns each.
#pragma once

#include <cstddef>

#include "common/bench.hpp"

namespace bench::loop {

inline constexpr by_size<std::size_t> bodies{
    .tiny = 10'000, .quick = 4'000'000, .medium = 100'000'000, .full = 100'000'000, .large = 400'000'000};

} // namespace bench::loop
