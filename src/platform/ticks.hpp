// The clock that is cheap enough to read for every event of a trace.
#pragma once

#include <cstdint>

#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace os {

/// Ticks of the processor's counter: a few nanoseconds, no system call, no order with other instructions. On
/// processors of the last ten years the rate is steady and the same on all cores; a caller that needs
/// certainty checks. The rate is not known: compare with now_ns() at two points.
[[nodiscard]] inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    std::uint64_t t;
    asm volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    return now_ns();
#endif
}

} // namespace os
} // namespace v0
} // namespace pilfer
