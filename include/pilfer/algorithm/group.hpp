// Beyond std: histogram and group_by_key.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <pilfer/detail/algorithm/group.hpp>
#include <pilfer/parallel/grain.hpp>

namespace pilfer {
inline namespace v0 {

/// Counts how often bin(element) gives each number of [0, bins). Throws std::out_of_range for another number.
/// A fraction counts as the whole number below it, but a negative one is refused.
///
/// Every part that another worker takes has a table of its own, which is added to the one before it. Cost:
/// the tables are cleared and added, so that `bins` should be small beside the number of elements.
struct histogram_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Bin = std::identity>
    requires detail::sequence<I, S>
    [[nodiscard]] std::vector<std::uint64_t> operator()(I first, S last, std::size_t bins, Bin bin = {},
                                                        grain g = {}) const {
        return detail::histogram_of(first, last, bins, bin, g);
    }
    /// For a range.
    template <detail::sequence_range R, class Bin = std::identity>
    [[nodiscard]] std::vector<std::uint64_t> operator()(R&& range, std::size_t bins, Bin bin = {},
                                                        grain g = {}) const {
        return detail::histogram_of(std::ranges::begin(range), std::ranges::end(range), bins, bin, g);
    }
};
/// `histogram`, to be called as a function.
inline constexpr histogram_algorithm histogram{};

/// Collects value(element) under key(element): returns a vector of pairs of a key and the vector of its
/// values. Keys are in the order of their first elements, and values in the order of theirs, on every
/// schedule.
///
/// `hash` and `same` belong together as for std::unordered_map. Every part that another worker takes has a
/// table of its own; its groups are appended to those of the part before it, by moves. Cost: with nearly as
/// many keys as elements, appending takes most of the time.
struct group_by_key_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Key, class Value = std::identity, class K = detail::value_of<Key, I>,
              class Hash = std::hash<K>, class Same = std::equal_to<>>
    requires detail::sequence<I, S>
    [[nodiscard]] auto operator()(I first, S last, Key key, Value value = {}, Hash hash = {}, Same same = {},
                                  grain g = {}) const {
        using V = detail::value_of<Value, I>;
        return detail::grouped<K, V>(first, last, key, value, hash, same, g);
    }
    /// For a range.
    template <detail::sequence_range R, class Key, class Value = std::identity,
              class K = detail::value_of<Key, std::ranges::iterator_t<R>>, class Hash = std::hash<K>,
              class Same = std::equal_to<>>
    [[nodiscard]] auto operator()(R&& range, Key key, Value value = {}, Hash hash = {}, Same same = {},
                                  grain g = {}) const {
        using V = detail::value_of<Value, std::ranges::iterator_t<R>>;
        return detail::grouped<K, V>(std::ranges::begin(range), std::ranges::end(range), key, value, hash,
                                     same, g);
    }
};
/// `group_by_key`, to be called as a function.
inline constexpr group_by_key_algorithm group_by_key{};

} // namespace v0
} // namespace pilfer
