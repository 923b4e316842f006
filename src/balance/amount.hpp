// How much to take. Plain values: no atomics, no clock, no allocation.
#pragma once

#include <cstdint>

#include <pilfer/balance.hpp>

namespace pilfer {
inline namespace v0 {
namespace balance {

/// ceil(whole * p / q) for p <= q, without overflow.
[[nodiscard]] constexpr std::uint64_t part_of(std::uint64_t whole, std::uint64_t p,
                                              std::uint64_t q) noexcept {
    return whole / q * p + (whole % q * p + q - 1) / q;
}

/// What a thief remembers from one theft to the next, for steal_amount::adaptive.
class haul {
public:
    haul() noexcept = default;
    /// What another thief's next() said.
    explicit haul(std::uint64_t next) noexcept : m_next(next) {}
    /// How much it takes next under steal_amount::adaptive, where there is twice as much.
    [[nodiscard]] std::uint64_t next() const noexcept { return m_next; }
    /// How many of `whole` tasks, private and shared, to take: 1 <= result <= whole, and 1 where there is
    /// nothing.
    [[nodiscard]] std::uint64_t size(steal_amount rule, std::uint64_t whole) const noexcept {
        using what = steal_amount::rule;
        std::uint64_t n = 1;
        switch (rule.what) {
        case what::part:
            n = part_of(whole, rule.numerator, rule.denominator);
            break;
        case what::all_but_one:
            n = whole - 1;
            break;
        case what::adaptive:
            n = m_next < part_of(whole, 1, 2) ? m_next : part_of(whole, 1, 2);
            break;
        case what::automatic:
        case what::one:
            break;
        }
        return whole < 2 || n < 1 ? 1 : n;
    }
    /// The thief has run what it stole, and comes back for more. `fruitful`: some of it announced tasks.
    void spent(bool fruitful) noexcept { m_next = fruitful ? 1 : (m_next < largest ? m_next * 2 : largest); }

private:
    static constexpr std::uint64_t largest = std::uint64_t{1} << 20;
    std::uint64_t m_next = 1;
};

} // namespace balance
} // namespace v0
} // namespace pilfer
