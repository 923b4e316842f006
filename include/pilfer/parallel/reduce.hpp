// reduce: map every element and combine the results in index order.
#pragma once

#include <utility>

#include <pilfer/detail/scope/range.hpp>
#include <pilfer/parallel/position.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// Returns init combined with map(x) for every x of [first, last) in index order: integers give map(i),
/// random-access iterators map(*it). Integers have up to 64 bits, as for for_each. `combine` must be
/// associative, it need not commute; `init` is used exactly once, at the front. How the elements are grouped
/// depends on who was idle.
///
/// T needs to be movable. Exceptions as for for_each. Cost on one worker: one combine per element and a
/// clock reading per piece of about 4 us.
template <loop_position I, class T, class Map, class Combine>
[[nodiscard]] T reduce(I first, I last, T init, Map map, Combine combine) {
    if (!(first < last)) {
        return init;
    }
    auto whole = [&]() -> T {
        return detail::reporting([&](detail::common_report report) {
            return detail::reduce_range(first, last, std::move(init), map, combine, report, {});
        });
    };
    return detail::this_worker() != nullptr ? whole() : pool::common().run(whole);
}

} // namespace v0
} // namespace pilfer
