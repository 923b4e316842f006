// The stack of a suspended context, as return addresses.
#pragma once

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Writes the return addresses of the stack that a switch saved at `sp`, innermost first, and returns their
/// number, at most `most`. No code runs on that stack, and it must not be resumed meanwhile. Returns 0 if
/// stacks are switched by ucontext. Cost: the unwinder of the C++ runtime, about a microsecond a frame.
[[nodiscard]] unsigned backtrace(void* sp, void** addresses, unsigned most) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
