// The build of the program: which machine code its tasks are.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Names the file of machine code that has each address; null: the executable. The name is the build ID (the
/// linker's --build-id), or without one a checksum of what is loaded and never written. Copies of a file have
/// the same name. Empty if no file has the address.
[[nodiscard]] std::vector<std::string> builds_with(std::span<const void* const> code);

} // namespace detail
} // namespace v0
} // namespace pilfer
