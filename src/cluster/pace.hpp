// How often the communicating thread looks. Shared with the simulation in study/lifelines.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The sleeps between two looks, in nanoseconds: a part of the time since something moved, so that a message
/// waits for the same part of it at most. A rank that lost its work a moment ago looks often, one that has
/// had none for long costs little.
class pace {
public:
    [[nodiscard]] std::uint64_t pause() const noexcept { return m_pause; }
    void moved() noexcept { *this = pace(); }
    /// After a sleep. `busy`: this rank has work, or sends, or another rank awaits its work.
    void slept(bool busy) noexcept {
        m_slept += m_pause;
        m_pause = std::clamp(m_slept / part, shortest, busy ? longest_with_work : longest);
    }

private:
    static constexpr std::uint64_t shortest = 20'000;
    static constexpr std::uint64_t longest = 2'000'000;
    static constexpr std::uint64_t longest_with_work = 100'000;
    static constexpr std::uint64_t part = 16;
    std::uint64_t m_pause = shortest;
    std::uint64_t m_slept = 0; // since something moved
};

} // namespace detail
} // namespace v0
} // namespace pilfer
