// Checks of the checked build (-DPILFER_CHECKED=ON). In other builds they are empty.
//
// Library and program must agree on it, so the define comes with the CMake target and with pkg-config.
#pragma once

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

#if defined(PILFER_CHECKED)
inline constexpr bool checked_build = true;
#else
inline constexpr bool checked_build = false;
#endif

/// Prints what is wrong on standard error and aborts. An invariant of the library is broken: to continue
/// might lose tasks or run them twice.
[[noreturn]] PILFER_API PILFER_COLD void check_failed(const char* what) noexcept;

/// Asks `holds()` in the checked build only; `what` completes "pilfer: check failed: ". It takes a function,
/// because compilers keep an atomic load even if its result is unused.
template <class Holds>
PILFER_ALWAYS_INLINE void ensure([[maybe_unused]] Holds holds, [[maybe_unused]] const char* what) noexcept {
    if constexpr (checked_build) {
        if (!holds()) [[unlikely]] {
            detail::check_failed(what);
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
