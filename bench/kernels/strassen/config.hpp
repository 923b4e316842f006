// Sizes of strassen: rows of the square matrices, powers of two. The answer is computed by Freivalds' check.
#pragma once

#include <cstddef>

#include "common/bench.hpp"

namespace bench::strassen {

inline constexpr by_size<std::size_t> rows{
    .tiny = 128, .quick = 512, .medium = 1'024, .full = 1'024, .large = 2'048};

/// Blocks of this many rows are multiplied by plain loops.
inline constexpr std::size_t leaf = 64;

} // namespace bench::strassen
