// What only the checked build asks (-DPILFER_CHECKED=ON). Elsewhere nothing of it is left.
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

/// Says on standard error what is wrong and aborts: an invariant of the library is broken, and whoever goes
/// on may lose tasks or run them twice.
[[noreturn]] PILFER_API PILFER_COLD void check_failed(const char* what) noexcept;

/// Asks `holds()` in the checked build only; `what` completes "pilfer: check failed: ". A function, because
/// compilers keep an atomic load whose result nobody uses.
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
