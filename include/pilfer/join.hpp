// join: run several functions, perhaps in parallel, and return all results.
#pragma once

#include <utility>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/scope/join.hpp>
#include <pilfer/detail/task/branch.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// Runs f on this task's own stack and offers the other functions to idle workers meanwhile. Functions that
/// no worker took follow in order on this stack. Returns all results; void gives std::monostate, references
/// stay references. Nothing is allocated.
///
/// The first exception in the order of arrival at this frame is rethrown with its own type after every
/// function has ended; functions that had not started are dropped and counted one by one, on whatever worker
/// they are, further exceptions too (suppressed_exceptions()). Functions that run on other workers when one
/// throws are cancelled, as by scope::cancel(); not holders of locks. The function that runs on this stack
/// runs to its end. `stopped` is no such exception: one of another function goes out instead. Outside a pool
/// the whole join runs in pool::common().
///
/// Cost when nothing is stolen: about a function call for each function but the first; no atomic
/// read-modify-write, no fence. Source: the "clone optimisation" of Cilk and Lace's spawn and sync.
template <class F, class G, class... H>
PILFER_ALWAYS_INLINE auto join(F&& f, G&& g, H&&... h) {
    detail::worker* w = detail::this_worker();
    if (w == nullptr) [[unlikely]] {
        // Copies of what was passed as a temporary, so that the usual closure needs no address.
        return detail::join_outside(detail::kept<F>(std::forward<F>(f)), detail::kept<G>(std::forward<G>(g)),
                                    detail::kept<H>(std::forward<H>(h))...);
    }
    return detail::join_all(w, f, g, h...);
}

} // namespace v0
} // namespace pilfer
