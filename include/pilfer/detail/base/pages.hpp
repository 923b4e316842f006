// Pages of memory that the caller owns: taken from the system and given back in parts, which several workers
// can do.
#pragma once

#include <cstddef>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Gives the pages that lie within the range back to the system. Their contents are lost; the addresses stay
/// valid.
PILFER_API void discard_pages(void* at, std::size_t bytes) noexcept;
/// Takes the pages that lie within the range from the system (Linux 5.14), before their first use would.
/// Their contents stay. Does nothing if it cannot.
PILFER_API void populate_pages(void* at, std::size_t bytes) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
