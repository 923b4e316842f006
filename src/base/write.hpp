// Text for standard error, without allocating.
#pragma once

#include <cstddef>

namespace pilfer {
inline namespace v0 {
namespace os {

/// Writes to standard error without allocating.
void write_error(const char* text) noexcept;
#if defined(PILFER_TEST)
/// From now on an abort of the program writes `text` first, which may change; null: no longer. One at a time.
void write_at_abort(const char* text) noexcept;
#endif
/// Writes all of it, or as much as `file` takes.
void write_all(int file, const char* text, std::size_t bytes) noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer
