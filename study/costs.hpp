// What the operations of the runtime cost, in nanoseconds.
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
/// Microseconds; of what never came, not a number.
[[nodiscard]] constexpr double us(moment t) noexcept {
    return t == never ? std::numeric_limits<double>::quiet_NaN() : to_ns(t) / 1000;
}

/// Nanoseconds each. `pilfer calibrate` measures them, study/README.md says how.
struct costs {
    double spawn = 0;          ///< a task is announced and taken back by its owner, nobody asking
    double slow_path = 0;      ///< in addition, where it goes through the shared part or the slow path
    double steal_hit = 0;      ///< from the look at the victim to the first line of the stolen task
    double steal_miss = 0;     ///< one round of a search that finds nothing, its pause included
    double steal_more = 0;     ///< each further task of the same theft
    double wake_call = 0;      ///< who wakes spends this
    double wake_latency = 0;   ///< from the call until the woken worker looks for work
    double context_switch = 0; ///< a task waits, or one that waited goes on
    double remote_line = 0;    ///< a cache line that another core has written
    double reach = 0;          ///< private tasks of a silent owner are made stealable, in addition to the hit
    std::string machine;       ///< where they were measured
};

/// Measured once, on the machine that it names.
[[nodiscard]] costs built_in_costs();
/// Everything for nothing: the laws alone.
[[nodiscard]] costs no_costs();
/// Throws std::runtime_error that names the file and what is wrong: not there, no JSON (with its line), a
/// constant that is missing, unknown, negative or over a second.
[[nodiscard]] costs read_costs(const std::string& file);
/// JSON that read_costs() reads, with the units of each.
[[nodiscard]] std::string to_json(const costs& c);

} // namespace study
