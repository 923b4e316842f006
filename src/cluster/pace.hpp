// How often the communicating thread looks. Shared with the simulation in study/lifelines.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The aim of a look of the communicating thread.
enum class looks_for : unsigned char {
    asks,    ///< this rank has work: other ranks ring if they want some
    work,    ///< this rank has none
    transfer ///< a message is on the way, and moves only during looks
};

/// The sleeps between two looks, in nanoseconds. Without work they are a part of the time since something
/// moved, so that a message waits for the same part of it at most. A rank that lost its work a moment ago
/// looks often, one that has had none for long costs little. Beside work a look takes the CPU from a worker.
class pace {
public:
    [[nodiscard]] std::uint64_t pause(looks_for what) const noexcept {
        return what == looks_for::asks       ? m_beside_work
               : what == looks_for::transfer ? std::min(m_pause, longest_of_transfer)
                                             : m_pause;
    }
    void moved() noexcept { *this = pace(); }
    /// Another rank has rung. Its message may be on the way.
    void rung() noexcept {
        moved();
        m_beside_work = shortest;
    }
    /// After pause(what).
    void slept(looks_for what) noexcept {
        m_slept += pause(what);
        m_pause = std::clamp(m_slept / part, shortest, longest);
        m_beside_work = std::min(2 * m_beside_work, longest_beside_work);
    }

    static constexpr std::uint64_t shortest = 20'000;
    static constexpr std::uint64_t longest_beside_work = 500'000;

private:
    static constexpr std::uint64_t longest = 2'000'000;
    static constexpr std::uint64_t longest_of_transfer = 100'000;
    static constexpr std::uint64_t part = 16;
    std::uint64_t m_pause = shortest;
    std::uint64_t m_beside_work = longest_beside_work;
    std::uint64_t m_slept = 0; // since something moved
};

} // namespace detail
} // namespace v0
} // namespace pilfer
