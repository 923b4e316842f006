// The cold calls that templates make into a worker: what its back-end does, and counts.
#include <atomic>

#include "worker/team.hpp"

#include <pilfer/detail/base/race.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

bool announce_signalled(worker* w, task_word task, way may) noexcept {
    return backend_of(w).announce(*static_cast<scheduler*>(w), task, may);
}

bool announce_weighted(worker* w, task_word task, std::uint64_t weight, way may) noexcept {
    if (weight == 1) {
        return announce(w, task, may); // needs no scales
    }
#if defined(PILFER_TEST)
    counts_fork(w, task);
#endif
    san::release(reinterpret_cast<const void*>(task & ~kind_mask));
    return backend_of(w).announce_weighted(*static_cast<scheduler*>(w), task, weight, may);
}

void attend(worker* w) noexcept { backend_of(w).attend(*static_cast<scheduler*>(w)); }

worker* reclaim_slow(worker* w, task_word task) noexcept {
    return backend_of(w).reclaim(*static_cast<scheduler*>(w), task);
}

void suspend(worker* w, suspension& s) noexcept { backend_of(w).suspend(*static_cast<scheduler*>(w), s); }

void make_runnable(suspension* s) noexcept {
    team& t = scheduler::of(s->home).crew();
    const team::pin_guard here(t);
    t.backend().make_runnable(*s);
}

bool backend::may_announce(const scheduler& w) const noexcept {
    return w.current.load(rlx) != nullptr; // on the stack of a scheduler nothing can be announced
}

void count_dropped(worker* w, std::uint64_t tasks) noexcept {
#if defined(PILFER_RACE)
    race::cannot_follow(race::left_out);
#endif
    if (w != nullptr) {
        static_cast<scheduler*>(w)->count.dropped.add(tasks);
    }
}

void count_plain_call(worker* w) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    self.count.no_context.add();
    self.log.note(trace::what::plain_call);
}

namespace {

// Accessed only through functions that are never inlined, not even by link-time optimisation. Otherwise a
// caller would keep the address across a switch, and then use the variable of its former thread.
thread_local std::atomic<std::uint64_t> last_suppressed = 0;

} // namespace

void count_suppressed(std::uint64_t others) noexcept {
    if (worker* w = this_worker(); w != nullptr && others != 0) {
        static_cast<scheduler*>(w)->count.exceptions_suppressed.add(others);
    }
}

PILFER_NOINLINE void note_suppressed(std::uint64_t others) noexcept { last_suppressed.store(others, rlx); }

} // namespace detail
PILFER_NOINLINE std::uint64_t suppressed_exceptions() noexcept {
    return detail::last_suppressed.load(detail::rlx);
}

} // namespace v0
} // namespace pilfer
