// The number of workers to run, computed from the time they have waited for CPUs. Pure values: no clock, no
// files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pilfer {
inline namespace v0 {
namespace governor {

/// The observations between two looks.
struct interval {
    std::uint64_t ns = 0;        ///< Its length, above 0.
    std::uint64_t calm_ns = 0;   ///< The part of it that counts as calm, if no worker waited.
    unsigned active = 1;         ///< Workers that took work.
    unsigned wanted = 1;         ///< Limit for all reasons other than this rule.
    std::uint64_t waited_ns = 0; ///< Waits of these workers for CPUs, in sum.
    std::optional<double>
        stalled; ///< Part of the time in which some thread of the machine waited; empty: unknown.
};

/// Gives way at once and comes back carefully. If the workers together wait for CPUs as long as a third of
/// one CPU, two looks take one worker away. After a calm of `patience` one more worker is tried. The patience
/// doubles each time the trial ends in waiting, and falls back once a trial has lasted. The shape is that of
/// congestion avoidance (Jacobson 1988): only a trial shows whether there is room.
class rule {
public:
    static constexpr double short_of_cpus = 0.3;   ///< CPUs.
    static constexpr double machine_is_busy = 0.2; ///< Of the time.
    static constexpr unsigned looks = 2;
    static constexpr std::uint64_t millisecond = 1'000'000;
    static constexpr std::uint64_t least_patience = 200 * millisecond;
    static constexpr std::uint64_t most_patience = 5'000 * millisecond;
    static constexpr std::uint64_t lasting = 500 * millisecond; ///< Duration after which a trial has lasted.

    /// The number of workers that should run from now on; at least 1.
    [[nodiscard]] unsigned next(const interval& i) noexcept {
        if (i.active > i.wanted) {
            return std::max(i.wanted, 1U);
        }
        const double lacks = static_cast<double>(i.waited_ns) / static_cast<double>(i.ns);
        if (lacks >= short_of_cpus) {
            m_calm = 0;
            if (++m_short < (m_trying ? 1 : looks)) {
                return i.active;
            }
            m_short = 0;
            if (m_trying) {
                m_patience = std::min(2 * m_patience, most_patience);
                m_trying = false;
            }
            const auto less =
                std::max<long>(static_cast<long>(lacks + 0.5), 1); // lround() is in a library of its own
            return less < static_cast<long>(i.active) ? i.active - static_cast<unsigned>(less) : 1;
        }
        m_short = 0;
        m_calm += i.calm_ns;
        if (m_trying && m_calm >= lasting) {
            m_trying = false;
            m_patience = least_patience;
        }
        // Other threads wait, though none of these workers does. The waiting threads are elsewhere, or took
        // what was given up. This counts only up to a limit.
        const bool busy = i.stalled.value_or(0) >= machine_is_busy;
        if (i.active >= i.wanted || m_calm < (busy ? most_patience : m_patience)) {
            return i.active;
        }
        m_calm = 0;
        m_trying = true;
        return i.active + 1;
    }

private:
    unsigned m_short = 0;     // looks in a row that were short of CPUs
    std::uint64_t m_calm = 0; // ns since the last shortage, or the last trial
    std::uint64_t m_patience = least_patience;
    bool m_trying = false;
};

} // namespace governor
} // namespace v0
} // namespace pilfer
