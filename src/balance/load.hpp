// The load of a worker.
#pragma once

#include <algorithm>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace balance {

/// Tasks that weigh 1 each. detail::scales has the same functions for the runtime's deque, whose tasks may
/// have weights.
struct load {
    std::uint64_t shared = 0;
    std::uint64_t own = 0; ///< private

    [[nodiscard]] constexpr std::uint64_t tasks() const noexcept { return shared + own; }
    [[nodiscard]] constexpr std::uint64_t shared_weight() const noexcept { return shared; }
    [[nodiscard]] constexpr std::uint64_t own_weight() const noexcept { return own; }
    [[nodiscard]] constexpr std::uint64_t weight() const noexcept { return tasks(); }
    /// The number of oldest tasks whose sum is nearest to `weight`: at least one if there is any.
    [[nodiscard]] constexpr std::uint64_t oldest(std::uint64_t weight) const noexcept {
        return std::min(std::max<std::uint64_t>(weight, 1), tasks());
    }
    /// As oldest(), for the private tasks.
    [[nodiscard]] constexpr std::uint64_t oldest_own(std::uint64_t weight) const noexcept {
        return std::min(std::max<std::uint64_t>(weight, 1), own);
    }
};

/// A load, or its equivalent for tasks with weights.
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
