// merge: two sorted ranges into one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <utility>

#include <pilfer/detail/parallel/ends.hpp>
#include <pilfer/detail/sort/base.hpp>
#include <pilfer/detail/sort/entry.hpp>
#include <pilfer/detail/sort/merge.hpp>

namespace pilfer {
inline namespace v0 {

/// Copies two sorted ranges into one sorted range, which overlaps neither. Of equal elements those of the
/// first range come first. O(n) comparisons and no memory.
struct merge_function {
    /// For the elements of [first1, last1) and [first2, last2).
    template <std::random_access_iterator I1, detail::reachable_end<I1> S1, std::random_access_iterator I2,
              detail::reachable_end<I2> S2, std::random_access_iterator O, class Comp = std::ranges::less,
              class Proj1 = std::identity, class Proj2 = std::identity>
    requires std::mergeable<I1, I2, O, Comp, Proj1, Proj2> std::ranges::merge_result<I1, I2, O>
    operator()(I1 first1, S1 last1, I2 first2, S2 last2, O result, Comp comp = {}, Proj1 proj1 = {},
               Proj2 proj2 = {}) const {
        const I1 end1 = std::ranges::next(first1, last1);
        const I2 end2 = std::ranges::next(first2, last2);
        const auto n1 = static_cast<std::size_t>(end1 - first1);
        const auto n2 = static_cast<std::size_t>(end2 - first2);
        const detail::sorting::order<Comp, Proj2, Proj1> less(comp, proj2, proj1);
        detail::sorting::run(n1 + n2, [&](auto report) {
            detail::sorting::merge_copy(first1, n1, first2, n2, result, less, report);
        });
        return {end1, end2, detail::sorting::at(result, n1 + n2)};
    }
    /// For two ranges.
    template <detail::sequence_range R1, detail::sequence_range R2, std::random_access_iterator O,
              class Comp = std::ranges::less, class Proj1 = std::identity, class Proj2 = std::identity>
    requires std::mergeable<std::ranges::iterator_t<R1>, std::ranges::iterator_t<R2>, O, Comp, Proj1, Proj2>
        std::ranges::merge_result<std::ranges::borrowed_iterator_t<R1>, std::ranges::borrowed_iterator_t<R2>,
                                  O>
    operator()(R1&& range1, R2&& range2, O result, Comp comp = {}, Proj1 proj1 = {}, Proj2 proj2 = {}) const {
        return (*this)(std::ranges::begin(range1), std::ranges::end(range1), std::ranges::begin(range2),
                       std::ranges::end(range2), std::move(result), std::move(comp), std::move(proj1),
                       std::move(proj2));
    }
};
/// `merge`, to be called as a function.
inline constexpr merge_function merge{};

} // namespace v0
} // namespace pilfer
