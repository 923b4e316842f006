// Text of the options: what the environment says where they do not, and names.
#pragma once

#include <cstddef>
#include <string_view>

#include <pilfer/options.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

inline constexpr std::size_t least_stack = std::size_t{16} * 1024;
inline constexpr std::size_t most_stack = std::size_t{1} << 30;
inline constexpr std::size_t usual_stack = std::size_t{256} * 1024;

/// PILFER_STACK: bytes, or a number with K, M or G behind it, from 16K to 1G; null: the usual. Throws
/// std::invalid_argument that names the variable and the range.
[[nodiscard]] std::size_t stack_from(const char* environment);

/// PILFER_SPIN: latency, balanced or battery; null: balanced. Throws as above.
[[nodiscard]] idle spin_from(const char* environment);
[[nodiscard]] std::string_view name(idle how) noexcept;

/// options.name: throws std::invalid_argument.
void check_thread_name(std::string_view name);

} // namespace detail
} // namespace v0
} // namespace pilfer
