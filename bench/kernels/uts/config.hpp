// Trees of uts: wide and shallow ones of geometric shape. The tree carries its number of nodes.
#pragma once

#include "common/bench.hpp"
#include "common/uts.hpp"

namespace bench::uts {

inline constexpr tree wide_tiny{tree::shape::geometric, 4, 5, 0, 0, 19, 3'987};

inline constexpr by_size<tree> wide{.tiny = wide_tiny, .quick = t1, .medium = t1, .full = t1, .large = t1l};

} // namespace bench::uts
