// How often the communicating thread looks. Shared with the simulation in study/lifelines.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The sleeps between two looks, in nanoseconds: twice as long after each look that has moved nothing.
class pace {
public:
    [[nodiscard]] std::uint64_t pause() const noexcept { return m_pause; }
    void moved() noexcept { m_pause = shortest; }
    /// After a sleep. `busy`: this rank has or awaits something, and a thief waits for its look.
    void slept(bool busy) noexcept { m_pause = std::min(2 * m_pause, busy ? longest_with_work : longest); }

private:
    static constexpr std::uint64_t shortest = 20'000;
    static constexpr std::uint64_t longest = 1'000'000;
    static constexpr std::uint64_t longest_with_work = 100'000;
    std::uint64_t m_pause = shortest;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
