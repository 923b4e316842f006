// The one source of time, so that tests can let it jump, stop, run backwards or wrap.
#pragma once

#include <atomic>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace os {

/// Functions that replace the kernel's clock. A null member leaves its question to the kernel.
struct time_source {
    /// For now_ns().
    std::uint64_t (*now)() noexcept = nullptr;
    /// For futex_wait_for(): may return early, as the kernel may.
    void (*wait)(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                 std::uint64_t ns) noexcept = nullptr;
    /// For detail::cheap_ticks(), which loops read. Used only in a build with PILFER_CHAOS or PILFER_TEST:
    /// other builds read the processor's counter directly.
    std::uint64_t (*ticks)() noexcept = nullptr;
};

/// Sets the source for the whole process, at any time; null restores the kernel and the processor. `source`
/// must outlive its use by threads that have just read it: make it static.
void set_time_source(const time_source* source) noexcept;
[[nodiscard]] const time_source* current_time_source() noexcept;

/// now_ns() without a source.
[[nodiscard]] std::uint64_t kernel_now_ns() noexcept;

/// detail::cheap_ticks() per nanosecond, from a spin of 50 us: right to a factor of two, which is enough.
/// Returns 1 if the clocks make no sense, because both may jump while they are compared.
[[nodiscard]] double measured_tick_rate() noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer
