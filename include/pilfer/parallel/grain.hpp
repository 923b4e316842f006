// grain: how many elements of a loop stay together.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {

/// The number of consecutive elements that an algorithm never divides between two workers. Zero counts as
/// one.
///
/// No algorithm needs it: pieces are measured in time. A grain helps if neighbouring elements share a cache
/// line that is written, or if a call for a whole block is cheaper than the calls for its elements.
struct grain {
    std::uint64_t size = 1; ///< In elements, or in iterations.
};

} // namespace v0
} // namespace pilfer
