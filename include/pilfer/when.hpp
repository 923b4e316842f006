// when_all, when_any: one future for several.
#pragma once

#include <cstddef>
#include <iterator>
#include <tuple>
#include <utility>
#include <vector>

#include <pilfer/detail/future/when.hpp>
#include <pilfer/future.hpp>

namespace pilfer {
inline namespace v0 {

/// The result of when_any(): all futures in their order, and the index of one that is ready.
template <class Sequence>
struct when_any_result {
    std::size_t index = static_cast<std::size_t>(-1); ///< the largest value if there are no futures
    Sequence futures;                                 ///< all futures, as they were given
};

/// A future that is ready when all of `futures` are, with a tuple of them. It never holds an exception
/// itself. No thread waits and no task runs for it. It belongs to no pool: then() on it runs in the pool of
/// the caller. Throws usage_error if a future refers to nothing, std::bad_alloc; then nothing has happened.
/// Two allocations.
template <class... Ts>
[[nodiscard]] auto when_all(future<Ts>... futures) -> future<std::tuple<future<Ts>...>> {
    return detail::all_of(std::tuple<future<Ts>...>(std::move(futures)...));
}
/// As above, with a vector. Without futures it is ready.
template <class T>
[[nodiscard]] auto when_all(std::vector<future<T>> futures) -> future<std::vector<future<T>>> {
    return detail::all_of(std::move(futures));
}
/// As when_all() of a vector, of a range of futures.
template <detail::future_iterator It, std::sentinel_for<It> End>
[[nodiscard]] auto when_all(It first, End last) -> future<std::vector<std::iter_value_t<It>>> {
    std::vector<std::iter_value_t<It>> futures;
    for (; first != last; ++first) {
        futures.push_back(*first);
    }
    return detail::all_of(std::move(futures));
}

/// A future that is ready when one of `futures` is, with its index and all of them. Throws and costs as
/// when_all(). Some bytes for each future live on until that one ends: do not call it again and again with a
/// future that never ends.
template <class... Ts>
[[nodiscard]] auto when_any(future<Ts>... futures) -> future<when_any_result<std::tuple<future<Ts>...>>> {
    return detail::any_of(std::tuple<future<Ts>...>(std::move(futures)...));
}
/// As above, with a vector. Without futures it is ready, without an index.
template <class T>
[[nodiscard]] auto when_any(std::vector<future<T>> futures)
    -> future<when_any_result<std::vector<future<T>>>> {
    return detail::any_of(futures);
}
/// As when_any() of a vector, of a range of futures.
template <detail::future_iterator It, std::sentinel_for<It> End>
[[nodiscard]] auto when_any(It first, End last)
    -> future<when_any_result<std::vector<std::iter_value_t<It>>>> {
    std::vector<std::iter_value_t<It>> futures;
    for (; first != last; ++first) {
        futures.push_back(*first);
    }
    return detail::any_of(futures);
}

} // namespace v0
} // namespace pilfer
