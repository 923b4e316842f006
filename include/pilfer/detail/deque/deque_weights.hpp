// Weights of the tasks of a deque: the sum over any part, as a difference of two entries.
//
// Beside each slot is an entry: the task's weight, and the weight of everything announced below it. Entries
// are valid from the deque's first weighted task on (`from`). Below that, and in a deque without weights,
// every task weighs 1 and nothing is stored. "Weights" in src/deque/README.md says which thread writes what,
// and why thieves may read it.
#pragma once

#include <algorithm>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Sums are taken modulo 2^64, so only differences mean anything.
template <class Atom>
struct weight_entry {
    typename Atom::template atomic<std::uint64_t> below{0};
    typename Atom::template atomic<std::uint64_t> weight{1};
};

/// A snapshot of one deque: numbers that need not be consistent with each other while other threads work on
/// it. All results are nevertheless at most the number of tasks. `top`, `split`, `bottom`, `from`: positions.
template <class Atom>
class scales {
    std::int64_t m_top;
    std::int64_t m_split;
    std::int64_t m_bottom;
    std::int64_t m_from;
    const weight_entry<Atom>* m_entries;
    std::int64_t m_mask;

public:
    scales(std::int64_t top, std::int64_t split, std::int64_t bottom, std::int64_t from,
           const weight_entry<Atom>* entries, std::int64_t mask) noexcept
        : m_top(top), m_split(std::max(split, top)), m_bottom(std::max(bottom, m_split)),
          m_from(entries == nullptr ? INT64_MAX : from), m_entries(entries), m_mask(mask),
          shared(count(m_top, m_split)), own(count(m_split, m_bottom)) {}

    std::uint64_t shared; ///< tasks
    std::uint64_t own;    ///< private tasks

    [[nodiscard]] std::uint64_t tasks() const noexcept { return count(m_top, m_bottom); }
    [[nodiscard]] std::uint64_t shared_weight() const noexcept { return sum(m_top, m_split); }
    [[nodiscard]] std::uint64_t own_weight() const noexcept { return sum(m_split, m_bottom); }
    [[nodiscard]] std::uint64_t weight() const noexcept { return sum(m_top, m_bottom); }
    /// The number of oldest tasks whose sum is nearest to `weight`: at least one if there is any. If two
    /// numbers are equally near, it is the smaller one. Cost: a constant without weights, else the logarithm
    /// of the number of tasks.
    [[nodiscard]] std::uint64_t oldest(std::uint64_t weight) const noexcept { return nearest(m_top, weight); }
    /// As oldest(), for the private tasks.
    [[nodiscard]] std::uint64_t oldest_own(std::uint64_t weight) const noexcept {
        return nearest(m_split, weight);
    }

private:
    [[nodiscard]] static std::uint64_t count(std::int64_t first, std::int64_t last) noexcept {
        return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    }
    [[nodiscard]] std::uint64_t sum(std::int64_t first, std::int64_t last) const noexcept {
        if (first == last || last <= m_from) {
            return count(first, last);
        }
        const weight_entry<Atom>& newest = entry(last - 1);
        return newest.below.load(rlx) + newest.weight.load(rlx) - below(first);
    }
    [[nodiscard]] std::uint64_t below(std::int64_t index) const noexcept {
        return index <= m_from ? static_cast<std::uint64_t>(index) : entry(index).below.load(rlx);
    }
    [[nodiscard]] const weight_entry<Atom>& entry(std::int64_t index) const noexcept {
        return m_entries[index & m_mask];
    }
    [[nodiscard]] std::uint64_t nearest(std::int64_t first, std::uint64_t weight) const noexcept {
        const std::uint64_t all = count(first, m_bottom);
        if (all < 2 || m_bottom <= m_from) {
            return std::min(std::max<std::uint64_t>(weight, 1), all);
        }
        const auto together = [&](std::uint64_t n) {
            return sum(first, first + static_cast<std::int64_t>(n));
        };
        std::uint64_t fits = 0; // this many weigh at most `weight`
        for (std::uint64_t too_many = all + 1; too_many - fits > 1;) {
            const std::uint64_t middle = fits + (too_many - fits) / 2;
            if (together(middle) <= weight) {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        if (fits == 0 || fits == all) {
            return std::max<std::uint64_t>(fits, 1);
        }
        return together(fits + 1) - weight < weight - together(fits) ? fits + 1 : fits;
    }
};

} // namespace detail
} // namespace v0
} // namespace pilfer
