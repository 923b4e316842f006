// Reductions without a map, over ranges, and over pairs of elements.
//
// All of them group the elements as reduce of <pilfer/parallel/reduce.hpp> does: the result has the same bits
// on every schedule and any number of workers.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include <pilfer/detail/algorithm/collected.hpp>
#include <pilfer/detail/algorithm/ranges.hpp>
#include <pilfer/parallel/reduce.hpp>

namespace pilfer {
inline namespace v0 {

/// Returns init combined with map(element) for all elements of [first, last), linked nodes, in order. One
/// walk collects their iterators; throws std::bad_alloc without memory for them. The sums have the bits that
/// the same elements of a vector have.
template <std::forward_iterator I, class T, class Map, class Combine>
requires(!loop_position<I> && !std::is_same_v<Combine, grain>) [[nodiscard]] T
    reduce(I first, I last, T init, Map map, Combine combine, grain g = {}) {
    const detail::reachable<I> in(first, last);
    return pilfer::reduce(in.begin(), in.end(), std::move(init), std::move(map), std::move(combine), g);
}

/// Returns init combined with all elements in order. See reduce with a map for all promises.
template <std::forward_iterator I, class T, class Combine = std::plus<>>
[[nodiscard]] T reduce(I first, I last, T init, Combine combine = {}) {
    return pilfer::reduce(first, last, std::move(init), std::identity{}, std::move(combine));
}

/// Returns init combined with all elements of a range in order.
template <detail::walk_range R, class T, class Combine = std::plus<>>
requires std::invocable<Combine&, T, T>
[[nodiscard]] T reduce(R&& range, T init, Combine combine = {}) {
    const auto first = std::ranges::begin(range);
    return pilfer::reduce(first, std::ranges::next(first, std::ranges::end(range)), std::move(init),
                          std::identity{}, std::move(combine));
}

/// Returns init combined with map(element) for all elements of a range in order.
template <detail::walk_range R, class T, class Map, class Combine>
requires(!std::is_same_v<Combine, grain> && std::invocable<Combine&, T, T>) [[nodiscard]] T
    reduce(R&& range, T init, Map map, Combine combine, grain g = {}) {
    const auto first = std::ranges::begin(range);
    return pilfer::reduce(first, std::ranges::next(first, std::ranges::end(range)), std::move(init),
                          std::move(map), std::move(combine), g);
}

/// As reduce with a map, but with std's order of parameters: `combine` before `map`. With two ranges the map
/// takes one element of each, as in an inner product; the pairs end with the shorter range, and one of the
/// two may have no end. `combine` and `map` are given together, or for two ranges neither.
struct transform_reduce_algorithm {
    /// For the elements of [first, last).
    template <std::forward_iterator I, class T, class Combine, class Map>
    requires std::invocable<Combine&, T, T> && std::invocable<Map&, std::iter_reference_t<I>>
    [[nodiscard]] T operator()(I first, I last, T init, Combine combine, Map map, grain g = {}) const {
        return pilfer::reduce(first, last, std::move(init), std::move(map), std::move(combine), g);
    }
    /// For a range.
    template <detail::walk_range R, class T, class Combine, class Map>
    requires std::invocable<Combine&, T, T>
    [[nodiscard]] T operator()(R&& range, T init, Combine combine, Map map, grain g = {}) const {
        return pilfer::reduce(range, std::move(init), std::move(map), std::move(combine), g);
    }
    /// The inner product of two ranges that are given by iterators.
    template <std::random_access_iterator I1, std::random_access_iterator I2, class T>
    [[nodiscard]] T operator()(I1 first1, I1 last1, I2 first2, T init) const {
        return (*this)(first1, last1, first2, std::move(init), std::plus<>{}, std::multiplies<>{});
    }
    /// For two ranges that are given by iterators.
    template <std::random_access_iterator I1, std::random_access_iterator I2, class T, class Combine,
              class Map>
    requires std::invocable<Combine&, T, T>
    [[nodiscard]] T operator()(I1 first1, I1 last1, I2 first2, T init, Combine combine, Map map,
                               grain g = {}) const {
        auto both = [&](std::uint64_t i) -> T { // no reference: it might be one to a proxy
            return T(std::invoke(map, *detail::at(first1, i), *detail::at(first2, i)));
        };
        return pilfer::reduce(std::uint64_t{0}, detail::length(first1, last1), std::move(init), both,
                              std::move(combine), g);
    }
    /// The inner product of two ranges.
    template <std::ranges::random_access_range R1, std::ranges::random_access_range R2, class T>
    requires detail::pair_of_ranges<R1, R2>
    [[nodiscard]] T operator()(R1&& range1, R2&& range2, T init) const {
        return (*this)(range1, range2, std::move(init), std::plus<>{}, std::multiplies<>{});
    }
    /// For two ranges.
    template <std::ranges::random_access_range R1, std::ranges::random_access_range R2, class T,
              class Combine, class Map>
    requires std::invocable<Combine&, T, T> && detail::pair_of_ranges<R1, R2>
    [[nodiscard]] T operator()(R1&& range1, R2&& range2, T init, Combine combine, Map map,
                               grain g = {}) const {
        const auto first1 = std::ranges::begin(range1);
        const auto first2 = std::ranges::begin(range2);
        const detail::reachable_pairs in(first1, std::ranges::end(range1), first2, std::ranges::end(range2));
        return (*this)(first1, detail::at(first1, in.size()), first2, std::move(init), std::move(combine),
                       std::move(map), g);
    }
};
/// `transform_reduce`, to be called as a function.
inline constexpr transform_reduce_algorithm transform_reduce{};

} // namespace v0
} // namespace pilfer
