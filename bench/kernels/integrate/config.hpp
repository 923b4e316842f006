// Sizes of integrate: the integral of (x * x + 1) * x from 0 to `limit`, which is limit^4 / 4 + limit^2 / 2.
#pragma once

#include "common/bench.hpp"

namespace bench::integrate {

struct setting {
    double limit;
    double epsilon; // a piece is split until halving it changes its area by less than this
};

inline constexpr by_size<setting> config{.tiny = {10, 1e-6},
                                         .quick = {500, 1e-8},
                                         .medium = {1'000, 2e-11},
                                         .full = {1'000, 2e-11},
                                         .large = {1'000, 2e-11}};

} // namespace bench::integrate
