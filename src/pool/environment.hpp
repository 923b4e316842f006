// Text of the options: values from the environment for unset options, and names.
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

/// PILFER_STACK: a number of bytes, or a number followed by K, M or G, from 16K to 1G. Null: usual_stack.
/// Throws std::invalid_argument that names the variable and the range.
[[nodiscard]] std::size_t stack_from(const char* environment);

/// PILFER_SPIN: latency, balanced or battery. Null: balanced. Throws std::invalid_argument.
[[nodiscard]] idle spin_from(const char* environment);
[[nodiscard]] std::string_view name(idle how) noexcept;

/// options.name: throws std::invalid_argument.
void check_thread_name(std::string_view name);

} // namespace detail
} // namespace v0
} // namespace pilfer
