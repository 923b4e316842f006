// Runs a mix of works until the time is over, watches its progress, and reports the result.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace tools {

struct drive {
    std::chrono::milliseconds time{10'000};
    std::uint64_t seed = 1;
    /// Most workers of a pool.
    unsigned workers = 4;
    /// Threads that make pools and give them work, each its own pools.
    unsigned lanes = 2;
    /// 0: undisturbed. See detail/base/chaos.hpp.
    unsigned chaos = 0;
    /// Counters of the pools begin near their wraps.
    bool near_wrap = true;
    /// The process ends with exit_hangs when no work ends for so long.
    std::chrono::seconds patience{10};
    /// Resident memory may grow by so many percent between the second and the last tenth; 0: growth is only
    /// printed.
    double most_drift = 0;
    /// Progress on standard error: a live line on a terminal, now and then a line elsewhere.
    bool progress = true;
};

/// Plain numbers, so that they can go through a pipe.
struct totals {
    std::uint64_t works = 0, tasks = 0, pools = 0;
    std::uint64_t steals = 0, reaches = 0, exposures = 0, suspensions = 0, sleeps = 0, wakes = 0;
    std::uint64_t submissions = 0, suppressed = 0, dropped = 0, without_stack = 0;
    std::uint64_t disturbances = 0;
    /// For ready tasks beside sleepers, and the longest time that one was there, as far as it counts:
    /// microseconds.
    std::uint64_t looks = 0, longest_hidden = 0;

    totals& operator+=(totals const& other) noexcept;
};

struct verdict {
    /// Empty: everything was right.
    std::string failure;
    totals counted;
    double seconds = 0;
    bool interrupted = false;
    /// Bytes, means over the second and the last tenth of the time.
    double resident_early = 0, resident_late = 0;

    /// In percent of the early memory.
    [[nodiscard]] double drift() const noexcept;
};

/// Until the time is over, something was wrong, or SIGINT or SIGTERM came. Returns by the watchdog's patience
/// never: then the state is printed and the process ends.
[[nodiscard]] verdict run_drive(drive const& d);

/// "1,234,567"
[[nodiscard]] std::string grouped(std::uint64_t n);

} // namespace tools
