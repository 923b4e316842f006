// The costs of the runtime's operations, in nanoseconds.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace study {

/// Simulated time: picoseconds, so that sums are exact and the same everywhere. 2^64 of them are 213 days.
using moment = std::uint64_t;

constexpr moment never = UINT64_MAX;

[[nodiscard]] inline moment from_ns(double ns) noexcept {
    return static_cast<moment>(std::llround(ns * 1000));
}
[[nodiscard]] constexpr double to_ns(moment t) noexcept { return static_cast<double>(t) / 1000; }
/// Microseconds; `never` gives NaN.
[[nodiscard]] constexpr double us(moment t) noexcept {
    return t == never ? std::numeric_limits<double>::quiet_NaN() : to_ns(t) / 1000;
}

/// Nanoseconds each. `pilfer calibrate` measures them as study/README.md describes.
struct costs {
    double spawn = 0;          ///< A task is announced and popped by its owner; no thief asks.
    double slow_path = 0;      ///< Added to `spawn` if the pop takes the shared part or the slow path.
    double steal_hit = 0;      ///< From the look at the victim to the first line of the stolen task.
    double steal_miss = 0;     ///< One round of a search that finds nothing, with its pause.
    double steal_more = 0;     ///< Each further task of one theft.
    double wake_call = 0;      ///< The waker's share of a wake-up.
    double wake_latency = 0;   ///< From that call until the woken worker looks for work.
    double context_switch = 0; ///< A task starts to wait, or is resumed.
    double remote_line = 0;    ///< Access to a cache line that another core has written.
    double reach = 0;          ///< Added to steal_hit if a silent owner's tasks must be exposed first.
    std::string machine;       ///< The machine that was measured.
};

/// What a theft costs: its owner takes the slow path, the thief searches.
[[nodiscard]] inline std::uint64_t theft_ns(const costs& c) noexcept {
    return static_cast<std::uint64_t>(std::llround(c.slow_path + c.steal_hit));
}
/// What a resumption costs: a context is left and entered, and another core has written the count of its
/// children.
[[nodiscard]] inline std::uint64_t resume_ns(const costs& c) noexcept {
    return static_cast<std::uint64_t>(std::llround(2 * c.context_switch + c.remote_line));
}

/// Measured once, on the machine that it names.
[[nodiscard]] costs built_in_costs();
/// Everything for nothing: the laws alone.
[[nodiscard]] costs no_costs();
/// Throws std::runtime_error that names the file and the error: no such file, no JSON (with its line), or a
/// constant that is missing, unknown, negative or over a second.
[[nodiscard]] costs read_costs(const std::string& file);
/// JSON that read_costs() reads, with the units of each.
[[nodiscard]] std::string to_json(const costs& c);

} // namespace study
