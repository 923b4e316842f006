// Sizes of heat: inner rows and columns of the plate, and time steps.
#pragma once

#include <cstddef>

#include "common/bench.hpp"

namespace bench::heat {

struct setting {
    std::size_t n;
    unsigned steps;
};

inline constexpr by_size<setting> config{.tiny = {64, 10},
                                         .quick = {512, 50},
                                         .medium = {2'046, 100},
                                         .full = {2'046, 100},
                                         .large = {4'094, 100}};

/// So many rows are one task.
inline constexpr std::size_t leaf_rows = 16;

} // namespace bench::heat
