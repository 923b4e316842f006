// Memory that is given back to the system before its owner frees it.
#pragma once

#include <cstddef>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Gives the pages that lie within the range back to the system. Their contents are lost; the addresses stay
/// valid.
PILFER_API void discard_pages(void* at, std::size_t bytes) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
