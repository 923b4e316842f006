// Trees of uts_deep: binomial ones, 1,572 (T3) and 17,844 (T3L) levels deep.
#pragma once

#include <cstddef>

#include "common/bench.hpp"
#include "common/uts.hpp"

namespace bench::uts {

inline constexpr tree deep_tiny{tree::shape::binomial, 100, 0, 0.12, 8, 42, 981};

inline constexpr by_size<tree> deep{.tiny = deep_tiny, .quick = t3, .medium = t3, .full = t3, .large = t3l};

inline constexpr std::size_t mib = 1024 * 1024;

// Rivals run unrelated tasks on top of a waiting one, so that their stacks grow beyond the tree's depth.
inline constexpr by_size<std::size_t> deep_stack{
    .tiny = 8 * mib, .quick = 64 * mib, .medium = 64 * mib, .full = 64 * mib, .large = 512 * mib};

} // namespace bench::uts
