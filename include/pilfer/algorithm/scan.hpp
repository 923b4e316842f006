// Prefix sums: inclusive_scan, exclusive_scan and both with a map.
//
// All of them: `combine` must be associative, it need not commute. Results have the same bits on every
// schedule and any number of workers, because blocks depend on the number of elements and on the grain alone.
// Every element, or what the map returns for it, is converted to the type of the sums first.
// `out` may be the beginning of the input, and must not overlap it otherwise. Exceptions and cancellation as
// for for_each. Parameters have std's order; the results are those of std::ranges.
//
// Cost: a pool of one worker reads and writes every element once, and combines it twice unless the sums are
// integers and `combine` is an operation of the header functional. What another worker passes ahead is read
// twice; the first such part is offered before the first element. It allocates one T a block; if there is no
// memory, the scan goes on without it.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include <pilfer/detail/algorithm/scan.hpp>
#include <pilfer/parallel/grain.hpp>

namespace pilfer {
inline namespace v0 {

/// Writes for every element the combination of all elements up to it; `init`, if given, comes before the
/// first.
struct inclusive_scan_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, std::random_access_iterator O, class Combine = std::plus<>>
    requires detail::sequence<I, S> std::ranges::in_out_result<I, O>
    operator()(I first, S last, O out, Combine combine = {}, grain g = {}) const {
        std::identity same;
        return detail::scan_from_first(first, last, out, same, combine, g);
    }
    /// For a range.
    template <detail::sequence_range R, std::random_access_iterator O,
              detail::no_iterator Combine = std::plus<>>
    std::ranges::in_out_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, Combine combine = {}, grain g = {}) const {
        std::identity same;
        return detail::scan_from_first(std::ranges::begin(range), std::ranges::end(range), out, same, combine,
                                       g);
    }
    /// For the elements of [first, last), after an initial value.
    template <class I, class S, std::random_access_iterator O, class Combine, class T>
    requires detail::sequence<I, S> std::ranges::in_out_result<I, O>
    operator()(I first, S last, O out, Combine combine, T init, grain g = {}) const {
        std::identity same;
        return detail::scan_all<true>(first, last, out, std::move(init), same, combine, g);
    }
    /// For a range, after an initial value.
    template <detail::sequence_range R, std::random_access_iterator O, detail::no_iterator Combine, class T>
    std::ranges::in_out_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, Combine combine, T init, grain g = {}) const {
        std::identity same;
        return detail::scan_all<true>(std::ranges::begin(range), std::ranges::end(range), out,
                                      std::move(init), same, combine, g);
    }
};
/// `inclusive_scan`, to be called as a function.
inline constexpr inclusive_scan_algorithm inclusive_scan{};

/// Writes for every element the combination of `init` with all elements before it.
struct exclusive_scan_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, std::random_access_iterator O, class T, class Combine = std::plus<>>
    requires detail::sequence<I, S> std::ranges::in_out_result<I, O>
    operator()(I first, S last, O out, T init, Combine combine = {}, grain g = {}) const {
        std::identity same;
        return detail::scan_all<false>(first, last, out, std::move(init), same, combine, g);
    }
    /// For a range.
    template <detail::sequence_range R, std::random_access_iterator O, class T, class Combine = std::plus<>>
    requires std::invocable<Combine&, T, T> std::ranges::in_out_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, T init, Combine combine = {}, grain g = {}) const {
        std::identity same;
        return detail::scan_all<false>(std::ranges::begin(range), std::ranges::end(range), out,
                                       std::move(init), same, combine, g);
    }
};
/// `exclusive_scan`, to be called as a function.
inline constexpr exclusive_scan_algorithm exclusive_scan{};

/// An inclusive scan of map(element).
struct transform_inclusive_scan_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, std::random_access_iterator O, class Combine, class Map>
    requires detail::sequence<I, S> std::ranges::in_out_result<I, O>
    operator()(I first, S last, O out, Combine combine, Map map, grain g = {}) const {
        return detail::scan_from_first(first, last, out, map, combine, g);
    }
    /// For a range.
    template <detail::sequence_range R, std::random_access_iterator O, detail::no_iterator Combine, class Map>
    std::ranges::in_out_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, Combine combine, Map map, grain g = {}) const {
        return detail::scan_from_first(std::ranges::begin(range), std::ranges::end(range), out, map, combine,
                                       g);
    }
    /// For the elements of [first, last), after an initial value.
    template <class I, class S, std::random_access_iterator O, class Combine, class Map, class T>
    requires detail::sequence<I, S> std::ranges::in_out_result<I, O>
    operator()(I first, S last, O out, Combine combine, Map map, T init, grain g = {}) const {
        return detail::scan_all<true>(first, last, out, std::move(init), map, combine, g);
    }
    /// For a range, after an initial value.
    template <detail::sequence_range R, std::random_access_iterator O, detail::no_iterator Combine, class Map,
              class T>
    std::ranges::in_out_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, Combine combine, Map map, T init, grain g = {}) const {
        return detail::scan_all<true>(std::ranges::begin(range), std::ranges::end(range), out,
                                      std::move(init), map, combine, g);
    }
};
/// `transform_inclusive_scan`, to be called as a function.
inline constexpr transform_inclusive_scan_algorithm transform_inclusive_scan{};

/// An exclusive scan of map(element).
struct transform_exclusive_scan_algorithm {
    /// For the elements of [first, last).
    template <class I, class S, std::random_access_iterator O, class T, class Combine, class Map>
    requires detail::sequence<I, S> std::ranges::in_out_result<I, O>
    operator()(I first, S last, O out, T init, Combine combine, Map map, grain g = {}) const {
        return detail::scan_all<false>(first, last, out, std::move(init), map, combine, g);
    }
    /// For a range.
    template <detail::sequence_range R, std::random_access_iterator O, class T, class Combine, class Map>
    std::ranges::in_out_result<std::ranges::borrowed_iterator_t<R>, O>
    operator()(R&& range, O out, T init, Combine combine, Map map, grain g = {}) const {
        return detail::scan_all<false>(std::ranges::begin(range), std::ranges::end(range), out,
                                       std::move(init), map, combine, g);
    }
};
/// `transform_exclusive_scan`, to be called as a function.
inline constexpr transform_exclusive_scan_algorithm transform_exclusive_scan{};

} // namespace v0
} // namespace pilfer
