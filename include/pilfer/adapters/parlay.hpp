// The scheduler of parlaylib on the common pool: include this before any header of parlaylib, in every file.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include <pilfer/join.hpp>
#include <pilfer/parallel/for_each.hpp>
#include <pilfer/pool.hpp>

#if defined(PARLAY_PARALLEL_H_)
#error "pilfer: include <pilfer/adapters/parlay.hpp> before the headers of parlaylib"
#endif

#if __has_include(<parlay/parallel.h>)
// parlaylib has a fixed list of schedulers. This one takes the place of its serial one: the guard keeps that
// out.
#if !defined(PARLAY_SEQUENTIAL)
#define PARLAY_SEQUENTIAL
#endif
#define PARLAY_INTERNAL_SCHEDULER_PLUGINS_SEQUENTIAL_H_
#include <parlay/parallel.h>
#else
namespace parlay {
/// The declarations of parlaylib, for programs that only use these four functions.
inline std::size_t num_workers();
inline std::size_t worker_id();
template <class F>
void parallel_for(std::size_t start, std::size_t end, F&& f, long granularity = 0, bool conservative = false);
template <class Left, class Right>
void par_do(Left&& left, Right&& right, bool conservative = false);
} // namespace parlay
#endif

namespace parlay {

/// One more than the largest number that worker_id() may return.
inline std::size_t num_workers() {
    const pilfer::options& o = pilfer::pool::common().settings();
    return o.max_workers + (o.backend == pilfer::backend::one_lock ? o.max_extra_workers : o.attachable);
}

/// The number of the worker of the common pool that calls; 0 on any other thread. After a loop or par_do()
/// the caller may be on another worker.
inline std::size_t worker_id() {
    const pilfer::detail::worker* w = pilfer::detail::this_worker();
    return w != nullptr && w->pool == &pilfer::pool::common().core() ? w->index : 0;
}

/// Calls f(i) for each i of [start, end), in parallel in the common pool. A loop of at most `granularity`
/// iterations is serial; any other is cut when a worker is idle. Throws the first exception of `f`.
template <class F>
void parallel_for(std::size_t start, std::size_t end, F&& f, long granularity, bool) {
    static_assert(std::is_invocable_v<F&, std::size_t>);
    if (start >= end) {
        return;
    }
    if (end - start == 1 || (granularity > 0 && end - start <= static_cast<std::size_t>(granularity))) {
        for (; start != end; ++start) {
            f(start);
        }
        return;
    }
    pilfer::pool::common().run([&] { pilfer::for_each(start, end, [&f](std::size_t i) { f(i); }); });
}

/// Calls both functions, in parallel in the common pool. Throws the first exception of one.
template <class Left, class Right>
void par_do(Left&& left, Right&& right, bool) {
    static_assert(std::is_invocable_v<Left&&> && std::is_invocable_v<Right&&>);
    pilfer::pool::common().run([&] {
        (void)pilfer::join([&] { std::forward<Left>(left)(); }, [&] { std::forward<Right>(right)(); });
    });
}

/// Only with parlaylib's own scheduler.
template <class... F>
void execute_with_scheduler(F...) {
    static_assert(sizeof...(F) == std::size_t(-1),
                  "parlay::execute_with_scheduler needs parlaylib's own scheduler");
}

} // namespace parlay
