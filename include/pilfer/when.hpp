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

/// What when_any() gives: all the futures as they were given, and the number of one that is ready.
template <class Sequence>
struct when_any_result {
    std::size_t index = static_cast<std::size_t>(-1); ///< of none where there are none
    Sequence futures;
};

/// Ready when all of them are, with a tuple of them. It never holds an exception: those of the futures are in
/// them. Nobody waits and no task runs for it. Throws usage_error if one refers to nothing, std::bad_alloc;
/// then nothing has happened. Two allocations.
///
/// Like a promise, what comes back belongs to no pool: then() on it runs in the caller's.
template <class... Ts>
[[nodiscard]] auto when_all(future<Ts>... futures) -> future<std::tuple<future<Ts>...>> {
    return detail::all_of(std::tuple<future<Ts>...>(std::move(futures)...));
}
/// The same with a vector. Of none: ready.
template <class T>
[[nodiscard]] auto when_all(std::vector<future<T>> futures) -> future<std::vector<future<T>>> {
    return detail::all_of(std::move(futures));
}
template <detail::future_iterator It, std::sentinel_for<It> End>
[[nodiscard]] auto when_all(It first, End last) -> future<std::vector<std::iter_value_t<It>>> {
    std::vector<std::iter_value_t<It>> futures;
    for (; first != last; ++first) {
        futures.push_back(*first);
    }
    return detail::all_of(std::move(futures));
}

/// Ready when one of them is, with its index and all of them. Throws and costs what when_all() does. Some
/// bytes for each future live on until that one ends: do not call it without end with one that never does.
template <class... Ts>
[[nodiscard]] auto when_any(future<Ts>... futures) -> future<when_any_result<std::tuple<future<Ts>...>>> {
    return detail::any_of(std::tuple<future<Ts>...>(std::move(futures)...));
}
/// The same with a vector. Of none: ready, with no index.
template <class T>
[[nodiscard]] auto when_any(std::vector<future<T>> futures)
    -> future<when_any_result<std::vector<future<T>>>> {
    return detail::any_of(futures);
}
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
