// The amount of a theft. Plain values: no atomics, no clock, no allocation.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pilfer/balance.hpp>

#include "balance/load.hpp"

namespace pilfer {
inline namespace v0 {
namespace balance {

/// ceil(whole * p / q) for p <= q, without overflow.
[[nodiscard]] constexpr std::uint64_t part_of(std::uint64_t whole, std::uint64_t p,
                                              std::uint64_t q) noexcept {
    return whole / q * p + (whole % q * p + q - 1) / q;
}

/// The memory of a thief from one theft to the next, for steal_amount::adaptive.
class steal_batch {
public:
    steal_batch() noexcept = default;
    /// A copy of another thief's state; `next`: its next().
    explicit steal_batch(std::uint64_t next) noexcept : m_next(next) {}
    /// The number of tasks that it takes next under steal_amount::adaptive, if there are twice as many.
    [[nodiscard]] std::uint64_t next() const noexcept { return m_next; }
    /// The number of the oldest tasks, private and shared, to take: at least 1, even if there are none,
    /// otherwise at most all. A rule that names a part means a part of their weight.
    template <loads Load>
    [[nodiscard]] std::uint64_t size(steal_amount rule, const Load& there) const noexcept {
        using what = steal_amount::rule;
        const std::uint64_t whole = there.tasks();
        std::uint64_t n = 1;
        switch (rule.what) {
        case what::part:
            n = there.oldest(part_of(there.weight(), rule.numerator, rule.denominator));
            break;
        case what::all_but_one:
            n = whole - 1;
            break;
        case what::adaptive:
            n = std::min(m_next, there.oldest(part_of(there.weight(), 1, 2)));
            break;
        case what::automatic:
        case what::one:
            break;
        }
        return whole < 2 || n < 1 ? 1 : n;
    }
    /// size() for `whole` tasks that weigh 1 each.
    [[nodiscard]] std::uint64_t size(steal_amount rule, std::uint64_t whole) const noexcept {
        return size(rule, load{whole, 0});
    }
    /// The thief has run what it stole, and looks for more. `fruitful`: some of it announced tasks.
    void spent(bool fruitful) noexcept { m_next = fruitful ? 1 : (m_next < largest ? m_next * 2 : largest); }

private:
    static constexpr std::uint64_t largest = std::uint64_t{1} << 20;
    std::uint64_t m_next = 1;
};

} // namespace balance
} // namespace v0
} // namespace pilfer
