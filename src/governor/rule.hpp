// How many workers to run, from what they have waited for CPUs. Pure values: no clock, no files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace pilfer {
inline namespace v0 {
namespace governor {

/// What was seen between two looks.
struct interval {
    std::uint64_t ns = 0;        ///< its length, above 0
    std::uint64_t calm_ns = 0;   ///< so much of it counts where nobody waited
    unsigned active = 1;         ///< workers that took work
    unsigned wanted = 1;         ///< at most so many, by everybody else
    std::uint64_t waited_ns = 0; ///< these workers together, for CPUs
    std::optional<double>
        stalled; ///< part of the time in which some thread of the machine waited; empty: unknown
};

/// Gives way at once and comes back carefully: workers that wait for CPUs together as long as a third of one
/// is theirs take one away in two looks; one more is tried behind a calm of `patience`, which doubles each
/// time the trial ends in waiting, and falls back once one has lasted. The shape of it is that of congestion
/// avoidance (Jacobson 1988): whether there is room shows only by trying.
class rule {
public:
    static constexpr double short_of_cpus = 0.3;   ///< CPUs
    static constexpr double machine_is_busy = 0.2; ///< of the time
    static constexpr unsigned looks = 2;
    static constexpr std::uint64_t millisecond = 1'000'000;
    static constexpr std::uint64_t least_patience = 200 * millisecond;
    static constexpr std::uint64_t most_patience = 5'000 * millisecond;
    static constexpr std::uint64_t lasting = 500 * millisecond; ///< a trial that has gone well for so long

    /// How many should run from now on; at least 1.
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
        // Others wait, though none of these does: they are elsewhere, or took what was given up. Not for
        // ever.
        const bool busy = i.stalled.value_or(0) >= machine_is_busy;
        if (i.active >= i.wanted || m_calm < (busy ? most_patience : m_patience)) {
            return i.active;
        }
        m_calm = 0;
        m_trying = true;
        return i.active + 1;
    }

private:
    unsigned m_short = 0;     // looks in a row
    std::uint64_t m_calm = 0; // ns since the last shortage, or the last trial
    std::uint64_t m_patience = least_patience;
    bool m_trying = false;
};

} // namespace governor
} // namespace v0
} // namespace pilfer
