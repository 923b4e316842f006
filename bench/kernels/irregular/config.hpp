// Sizes of irregular: the number of nodes, and the sum of their values as the serial program computes it.
#pragma once

#include <cstdint>

#include "common/bench.hpp"

namespace bench::irregular {

struct setting {
    std::uint64_t nodes;
    std::uint64_t answer;
};

inline constexpr by_size<setting> config{.tiny = {1'000, 1'041'811'283'290},
                                         .quick = {100'000, 107'206'401'303'915},
                                         .medium = {3'000'000, 3'220'894'613'426'792},
                                         .full = {3'000'000, 3'220'894'613'426'792},
                                         .large = {20'000'000, 21'470'775'714'580'306}};

/// A node works for 1 to this many rounds of about 1 ns; the shortest are far more frequent.
inline constexpr std::uint64_t most_rounds = 1'024;

} // namespace bench::irregular
