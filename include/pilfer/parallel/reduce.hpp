// reduce: map every element and combine the results in index order, grouped the same way on every schedule.
#pragma once

#include <concepts>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include <pilfer/detail/parallel/tree.hpp>
#include <pilfer/parallel/grain.hpp>
#include <pilfer/parallel/position.hpp>

namespace pilfer {
inline namespace v0 {

/// Returns init combined with map(x) for every x of [first, last) in index order: integers give map(i),
/// random-access iterators map(*it). Integers have up to 64 bits, as for for_each. `combine` must be
/// associative, it need not commute; `init` is used exactly once, at the front.
///
/// The elements are grouped as a binary tree. It depends on their number, on the types and on the grain, but
/// not on workers or thieves: floating-point results have the same bits on every run and any number of
/// workers. Sums and products of double and float, and of other numbers in memory, take several numbers at
/// once in blocks of up to 512.
///
/// T needs to be movable and constructible from what `map` returns. Exceptions as for for_each. Cost on one
/// worker: one combine per element and a clock reading per piece of about 4 us.
template <loop_position I, class T, class Map, class Combine>
requires(!std::is_same_v<Combine, grain>) [[nodiscard]] T
    reduce(I first, I last, T init, Map map, Combine combine, grain g = {}) {
    if (!(first < last)) {
        return init;
    }
    return detail::in_loop([&](detail::common_report report) -> T {
        T all = detail::reduce_tree<T>(first, detail::range_size(first, last), map, combine, g, report);
        return detail::as_part(
            report, [&]() -> T { return detail::combined<T>(combine, std::move(init), std::move(all)); });
    });
}

/// Bounds of two types: write reduce(std::size_t{0}, v.size(), init, map, combine).
template <std::integral I, std::integral J, class T, class Map, class Combine>
requires(!std::same_as<I, J>) T reduce(I first, J last, T init, Map map, Combine combine, grain g = {})
= delete; // two types

} // namespace v0
} // namespace pilfer
