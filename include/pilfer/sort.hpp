// sort, stable_sort, integer_sort, merge, nth_element, partial_sort, is_sorted, is_sorted_until.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <ranges>
#include <type_traits>
#include <utility>

#include <pilfer/algorithm/merge.hpp>
#include <pilfer/detail/parallel/ends.hpp>
#include <pilfer/detail/sort/base.hpp>
#include <pilfer/detail/sort/entry.hpp>
#include <pilfer/detail/sort/select.hpp>

namespace pilfer {
inline namespace v0 {

// All take the arguments of the std::ranges algorithm of their name and return what it returns. Ranges and
// iterators have random access. Comparisons, projections and keys are called by several workers at once. The
// first exception is rethrown after all running parts have ended; a cancelled task throws `stopped`. Both
// leave every element in the range once, unless a move has thrown. A comparison that is no strict weak order
// gives an unspecified order. A call from outside of a pool runs in pool::common() if it is worth a task.

/// Sorts; equal elements may change places. Numbers in their natural order are sorted by their digits,
/// strings by their characters, other elements by merging. O(n log n) comparisons. Memory: n elements; for
/// strings 4 bytes more an element, and at least 28. Without it, it sorts in place.
struct sort_function {
    /// For the elements of [first, last).
    template <std::random_access_iterator I, detail::reachable_end<I> S, class Comp = std::ranges::less,
              class Proj = std::identity>
    requires std::sortable<I, Comp, Proj> I operator()(I first, S last, Comp comp = {},
                                                       Proj proj = {}) const {
        const I end = std::ranges::next(first, last);
        detail::sorting::sort<false>(first, static_cast<std::size_t>(end - first), comp, proj);
        return end;
    }
    /// For a range.
    template <detail::sequence_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires std::sortable<std::ranges::iterator_t<R>, Comp, Proj> std::ranges::borrowed_iterator_t<R>
    operator()(R&& range, Comp comp = {}, Proj proj = {}) const {
        return (*this)(std::ranges::begin(range), std::ranges::end(range), std::move(comp), std::move(proj));
    }
};
/// `sort`, to be called as a function.
inline constexpr sort_function sort{};

/// Sorts; equal elements keep their order. O(n log n) comparisons. Memory: as for sort, or 2n numbers if
/// moves may throw; throws std::bad_alloc.
struct stable_sort_function {
    /// For the elements of [first, last).
    template <std::random_access_iterator I, detail::reachable_end<I> S, class Comp = std::ranges::less,
              class Proj = std::identity>
    requires std::sortable<I, Comp, Proj> I operator()(I first, S last, Comp comp = {},
                                                       Proj proj = {}) const {
        const I end = std::ranges::next(first, last);
        detail::sorting::sort<true>(first, static_cast<std::size_t>(end - first), comp, proj);
        return end;
    }
    /// For a range.
    template <detail::sequence_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires std::sortable<std::ranges::iterator_t<R>, Comp, Proj> std::ranges::borrowed_iterator_t<R>
    operator()(R&& range, Comp comp = {}, Proj proj = {}) const {
        return (*this)(std::ranges::begin(range), std::ranges::end(range), std::move(comp), std::move(proj));
    }
};
/// `stable_sort`, to be called as a function.
inline constexpr stable_sort_function stable_sort{};

/// Sorts by key(element), an unsigned integer of up to 64 bits; elements with equal keys keep their order.
/// An element has the same key at each call. O(n * bytes of the key). Memory: n elements, or 5n numbers if
/// the elements are not trivially copyable, cannot be copied, exceed 32 bytes or are not contiguous; throws
/// std::bad_alloc.
struct integer_sort_function {
    /// For the elements of [first, last).
    template <std::random_access_iterator I, detail::reachable_end<I> S, class Key = std::identity>
    requires std::permutable<I> &&
        std::unsigned_integral<std::remove_cvref_t<std::indirect_result_t<Key&, I>>>
            I operator()(I first, S last, Key key = {}) const {
        const I end = std::ranges::next(first, last);
        detail::sorting::integer_sort(first, static_cast<std::size_t>(end - first), key);
        return end;
    }
    /// For a range.
    template <detail::sequence_range R, class Key = std::identity>
    requires std::permutable<std::ranges::iterator_t<R>> &&
        std::unsigned_integral<std::remove_cvref_t<std::indirect_result_t<Key&, std::ranges::iterator_t<R>>>>
            std::ranges::borrowed_iterator_t<R>
    operator()(R&& range, Key key = {}) const {
        return (*this)(std::ranges::begin(range), std::ranges::end(range), std::move(key));
    }
};
/// `integer_sort`, to be called as a function.
inline constexpr integer_sort_function integer_sort{};

/// Puts the element to nth that a sort would put there, and none that is greater before it. O(n) comparisons
/// as a rule, O(n log n) at worst; no memory.
struct nth_element_function {
    /// For the elements of [first, last).
    template <std::random_access_iterator I, detail::reachable_end<I> S, class Comp = std::ranges::less,
              class Proj = std::identity>
    requires std::sortable<I, Comp, Proj> I operator()(I first, I nth, S last, Comp comp = {},
                                                       Proj proj = {}) const {
        const I end = std::ranges::next(first, last);
        detail::sorting::nth(first, nth, end, comp, proj);
        return end;
    }
    /// For a range.
    template <detail::sequence_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires std::sortable<std::ranges::iterator_t<R>, Comp, Proj> std::ranges::borrowed_iterator_t<R>
    operator()(R&& range, std::ranges::iterator_t<R> nth, Comp comp = {}, Proj proj = {}) const {
        return (*this)(std::ranges::begin(range), std::move(nth), std::ranges::end(range), std::move(comp),
                       std::move(proj));
    }
};
/// `nth_element`, to be called as a function.
inline constexpr nth_element_function nth_element{};

/// Sorts the least elements into [first, middle); the others follow in any order. Cost: nth_element, then a
/// sort of that part.
struct partial_sort_function {
    /// For the elements of [first, last).
    template <std::random_access_iterator I, detail::reachable_end<I> S, class Comp = std::ranges::less,
              class Proj = std::identity>
    requires std::sortable<I, Comp, Proj> I operator()(I first, I middle, S last, Comp comp = {},
                                                       Proj proj = {}) const {
        const I end = std::ranges::next(first, last);
        if (first != middle) {
            detail::sorting::nth(first, middle - 1, end, comp, proj);
            detail::sorting::sort<false>(first, static_cast<std::size_t>(middle - first), comp, proj);
        }
        return end;
    }
    /// For a range.
    template <detail::sequence_range R, class Comp = std::ranges::less, class Proj = std::identity>
    requires std::sortable<std::ranges::iterator_t<R>, Comp, Proj> std::ranges::borrowed_iterator_t<R>
    operator()(R&& range, std::ranges::iterator_t<R> middle, Comp comp = {}, Proj proj = {}) const {
        return (*this)(std::ranges::begin(range), std::move(middle), std::ranges::end(range), std::move(comp),
                       std::move(proj));
    }
};
/// `partial_sort`, to be called as a function.
inline constexpr partial_sort_function partial_sort{};

/// Returns the end of the longest sorted prefix. Parts after a break that was found are left out.
struct is_sorted_until_function {
    /// For the elements of [first, last).
    template <std::random_access_iterator I, detail::reachable_end<I> S, class Proj = std::identity,
              std::indirect_strict_weak_order<std::projected<I, Proj>> Comp = std::ranges::less>
    [[nodiscard]] I operator()(I first, S last, Comp comp = {}, Proj proj = {}) const {
        return detail::sorting::sorted_until(first, std::ranges::next(first, last), comp, proj);
    }
    /// For a range.
    template <detail::sequence_range R, class Proj = std::identity,
              std::indirect_strict_weak_order<std::projected<std::ranges::iterator_t<R>, Proj>> Comp =
                  std::ranges::less>
    [[nodiscard]] std::ranges::borrowed_iterator_t<R> operator()(R&& range, Comp comp = {},
                                                                 Proj proj = {}) const {
        return (*this)(std::ranges::begin(range), std::ranges::end(range), std::move(comp), std::move(proj));
    }
};
/// `is_sorted_until`, to be called as a function.
inline constexpr is_sorted_until_function is_sorted_until{};

/// True if no element is less than the one before it. Cost as for is_sorted_until.
struct is_sorted_function {
    /// For the elements of [first, last).
    template <std::random_access_iterator I, detail::reachable_end<I> S, class Proj = std::identity,
              std::indirect_strict_weak_order<std::projected<I, Proj>> Comp = std::ranges::less>
    [[nodiscard]] bool operator()(I first, S last, Comp comp = {}, Proj proj = {}) const {
        const I end = std::ranges::next(first, last);
        return detail::sorting::sorted_until(first, end, comp, proj) == end;
    }
    /// For a range.
    template <detail::sequence_range R, class Proj = std::identity,
              std::indirect_strict_weak_order<std::projected<std::ranges::iterator_t<R>, Proj>> Comp =
                  std::ranges::less>
    [[nodiscard]] bool operator()(R&& range, Comp comp = {}, Proj proj = {}) const {
        return (*this)(std::ranges::begin(range), std::ranges::end(range), std::move(comp), std::move(proj));
    }
};
/// `is_sorted`, to be called as a function.
inline constexpr is_sorted_function is_sorted{};

} // namespace v0
} // namespace pilfer
