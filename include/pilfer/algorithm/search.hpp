// Searches: count, find, any_of, all_of, none_of, adjacent_find.
//
// All of them: the elements are only read, and nothing is allocated for iterators with random access. Of
// other forward iterators one walk collects those of all elements; a search walks as far as twice the way to
// its result. Functions are called from several workers at once. Exceptions and cancellation as for for_each.
// Results are those of std::ranges.
//
// A search that has found something begins no further piece after it, and the lowest index wins. Functions
// may have been called for elements after the result by then, and not for all elements in front of an
// exception. So std::unreachable_sentinel is refused: the result may be the last element that there is.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <pilfer/detail/algorithm/search.hpp>

namespace pilfer {
inline namespace v0 {

/// The number of elements with pred(proj(element)).
struct count_if_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] std::iter_difference_t<I> operator()(I first, S last, Pred pred, Proj proj = {},
                                                       grain g = {}) const {
        return detail::count_all(first, last, pred, proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    [[nodiscard]] std::ranges::range_difference_t<R> operator()(R&& range, Pred pred, Proj proj = {},
                                                                grain g = {}) const {
        return detail::count_all(std::ranges::begin(range), std::ranges::end(range), pred, proj, g);
    }
};
/// `count_if`, to be called as a function.
inline constexpr count_if_algorithm count_if{};

/// The number of elements with proj(element) == value.
struct count_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class T, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] std::iter_difference_t<I> operator()(I first, S last, const T& value, Proj proj = {},
                                                       grain g = {}) const {
        return detail::count_all(first, last, detail::equals_to<T>{value}, proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> T, class Proj = std::identity>
    [[nodiscard]] std::ranges::range_difference_t<R> operator()(R&& range, const T& value, Proj proj = {},
                                                                grain g = {}) const {
        return detail::count_all(std::ranges::begin(range), std::ranges::end(range),
                                 detail::equals_to<T>{value}, proj, g);
    }
};
/// `count`, to be called as a function.
inline constexpr count_algorithm count{};

/// The first element with pred(proj(element)), or the end.
struct find_if_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] I operator()(I first, S last, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::find_first(first, last, pred, proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    [[nodiscard]] std::ranges::borrowed_iterator_t<R> operator()(R&& range, Pred pred, Proj proj = {},
                                                                 grain g = {}) const {
        return detail::find_first(std::ranges::begin(range), std::ranges::end(range), pred, proj, g);
    }
};
/// `find_if`, to be called as a function.
inline constexpr find_if_algorithm find_if{};

/// The first element without pred(proj(element)), or the end.
struct find_if_not_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] I operator()(I first, S last, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::find_first(first, last, std::not_fn(std::ref(pred)), proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    [[nodiscard]] std::ranges::borrowed_iterator_t<R> operator()(R&& range, Pred pred, Proj proj = {},
                                                                 grain g = {}) const {
        return detail::find_first(std::ranges::begin(range), std::ranges::end(range),
                                  std::not_fn(std::ref(pred)), proj, g);
    }
};
/// `find_if_not`, to be called as a function.
inline constexpr find_if_not_algorithm find_if_not{};

/// The first element with proj(element) == value, or the end.
struct find_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class T, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] I operator()(I first, S last, const T& value, Proj proj = {}, grain g = {}) const {
        return detail::find_first(first, last, detail::equals_to<T>{value}, proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> T, class Proj = std::identity>
    [[nodiscard]] std::ranges::borrowed_iterator_t<R> operator()(R&& range, const T& value, Proj proj = {},
                                                                 grain g = {}) const {
        return detail::find_first(std::ranges::begin(range), std::ranges::end(range),
                                  detail::equals_to<T>{value}, proj, g);
    }
};
/// `find`, to be called as a function.
inline constexpr find_algorithm find{};

/// True if pred(proj(element)) holds for any element.
struct any_of_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] bool operator()(I first, S last, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::holds_for_any(first, last, pred, proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    [[nodiscard]] bool operator()(R&& range, Pred pred, Proj proj = {}, grain g = {}) const {
        return detail::holds_for_any(std::ranges::begin(range), std::ranges::end(range), pred, proj, g);
    }
};
/// `any_of`, to be called as a function.
inline constexpr any_of_algorithm any_of{};

/// True if pred(proj(element)) holds for all elements.
struct all_of_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] bool operator()(I first, S last, Pred pred, Proj proj = {}, grain g = {}) const {
        return !detail::holds_for_any(first, last, std::not_fn(std::ref(pred)), proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    [[nodiscard]] bool operator()(R&& range, Pred pred, Proj proj = {}, grain g = {}) const {
        return !detail::holds_for_any(std::ranges::begin(range), std::ranges::end(range),
                                      std::not_fn(std::ref(pred)), proj, g);
    }
};
/// `all_of`, to be called as a function.
inline constexpr all_of_algorithm all_of{};

/// True if pred(proj(element)) holds for no element.
struct none_of_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred, class Proj = std::identity>
    requires detail::walk<I, S>
    [[nodiscard]] bool operator()(I first, S last, Pred pred, Proj proj = {}, grain g = {}) const {
        return !detail::holds_for_any(first, last, pred, proj, g);
    }
    /// For a range.
    template <detail::walk_range R, detail::no_end_of<R> Pred, class Proj = std::identity>
    [[nodiscard]] bool operator()(R&& range, Pred pred, Proj proj = {}, grain g = {}) const {
        return !detail::holds_for_any(std::ranges::begin(range), std::ranges::end(range), pred, proj, g);
    }
};
/// `none_of`, to be called as a function.
inline constexpr none_of_algorithm none_of{};

/// The first element a with pred(proj(a), proj(b)), if b is the next one; the end if there is none.
struct adjacent_find_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class Pred = std::ranges::equal_to, class Proj = std::identity>
    requires detail::sequence<I, S>
    [[nodiscard]] I operator()(I first, S last, Pred pred = {}, Proj proj = {}, grain g = {}) const {
        return detail::find_pair(first, last, pred, proj, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> Pred = std::ranges::equal_to,
              class Proj = std::identity>
    [[nodiscard]] std::ranges::borrowed_iterator_t<R> operator()(R&& range, Pred pred = {}, Proj proj = {},
                                                                 grain g = {}) const {
        return detail::find_pair(std::ranges::begin(range), std::ranges::end(range), pred, proj, g);
    }
};
/// `adjacent_find`, to be called as a function.
inline constexpr adjacent_find_algorithm adjacent_find{};

} // namespace v0
} // namespace pilfer
