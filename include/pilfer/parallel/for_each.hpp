// for_each: a loop whose range is halved only when somebody wants work.
#pragma once

#include <concepts>
#include <iterator>

#include <pilfer/detail/range.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// Calls body(i) for every integer in [first, last), or body(*it) for every element of a random-access
/// range, in any order and in parallel. An empty or reversed range does nothing. Nothing is allocated.
///
/// The first exception is rethrown after all running parts have ended. Parts that nobody had started are
/// left out; one that runs meanwhile on another worker finishes all its iterations. `body` is shared by all
/// workers, it must be callable from several at once.
///
/// Cost on one worker: a clock reading per piece of about 4 us, nothing per iteration. Source of lazy
/// splitting: Tzannes, Caragea, Barua and Vishkin, PPoPP 2010.
template <class I, class Body>
requires std::integral<I> || std::random_access_iterator<I>
void for_each(I first, I last, Body body) {
    if (!(first < last)) {
        return;
    }
    auto whole = [&] {
        detail::reporting(
            [&](detail::common_report report) { detail::run_range(first, last, body, report); });
    };
    if (detail::this_worker() != nullptr) {
        whole();
    } else {
        pool::common().run(whole);
    }
}

} // namespace v0
} // namespace pilfer
