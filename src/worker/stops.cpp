// Cancellation: who is stopped, and how those learn of it. States and edges: ../scope/README.md.
#include <pilfer/cancel.hpp>

#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "worker/forked.hpp"
#include "worker/pool_core.hpp"
#include "worker/stops.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

cancellations<std_atom, futex_park> all;
/// Linked by pool_core::next_to_stop. Under the lock of `all`: not the registry's, which a report holds for
/// long.
pool_core* pools = nullptr;
/// What a cancellation that is under way has found. Under the same lock; code of the user runs behind it.
told_source* told_sources = nullptr;

template <class F>
void each_worker(F f) noexcept {
    for (pool_core* p = pools; p != nullptr; p = p->next_to_stop) {
        for (unsigned i = 0; i < p->schedulers(); ++i) {
            f(p->at(i));
        }
    }
}
const auto each_trip = [](auto tell) noexcept {
    each_worker([tell](scheduler& w) noexcept {
        PILFER_CHAOS_POINT(wake); // some have been told, and leave
        tell(w.deque.trip());
    });
};

/// Under the lock of `all`. The sources that this cancellation has found: another one finds its own.
[[nodiscard]] told_source* tell_those_that_wait() noexcept {
    each_worker([](scheduler& w) noexcept { w.stoppable.tell(); });
    return std::exchange(told_sources, nullptr);
}

void request_stops(told_source* mine) noexcept {
    while (mine != nullptr) {
        const std::unique_ptr<told_source> t(mine);
        mine = t->next;
        t->source.request_stop();
    }
}

/// Of a child that was not begun; not the job of any context.
[[nodiscard]] void* left_out(context* c) noexcept { return &c->next; }

} // namespace

void stops::add(pool_core& p) noexcept {
    all.join(
        [&p] {
            p.next_to_stop = pools;
            pools = &p;
        },
        [&p](auto tell) noexcept {
            for (unsigned i = 0; i < p.schedulers(); ++i) {
                tell(p.at(i).deque.trip());
            }
        });
}

void stops::remove(pool_core& p) noexcept {
    all.apart([&p] {
        for (pool_core** at = &pools; *at != nullptr; at = &(*at)->next_to_stop) {
            if (*at == &p) {
                *at = p.next_to_stop;
                return;
            }
        }
    });
}

/// What was being cancelled stays cancelled where it stands, but nobody is told any more.
void stops::forget_all() noexcept {
    ::new (&all) cancellations<std_atom, futex_park>;
    pools = nullptr;
    told_sources = nullptr;
}

void stops::request(std::atomic<std::uint32_t>& disturbed) noexcept {
    told_source* mine = nullptr;
    all.request(disturbed, each_trip, [&mine] { mine = tell_those_that_wait(); });
    request_stops(mine);
}

void stops::request(std::atomic<std::uint32_t>& disturbed, branch_protocol<std_atom>& told) noexcept {
    told_source* mine = nullptr;
    all.request(disturbed, each_trip, [&mine] { mine = tell_those_that_wait(); });
    PILFER_CHAOS_POINT(lock);
    told.is_told();
    request_stops(mine);
}

void stops::look_again() noexcept {
    told_source* mine = nullptr;
    all.again([&mine] { mine = tell_those_that_wait(); });
    request_stops(mine);
}

void stops::tell(told_source* t) noexcept {
    t->next = told_sources;
    told_sources = t;
}

void stops::over() noexcept { all.over(each_trip); }

/// A scope that leaves the chain out of turn has unlinked itself. Who looks up may stand on it: workers,
/// whose word says so, and cancellers.
void stops::wait_for_lookers() noexcept {
    if (!all.ever()) {
        return; // nor does anybody look up, but behind a cancellation, which comes too late to find the scope
    }
    PILFER_CHAOS_POINT(lock);
    all.apart([] {
        std_atom::heavy_fence(); // C3
        each_worker([](scheduler& w) noexcept { w.looks_up.wait_for_end(); });
    });
}

bool stops::stopped_at(worker* w, scope_place* place) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    if (!self.deque.trip().has_and_sees(tripwire<std_atom>::stop)) { // C1
        return false;
    }
    return self.looks_up.during(self.deque.owner().pinned(), [place] {
        PILFER_CHAOS_POINT(lock);
        return is_stopped(place);
    });
}

bool stopped_cold(worker* w) noexcept {
    return stops::stopped_at(w, w->current.load(rlx)->innermost.load(rlx));
}

bool must_leave() noexcept {
    worker* w = this_worker();
    return w != nullptr && stopped_here(w) && !unwinds(w);
}

void leave_if_stopped() {
    if (must_leave()) {
        throw stopped();
    }
}

void drop_and_leave(std::uint64_t tasks) {
    count_dropped(this_worker(), tasks);
    throw stopped();
}

bool says_stopped(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const stopped&) {
        return true;
    } catch (...) {
        return false;
    }
}

bool leaves_by_stopped() noexcept {
    try {
        throw;
    } catch (const stopped&) {
        return true;
    } catch (...) {
        return false;
    }
}

scope_place* place_below(scope_place* innermost) noexcept {
    scope_place* at = innermost;
    bool holds = scope_place::holds(at);
    while (scope_place::is_owner(at) && scope_place::strip(at) != nullptr &&
           (scope_place::strip(at)->head().disturbed.load(rlx) & disturb::shields) == 0) {
        at = scope_place::strip(at)->above();
        holds = holds || scope_place::holds(at);
    }
    return holds ? scope_place::as_holder(at) : at;
}

namespace {

/// Calls f(scope) for the running task's own scopes, from the innermost outwards, until it says false. A
/// branch of a join that was stolen stands in scopes of another task, and the first of these ends it.
template <class F>
void each_own_scope(const activation* a, F f) noexcept {
    for (scope_place* at = a->innermost.load(rlx);
         scope_place::is_owner(at) && scope_place::strip(at) != nullptr;
         at = scope_place::strip(at)->above()) {
        if (!f(*scope_access::of(at))) {
            return;
        }
    }
}

} // namespace

void divert_scopes(activation* a) noexcept {
    each_own_scope(a, [a](scope& s) { return scope_access::divert(s, a); });
}

void end_diversions(activation* a, bool outlived) noexcept {
    bool again = false;
    each_own_scope(a, [a, outlived, &again](scope& s) {
        scope_place* const own = scope_access::link(s);
        if (outlived && !again && scope_place::holds(own->above())) {
            own->outlives_lock();
            again = true;
        }
        return scope_access::end_diversion(s, a);
    });
    if (again) {
        stops::look_again();
    }
}

std::exception_ptr stopped_error() noexcept {
    try {
        return std::make_exception_ptr(stopped());
    } catch (...) {
        return std::current_exception();
    }
}

bool child_begins(worker* w) noexcept {
    if (!stopped_here(w)) {
        return true;
    }
    count_dropped(w);
    context* c = w->current.load(rlx)->ctx;
    c->job = left_out(c);
    return false;
}

bool rest_tripped(worker* w, task_word rest) noexcept {
    return announce_tripped(w, rest) && child_begins(this_worker());
}

} // namespace detail

bool cancelled() noexcept {
    detail::worker* w = detail::this_worker();
    return w != nullptr && w->current.load(detail::rlx) != nullptr && detail::stopped_here(w);
}

} // namespace v0
} // namespace pilfer
