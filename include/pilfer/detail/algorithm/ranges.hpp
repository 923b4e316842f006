// Iterators, ranges and functions of the algorithms.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iterator>
#include <type_traits>
#include <utility>

#include <pilfer/detail/parallel/ends.hpp>
#include <pilfer/detail/scope/range.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A random-access iterator and what ends its range.
template <class I, class S>
concept sequence = std::random_access_iterator<I> && reachable_end<S, I>;

/// A forward iterator and what ends its range. If it has no random access, one walk collects iterators.
template <class I, class S>
concept walk = std::forward_iterator<I> && reachable_end<S, I>;

/// What may follow a range R: if R is an array, which is an iterator as well, no end of it. Otherwise
/// f(array, array + n, x) would be ambiguous. A type constraint of the argument after R.
template <class Next, class R>
concept no_end_of =
    !(std::random_access_iterator<std::decay_t<R>> && std::sentinel_for<Next, std::decay_t<R>>);

/// A function, and no iterator: keeps f(array, array + n, out, g) from taking `out` for the function.
template <class F>
concept no_iterator = !std::forward_iterator<F>;

/// The index-th element's iterator. Narrower than a cast of the caller's: a range may count in 32 bits.
template <class I>
[[nodiscard]] PILFER_ALWAYS_INLINE I at(I first, std::uint64_t index) {
    return first + static_cast<std::iter_difference_t<I>>(index);
}

/// The number of elements. A sentinel that cannot be subtracted is searched for, one step at a time.
template <class I, class S>
[[nodiscard]] std::uint64_t length(I first, S last) {
    const auto n = std::ranges::distance(first, last);
    return n > 0 ? static_cast<std::uint64_t>(n) : 0;
}

/// The number of elements, but at most `most`.
template <class I, class S>
[[nodiscard]] std::uint64_t length_within(I first, S last, std::uint64_t most) {
    if constexpr (std::same_as<S, std::unreachable_sentinel_t>) {
        return most;
    } else if constexpr (std::sized_sentinel_for<S, I>) {
        const std::uint64_t n = detail::length(first, last);
        return n < most ? n : most;
    } else {
        std::uint64_t n = 0;
        for (; n != most && first != last; ++n) {
            ++first;
        }
        return n;
    }
}

/// The type of f(element) as a value. Of an element itself it is the range's value type: its reference may be
/// a proxy, as that of std::vector<bool>.
template <class F, class I>
using value_of = std::conditional_t<std::is_same_v<F, std::identity>, std::iter_value_t<I>,
                                    std::decay_t<std::indirect_result_t<F&, I>>>;

/// The function that an inner loop calls: a copy whose captures stay in registers if no thread can observe
/// the copy, otherwise a reference.
template <class F, class... Arguments>
using close_call = kept_close<F, Arguments...>;

} // namespace detail
} // namespace v0
} // namespace pilfer
