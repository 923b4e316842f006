// Stacks, as far as they are a user's.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <string>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct user_frame {
    std::string function;
    std::string place; ///< "account.cpp:12"; empty: not known.
};

/// Makes user_frames() know the lines of these return addresses: see os::source_lines.
void learn_lines(const std::vector<const void*>& return_addresses);

/// The innermost functions on a stack that are neither this library's nor C++'s, at most `most`. `depth`: the
/// number of return addresses.
[[nodiscard]] std::vector<user_frame> user_frames(const void* const* return_addresses, std::size_t depth,
                                                  std::size_t most);

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
