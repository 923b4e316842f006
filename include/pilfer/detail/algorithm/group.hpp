// Histograms and groups.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/detail/parallel/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The bin of a number, or one that is not below `bins`.
template <class Number>
[[nodiscard]] PILFER_ALWAYS_INLINE std::size_t bin_of(Number&& x, std::size_t bins) {
    using number = std::remove_cvref_t<Number>;
    // A conversion of these to std::size_t may lose a part of the value, or be undefined.
    if constexpr (std::is_floating_point_v<number>) {
        return x >= 0 && x < static_cast<number>(0x1p64) ? static_cast<std::size_t>(x) : bins;
    } else if constexpr (sizeof(number) > sizeof(std::size_t) && !std::is_class_v<number>) {
        return x >= 0 && x < static_cast<number>(bins) ? static_cast<std::size_t>(x) : bins;
    } else {
        return static_cast<std::size_t>(std::forward<Number>(x));
    }
}

template <class I, class S, class Bin>
[[nodiscard]] std::vector<std::uint64_t> histogram_of(I first, S last, std::size_t bins, Bin& bin, grain g) {
    using table = std::vector<std::uint64_t>;
    return detail::over_fold(
        detail::length(first, last), g, [&](std::uint64_t) { return table(bins); },
        [&](table& counts, std::uint64_t b, std::uint64_t e) {
            close_call<Bin, std::iter_reference_t<I>> call = bin;
            const auto add = [&call, out = counts.data(), end = bins](const I& it) {
                const std::size_t index = detail::bin_of(std::invoke(call, *it), end);
                if (index >= end) [[unlikely]] {
                    PILFER_THROW(std::out_of_range("pilfer::histogram: bin"));
                }
                ++out[index];
            };
            I from = detail::at(first, b);
            for (; e - b >= 4; b += 4, (void)(from += 4)) { // no compiler unrolls a loop that may throw
                add(from);
                add(from + 1);
                add(from + 2);
                add(from + 3);
            }
            for (; b != e; ++b, (void)++from) {
                add(from);
            }
        },
        [&](table& counts, std::uint64_t, const table& other) {
            for (std::size_t i = 0; i != bins; ++i) {
                counts[i] += other[i];
            }
        });
}

/// Groups of one part, in the order in which their keys have come, and an index of the keys by open
/// addressing.
template <class Key, class Value, class Hash, class Same>
class group_table {
public:
    using group = std::pair<Key, std::vector<Value>>;

    group_table(Hash& hash, Same& same) noexcept : m_hash(&hash), m_same(&same) {}

    template <class K>
    [[nodiscard]] std::vector<Value>& of(K&& key) {
        const std::uint64_t mixed = this->mixed_hash(key);
        if (m_groups.size() * 2 >= m_slots.size()) {
            this->grow();
        }
        std::size_t slot = mixed & (m_slots.size() - 1);
        for (; m_slots[slot] != 0; slot = (slot + 1) & (m_slots.size() - 1)) {
            group& here = m_groups[m_slots[slot] - 1];
            if (m_hashes[m_slots[slot] - 1] == mixed && std::invoke(*m_same, here.first, key)) {
                return here.second;
            }
        }
        if (m_hashes.size() == m_hashes.capacity()) { // not in push_back, which must not throw
            m_hashes.reserve(m_hashes.size() * 2 + 16);
        }
        m_groups.emplace_back(std::forward<K>(key), std::vector<Value>());
        m_hashes.push_back(mixed);
        m_slots[slot] = m_groups.size();
        return m_groups.back().second;
    }
    /// Appends the groups of the part after this one.
    void append(group_table&& other) {
        for (group& from : other.m_groups) {
            std::vector<Value>& to = this->of(std::move(from.first));
            if (to.empty()) {
                to = std::move(from.second);
            } else {
                to.insert(to.end(), std::move_iterator(from.second.begin()),
                          std::move_iterator(from.second.end()));
            }
        }
    }
    [[nodiscard]] std::vector<group> take() noexcept { return std::move(m_groups); }

private:
    /// The user's hash may be the key itself: its low bits alone would put strides into one run of slots.
    template <class K>
    [[nodiscard]] std::uint64_t mixed_hash(const K& key) const {
        std::uint64_t h = static_cast<std::uint64_t>(std::invoke(*m_hash, key));
        h ^= h >> 32;
        h *= 0x9e3779b97f4a7c15;
        return h ^ (h >> 29);
    }
    void grow() {
        std::vector<std::size_t> table(m_slots.empty() ? 16 : m_slots.size() * 2);
        for (std::size_t number = 0; number != m_groups.size(); ++number) {
            std::size_t slot = m_hashes[number] & (table.size() - 1);
            while (table[slot] != 0) {
                slot = (slot + 1) & (table.size() - 1);
            }
            table[slot] = number + 1;
        }
        m_slots = std::move(table);
    }

    Hash* m_hash;
    Same* m_same;
    std::vector<group> m_groups;
    std::vector<std::uint64_t> m_hashes; // of each group
    std::vector<std::size_t> m_slots;    // number of the group plus one; 0: none
};

template <class Key, class Value, class I, class S, class KeyOf, class ValueOf, class Hash, class Same>
[[nodiscard]] auto grouped(I first, S last, KeyOf& key, ValueOf& value, Hash& hash, Same& same, grain g) {
    using table = group_table<Key, Value, Hash, Same>;
    return detail::over_fold(
               detail::length(first, last), g, [&](std::uint64_t) { return table(hash, same); },
               [&](table& groups, std::uint64_t b, std::uint64_t e) {
                   for (I from = detail::at(first, b), stop = detail::at(first, e); from != stop; ++from) {
                       groups.of(std::invoke(key, *from)).push_back(std::invoke(value, *from));
                   }
               },
               [](table& groups, std::uint64_t, table&& other) { groups.append(std::move(other)); })
        .take();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
