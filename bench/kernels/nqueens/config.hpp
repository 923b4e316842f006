// Sizes of nqueens: the number of ways to put n queens on an n by n board (OEIS A000170).
#pragma once

#include <cstdint>

#include "common/bench.hpp"

namespace bench::nqueens {

struct setting {
    int n;
    std::uint64_t answer;
};

inline constexpr by_size<setting> config{.tiny = {7, 40},
                                         .quick = {13, 73'712},
                                         .medium = {13, 73'712},
                                         .full = {14, 365'596},
                                         .large = {15, 2'279'184}};

} // namespace bench::nqueens
