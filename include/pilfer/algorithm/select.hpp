// Selections: copy_if, remove_if, unique, partition, and filter to a vector.
//
// All of them call their function once for every element, from several workers at once. Results are those of
// std::ranges. Exceptions and cancellation as for for_each; after one, the elements of the range are valid,
// and some may be moved from.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include <pilfer/detail/algorithm/select.hpp>
#include <pilfer/parallel/grain.hpp>

namespace pilfer {
inline namespace v0 {

/// Copies the elements with pred(proj(element)) to `out`, in order. `out` must not overlap the range.
///
/// One worker copies at once. A part that another worker takes, the first one even before the first element,
/// is marked first, one bit an element, and copied when it is known how many elements come before it. If
/// there is no memory for the bits, one worker copies all.
struct copy_if_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, std::random_access_iterator O, class Pred, class Proj = std::identity>
    requires detail::sequence<I, S> std::ranges::copy_if_result<I, O>
    operator()(I first, S last, O out, Pred pred, Proj proj = {}) const {
        return detail::copy_selected(first, last, out, pred, proj);
    }
    /// For a range.
    template <detail::sequence_range R, std::random_access_iterator O, detail::no_iterator Pred,
              class Proj = std::identity>
    std::ranges::copy_if_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, Pred pred, Proj proj = {}) const {
        return detail::copy_selected(std::ranges::begin(range), std::ranges::end(range), out, pred, proj);
    }
};
/// `copy_if`, to be called as a function.
inline constexpr copy_if_algorithm copy_if{};

/// Returns a vector of the elements with pred(proj(element)), in order.
///
/// Marks all elements first, one bit each, then allocates the exact size. If T has a default constructor
/// and can be assigned, the elements are copied in parallel, otherwise in order. Throws std::bad_alloc if
/// there is no memory.
struct filter_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::sequence<I, S>
    [[nodiscard]] std::vector<std::iter_value_t<I>> operator()(I first, S last, Pred pred,
                                                               Proj proj = {}) const {
        return detail::filtered<std::iter_value_t<I>>(first, last, pred, proj);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    [[nodiscard]] std::vector<std::ranges::range_value_t<R>> operator()(R&& range, Pred pred,
                                                                        Proj proj = {}) const {
        return detail::filtered<std::ranges::range_value_t<R>>(std::ranges::begin(range),
                                                               std::ranges::end(range), pred, proj);
    }
};
/// `filter`, to be called as a function.
inline constexpr filter_algorithm filter{};

/// Moves the elements without pred(proj(element)) to the front, in order. Returns the rest, whose elements
/// are valid and unspecified. Allocates nothing: a part of another worker is moved once more.
struct remove_if_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::sequence<I, S> std::ranges::subrange<I>
    operator()(I first, S last, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::removed(first, last, pred, proj, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    std::ranges::borrowed_subrange_t<R> operator()(R&& range, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::removed(std::ranges::begin(range), std::ranges::end(range), pred, proj, g);
    }
};
/// `remove_if`, to be called as a function.
inline constexpr remove_if_algorithm remove_if{};

/// Keeps the first of every run of equal elements, in order. Returns the rest, as remove_if does. `same` has
/// to be an equivalence. Allocates nothing.
struct unique_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Same = std::ranges::equal_to, class Proj = std::identity>
    requires detail::sequence<I, S> std::ranges::subrange<I>
    operator()(I first, S last, Same same = {}, Proj proj = {}, grain g = {}) const {
        return detail::made_unique(first, last, same, proj, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Same = std::ranges::equal_to,
              class Proj = std::identity>
    std::ranges::borrowed_subrange_t<R> operator()(R&& range, Same same = {}, Proj proj = {},
                                                   grain g = {}) const {
        return detail::made_unique(std::ranges::begin(range), std::ranges::end(range), same, proj, g);
    }
};
/// `unique`, to be called as a function.
inline constexpr unique_algorithm unique{};

/// Swaps the elements with pred(proj(element)) to the front, in any order. Returns the others. Allocates
/// nothing.
struct partition_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::sequence<I, S> std::ranges::subrange<I>
    operator()(I first, S last, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::partitioned(first, last, pred, proj, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    std::ranges::borrowed_subrange_t<R> operator()(R&& range, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::partitioned(std::ranges::begin(range), std::ranges::end(range), pred, proj, g);
    }
};
/// `partition`, to be called as a function.
inline constexpr partition_algorithm partition{};

} // namespace v0
} // namespace pilfer
