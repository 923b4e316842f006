// Loops over elements: for_each of ranges, transform, copy, fill, generate, reverse, rotate.
//
// All of them: the elements are handled in any order and in parallel. Functions are called from several
// workers at once. Exceptions and cancellation as for for_each. Results are those of std::ranges. Names are
// function objects, as in std::ranges, so that they never meet those of std by ADL.
//
// Nothing is allocated for iterators with random access. for_each and transform also take other forward
// iterators: one walk collects those of all elements. Throws std::bad_alloc without memory for them.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <utility>

#include <pilfer/detail/algorithm/loops.hpp>
#include <pilfer/parallel/for_each.hpp>
#include <pilfer/parallel/grain.hpp>

namespace pilfer {
inline namespace v0 {

/// Calls body(proj(element)) for every element of a range; see for_each for two iterators.
template <detail::walk_range R, detail::no_end_of<R> Body, class Proj = std::identity>
void for_each(R&& range, Body body, Proj proj = {}, grain g = {}) {
    detail::each(std::ranges::begin(range), std::ranges::end(range), body, proj, g);
}

/// Calls body(element) for every element of [first, last), linked nodes. One walk collects their iterators.
template <std::forward_iterator I, detail::reachable_end<I> S, class Body>
requires(!loop_position<I>) void for_each(I first, S last, Body body) {
    std::identity same;
    detail::each(first, last, body, same, {});
}

/// Writes f(proj(a)) for every element a, or f(proj1(a), proj2(b)) for every pair of two ranges. The pairs
/// end with the shorter range; one of the two may have no end, as std::views::iota(0). `out` may be the
/// beginning of an input.
struct transform_algorithm {
    /// For the elements of [first, last). Two arrays and a function of two elements are two ranges.
    template <class I, class S, std::forward_iterator O, class F, class Proj = std::identity>
    requires detail::walk<I, S> && std::invocable<F&, std::indirect_result_t<Proj&, I>>
        std::ranges::unary_transform_result<I, O>
    operator()(I first, S last, O out, F f, Proj proj = {}, grain g = {}) const {
        return detail::transform_one(first, last, out, f, proj, g);
    }
    /// For a range.
    template <detail::walk_range R, std::forward_iterator O, detail::no_iterator F,
              class Proj = std::identity>
    std::ranges::unary_transform_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, F f, Proj proj = {}, grain g = {}) const {
        return detail::transform_one(std::ranges::begin(range), std::ranges::end(range), out, f, proj, g);
    }
    /// For two ranges that are given by iterators.
    template <std::forward_iterator I1, class S1, std::forward_iterator I2, class S2, std::forward_iterator O,
              class F, class Proj1 = std::identity, class Proj2 = std::identity>
    requires detail::reachable_ends<S1, I1, S2, I2> std::ranges::binary_transform_result<I1, I2, O>
    operator()(I1 first1, S1 last1, I2 first2, S2 last2, O out, F f, Proj1 proj1 = {}, Proj2 proj2 = {},
               grain g = {}) const {
        return detail::transform_two(first1, last1, first2, last2, out, f, proj1, proj2, g);
    }
    /// For two ranges.
    template <std::ranges::forward_range R1, std::ranges::forward_range R2, std::forward_iterator O, class F,
              class Proj1 = std::identity, class Proj2 = std::identity>
    requires detail::pair_of_ranges<R1, R2> std::ranges::binary_transform_result<
        std::ranges::borrowed_iterator_t<R1>, std::ranges::borrowed_iterator_t<R2>, O>
    operator()(R1&& range1, R2&& range2, O out, F f, Proj1 proj1 = {}, Proj2 proj2 = {}, grain g = {}) const {
        return detail::transform_two(std::ranges::begin(range1), std::ranges::end(range1),
                                     std::ranges::begin(range2), std::ranges::end(range2), out, f, proj1,
                                     proj2, g);
    }
};
/// `transform`, to be called as a function.
inline constexpr transform_algorithm transform{};

/// Copies a range to `out`, which must not overlap it.
struct copy_algorithm {
    /// For a range.
    template <class I, class S, std::random_access_iterator O>
    requires detail::sequence<I, S> std::ranges::copy_result<I, O>
    operator()(I first, S last, O out, grain g = {}) const { return detail::copy_all(first, last, out, g); }
    /// For a range.
    template <detail::sequence_range R, std::random_access_iterator O>
    std::ranges::copy_result<std::ranges::borrowed_iterator_t<R>, O> operator()(R&& range, O out,
                                                                                grain g = {}) const {
        return detail::copy_all(std::ranges::begin(range), std::ranges::end(range), out, g);
    }
};
/// `copy`, to be called as a function.
inline constexpr copy_algorithm copy{};

/// Gives every element a value. Returns the end. The value is copied first, so that it may be an element of
/// the range. A value that cannot be copied must not be one.
struct fill_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, class T>
    requires detail::sequence<I, S> I operator()(I first, S last, const T& value, grain g = {}) const {
        return detail::fill_all(first, last, value, g);
    }
    /// For a range.
    template <detail::sequence_range R, detail::no_end_of<R> T>
    std::ranges::borrowed_iterator_t<R> operator()(R&& range, const T& value, grain g = {}) const {
        return detail::fill_all(std::ranges::begin(range), std::ranges::end(range), value, g);
    }
};
/// `fill`, to be called as a function.
inline constexpr fill_algorithm fill{};

/// Gives every element its own gen(). The calls come in any order and from several workers. Returns the end.
struct generate_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, std::invocable F>
    requires detail::sequence<I, S> I operator()(I first, S last, F gen, grain g = {}) const {
        return detail::generate_all(first, last, gen, g);
    }
    /// For a range.
    template <detail::sequence_range R, std::invocable F>
    std::ranges::borrowed_iterator_t<R> operator()(R&& range, F gen, grain g = {}) const {
        return detail::generate_all(std::ranges::begin(range), std::ranges::end(range), gen, g);
    }
};
/// `generate`, to be called as a function.
inline constexpr generate_algorithm generate{};

/// Reverses a range in place. Returns the end.
struct reverse_algorithm {
    /// For the elements of [first, last).
    template <class I, class S>
    requires detail::sequence<I, S> I operator()(I first, S last, grain g = {}) const {
        return detail::reverse_all(first, last, g);
    }
    /// For a range.
    template <detail::sequence_range R>
    std::ranges::borrowed_iterator_t<R> operator()(R&& range, grain g = {}) const {
        return detail::reverse_all(std::ranges::begin(range), std::ranges::end(range), g);
    }
};
/// `reverse`, to be called as a function.
inline constexpr reverse_algorithm reverse{};

/// Makes `middle` the first element, by three reversals: two swaps an element. Returns the range from the old
/// first element's new place to the end.
struct rotate_algorithm {
    /// For the elements of [first, last).
    template <class I, class S>
    requires detail::sequence<I, S> std::ranges::subrange<I>
    operator()(I first, I middle, S last, grain g = {}) const {
        return detail::rotate_all(first, middle, last, g);
    }
    /// For a range.
    template <detail::sequence_range R>
    std::ranges::borrowed_subrange_t<R> operator()(R&& range, std::ranges::iterator_t<R> middle,
                                                   grain g = {}) const {
        return detail::rotate_all(std::ranges::begin(range), middle, std::ranges::end(range), g);
    }
};
/// `rotate`, to be called as a function.
inline constexpr rotate_algorithm rotate{};

} // namespace v0
} // namespace pilfer
