// Comparisons: min_element, max_element, minmax_element, mismatch, equal.
//
// The elements are only read, and nothing is allocated. Functions are called from several workers at once.
// Exceptions and cancellation as for for_each. Results are those of std::ranges, on every schedule.
//
// One of the two ranges of mismatch and equal may have no end, as std::views::iota(0). It needs as many
// elements as the other one, also after the first difference.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <pilfer/detail/algorithm/compare.hpp>

namespace pilfer {
inline namespace v0 {

/// The first of the smallest elements, or the end of an empty range. Unspecified without a strict weak order,
/// as of numbers with a NaN.
struct min_element_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Less = std::ranges::less, class Proj = std::identity>
    requires detail::sequence<I, S>
    [[nodiscard]] I operator()(I first, S last, Less less = {}, Proj proj = {}, grain g = {}) const {
        return detail::find_min(first, last, less, proj, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Less = std::ranges::less,
              class Proj = std::identity>
    [[nodiscard]] std::ranges::borrowed_iterator_t<R> operator()(R&& range, Less less = {}, Proj proj = {},
                                                                 grain g = {}) const {
        return detail::find_min(std::ranges::begin(range), std::ranges::end(range), less, proj, g);
    }
};
/// `min_element`, to be called as a function.
inline constexpr min_element_algorithm min_element{};

/// The first of the largest elements, or the end of an empty range. Unspecified as for min_element.
struct max_element_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Less = std::ranges::less, class Proj = std::identity>
    requires detail::sequence<I, S>
    [[nodiscard]] I operator()(I first, S last, Less less = {}, Proj proj = {}, grain g = {}) const {
        return detail::find_max(first, last, less, proj, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Less = std::ranges::less,
              class Proj = std::identity>
    [[nodiscard]] std::ranges::borrowed_iterator_t<R> operator()(R&& range, Less less = {}, Proj proj = {},
                                                                 grain g = {}) const {
        return detail::find_max(std::ranges::begin(range), std::ranges::end(range), less, proj, g);
    }
};
/// `max_element`, to be called as a function.
inline constexpr max_element_algorithm max_element{};

/// The first of the smallest and the last of the largest elements; twice the end for an empty range.
struct minmax_element_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Less = std::ranges::less, class Proj = std::identity>
    requires detail::sequence<I, S>
    [[nodiscard]] std::ranges::minmax_element_result<I> operator()(I first, S last, Less less = {},
                                                                   Proj proj = {}, grain g = {}) const {
        return detail::find_minmax(first, last, less, proj, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Less = std::ranges::less,
              class Proj = std::identity>
    [[nodiscard]] std::ranges::minmax_element_result<std::ranges::borrowed_iterator_t<R>>
    operator()(R&& range, Less less = {}, Proj proj = {}, grain g = {}) const {
        return detail::find_minmax(std::ranges::begin(range), std::ranges::end(range), less, proj, g);
    }
};
/// `minmax_element`, to be called as a function.
inline constexpr minmax_element_algorithm minmax_element{};

/// The first place at which two ranges differ, or the end of the shorter one, in both ranges.
struct mismatch_algorithm {
    /// For two ranges that are given by iterators.
    template <std::random_access_iterator I1, class S1, std::random_access_iterator I2, class S2,
              class Pred = std::ranges::equal_to, class Proj1 = std::identity, class Proj2 = std::identity>
    requires detail::reachable_ends<S1, I1, S2, I2>
    [[nodiscard]] std::ranges::mismatch_result<I1, I2> operator()(I1 first1, S1 last1, I2 first2, S2 last2,
                                                                  Pred pred = {}, Proj1 proj1 = {},
                                                                  Proj2 proj2 = {}, grain g = {}) const {
        return detail::find_mismatch(first1, last1, first2, last2, pred, proj1, proj2, g);
    }
    /// For two ranges.
    template <std::ranges::random_access_range R1, std::ranges::random_access_range R2,
              class Pred = std::ranges::equal_to, class Proj1 = std::identity, class Proj2 = std::identity>
    requires detail::pair_of_ranges<R1, R2>
    [[nodiscard]] std::ranges::mismatch_result<std::ranges::borrowed_iterator_t<R1>,
                                               std::ranges::borrowed_iterator_t<R2>>
    operator()(R1&& range1, R2&& range2, Pred pred = {}, Proj1 proj1 = {}, Proj2 proj2 = {},
               grain g = {}) const {
        return detail::find_mismatch(std::ranges::begin(range1), std::ranges::end(range1),
                                     std::ranges::begin(range2), std::ranges::end(range2), pred, proj1, proj2,
                                     g);
    }
};
/// `mismatch`, to be called as a function.
inline constexpr mismatch_algorithm mismatch{};

/// True if two ranges have the same length and equal elements.
struct equal_algorithm {
    /// For two ranges that are given by iterators.
    template <std::random_access_iterator I1, class S1, std::random_access_iterator I2, class S2,
              class Pred = std::ranges::equal_to, class Proj1 = std::identity, class Proj2 = std::identity>
    requires detail::reachable_ends<S1, I1, S2, I2>
    [[nodiscard]] bool operator()(I1 first1, S1 last1, I2 first2, S2 last2, Pred pred = {}, Proj1 proj1 = {},
                                  Proj2 proj2 = {}, grain g = {}) const {
        return detail::are_equal(first1, last1, first2, last2, pred, proj1, proj2, g);
    }
    /// For two ranges.
    template <std::ranges::random_access_range R1, std::ranges::random_access_range R2,
              class Pred = std::ranges::equal_to, class Proj1 = std::identity, class Proj2 = std::identity>
    requires detail::pair_of_ranges<R1, R2>
    [[nodiscard]] bool operator()(R1&& range1, R2&& range2, Pred pred = {}, Proj1 proj1 = {},
                                  Proj2 proj2 = {}, grain g = {}) const {
        return detail::are_equal(std::ranges::begin(range1), std::ranges::end(range1),
                                 std::ranges::begin(range2), std::ranges::end(range2), pred, proj1, proj2, g);
    }
};
/// `equal`, to be called as a function.
inline constexpr equal_algorithm equal{};

} // namespace v0
} // namespace pilfer
