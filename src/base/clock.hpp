// The one place where time comes from, so that tests can let it jump, stand still, run backwards or wrap.
#pragma once

#include <atomic>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace os {

/// What answers instead of the kernel. A member that is null leaves that question to the kernel.
struct time_source {
    /// For now_ns().
    std::uint64_t (*now)() noexcept = nullptr;
    /// For futex_wait_for(): may return early, as the kernel may.
    void (*wait)(std::atomic<std::uint32_t>& word, std::uint32_t expected,
                 std::uint64_t ns) noexcept = nullptr;
    /// For detail::cheap_ticks(), which loops read; only in a build with PILFER_CHAOS: the others ask the
    /// processor without a detour.
    std::uint64_t (*ticks)() noexcept = nullptr;
};

/// For the whole process, at any time; null: the kernel and the processor again. `source` has to outlive its
/// use by threads that have just asked: make it static.
void set_time_source(const time_source* source) noexcept;
[[nodiscard]] const time_source* current_time_source() noexcept;

/// detail::cheap_ticks() per nanosecond, from a spin of 50 us: right to a factor of two, which is all that is
/// asked of it. 1 where the clocks make no sense: both may jump while they are compared.
[[nodiscard]] double measured_tick_rate() noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer
