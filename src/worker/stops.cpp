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
/// The only worker that there is, in a child of fork() by one of its tasks: of its pool nothing else can be
/// told. Else null.
scheduler* alone = nullptr;
/// What a cancellation that is under way has found. Under the same lock; code of the user runs behind it.
told_source* told_sources = nullptr;

template <class F>
void each_worker(F f) noexcept {
    if (alone != nullptr) {
        f(*alone);
    }
    for (pool_core* p = pools; p != nullptr; p = p->next_to_stop) {
        for (unsigned i = 0; i < p->schedulers(); ++i) {
            f(p->at(i));
        }
    }
}
const auto each_trip = [](auto tell) noexcept {
    each_worker([tell](scheduler& w) noexcept {
        PILFER_CHAOS_POINT(wake); // some have been told, and leave
        tell(w.deque.signal());
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
        mine = t->next_told;
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
                tell(p.at(i).deque.signal());
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

/// What was being cancelled stays cancelled, but those that wait for it here are not told any more.
void stops::forget_all() noexcept {
    all.forget_threads();
    pools = nullptr;
    alone = static_cast<scheduler*>(this_worker());
    if (alone != nullptr) {
        alone->stoppable.forget_threads();
    }
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
    t->next_told = told_sources;
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
        std_atom::heavy_fence(); // cancel.C3
        each_worker([](scheduler& w) noexcept { w.looks_up.wait_for_end(); });
    });
}

bool stops::stopped_at(worker* w, scope_place* place, bool tells) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    if (!self.deque.signal().has_and_sees(signal_word<std_atom>::stop)) { // cancel.C1
        return false;
    }
    return self.looks_up.during(self.deque.owner().pinned(), [place, tells] {
        PILFER_CHAOS_POINT(lock);
        return is_stopped(place, tells);
    });
}

bool stopped_cold(worker* w) noexcept {
    return stops::stopped_at(w, w->current.load(rlx)->innermost.load(rlx), !unwinds(w));
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
    (void)caught_error();
    try {
        throw;
    } catch (const stopped&) {
        return true;
    } catch (...) {
        return false;
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

bool rest_signalled(worker* w, task_word rest) noexcept {
    return announce_signalled(w, rest) && child_begins(this_worker());
}

} // namespace detail

bool cancelled() noexcept {
    detail::worker* w = detail::this_worker();
    return w != nullptr && w->current.load(detail::rlx) != nullptr && detail::stopped_here(w);
}

} // namespace v0
} // namespace pilfer
