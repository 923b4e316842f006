// for_each: a loop whose range is halved only when somebody wants work.
#pragma once

#include <pilfer/detail/scope/range.hpp>
#include <pilfer/parallel/position.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// Calls body(i) for every integer of up to 64 bits in [first, last), or body(*it) for every element of a
/// random-access range, in any order and in parallel. An empty or reversed range does nothing. Nothing is
/// allocated.
///
/// A range is split where somebody asks and nothing older is on offer; once before the first iteration, and
/// at every iteration that takes longer than a piece, it is announced by halves unasked, so that idle workers
/// reach the rest of a loop whose body is long.
///
/// The first exception is rethrown after all running parts have ended. Parts that nobody had started are
/// left out; one that runs meanwhile on another worker ends with its piece. `body` is shared by all
/// workers, it must be callable from several at once: a small closure whose call is const may be called
/// through a copy of its bytes.
///
/// Cost on one worker: a call and a clock reading per piece of about 4 us, nothing per iteration; about 10 ns
/// more than an empty call for a loop of two iterations or more (docs/loops.md). Source of lazy splitting:
/// Tzannes, Caragea, Barua and Vishkin, PPoPP 2010.
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

} // namespace v0
} // namespace pilfer
