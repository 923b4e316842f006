// for_each: a loop whose range is halved only when another worker wants work.
#pragma once

#include <concepts>

#include <pilfer/detail/scope/range.hpp>
#include <pilfer/parallel/position.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// Calls body(i) for every integer of up to 64 bits in [first, last), or body(*it) for every element of a
/// random-access range, in any order and in parallel. An empty or reversed range does nothing. Nothing is
/// allocated.
///
/// A range is split when another worker asks and nothing older is on offer. A loop with long iterations also
/// offers halves unasked, so that idle workers reach the rest.
///
/// The first exception is rethrown after all running parts have ended; parts that have not started are left
/// out. `body` is shared by all workers and must be callable from several at once. A small closure whose call
/// is const may be called through a copy of its bytes.
///
/// Cost on one worker: a call and a clock reading per piece of about 4 us, nothing per iteration.
/// Source of lazy splitting: Tzannes, Caragea, Barua and Vishkin, PPoPP 2010.
template <loop_position I, class Body>
void for_each(I first, I last, Body body) {
    if (!(first < last)) {
        return;
    }
    auto whole = [&] {
        detail::reporting(
            [&](detail::common_report report) { detail::run_range(first, last, body, report, {}); });
    };
    if (detail::this_worker() != nullptr) {
        whole();
    } else {
        pool::common().run(whole);
    }
}

/// Bounds of two types: write for_each(std::size_t{0}, v.size(), body).
template <std::integral I, std::integral J, class Body>
requires(!std::same_as<I, J>) void for_each(I first, J last, Body body) = delete; // two types

} // namespace v0
} // namespace pilfer
