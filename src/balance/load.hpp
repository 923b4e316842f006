// How much a worker has.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace balance {

/// So many tasks, each of which weighs 1. The runtime's deque, whose tasks may have weights, answers the same
/// questions: detail::scales.
struct load {
    std::uint64_t shared = 0;
    std::uint64_t own = 0; ///< private

    [[nodiscard]] constexpr std::uint64_t tasks() const noexcept { return shared + own; }
    [[nodiscard]] constexpr std::uint64_t shared_weight() const noexcept { return shared; }
    [[nodiscard]] constexpr std::uint64_t own_weight() const noexcept { return own; }
    [[nodiscard]] constexpr std::uint64_t weight() const noexcept { return tasks(); }
    /// How many of the oldest tasks together come nearest to `weight`: at least one where there is any.
    [[nodiscard]] constexpr std::uint64_t oldest(std::uint64_t weight) const noexcept {
        return std::min(std::max<std::uint64_t>(weight, 1), tasks());
    }
    /// The same of the private tasks.
    [[nodiscard]] constexpr std::uint64_t oldest_own(std::uint64_t weight) const noexcept {
        return std::min(std::max<std::uint64_t>(weight, 1), own);
    }
};

/// A load, or what stands for one where tasks have weights.
template <class Load>
concept loads = requires(const Load& l, std::uint64_t n) {
    n = l.shared;
    n = l.own;
    n = l.tasks() + l.weight() + l.shared_weight() + l.own_weight() + l.oldest(n) + l.oldest_own(n);
};
static_assert(loads<load>);

} // namespace balance
} // namespace v0
} // namespace pilfer
