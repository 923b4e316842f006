// The process-wide registry of cancellations: the pools that they reach, and the steps of a cancellation.
#include "cancel/cancellation.hpp"

#include <pilfer/detail/base/test_point.hpp>

#include <memory>
#include <utility>

#include "base/probe.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

cancellations<std_atom, futex_park> cancelled_nodes;
/// Linked by cancelled_team::next, under the lock of `cancelled_nodes`. The lock of the registry of pools
/// will not do: a report holds it for long.
cancelled_team* teams = nullptr;
/// In a child of fork() by a task: the only worker that the child has. Nothing else of its pool can be
/// stopped. Null in other processes.
scheduler* alone = nullptr;
/// The stop requests that the present cancellation has found. Under the lock of `cancelled_nodes`; their
/// callbacks run after it.
stop_request* stop_requests = nullptr;

template <class F>
void each_worker(F f) noexcept {
    if (alone != nullptr) {
        f(*alone);
    }
    for (const cancelled_team* t = teams; t != nullptr; t = t->next) {
        for (unsigned i = 0; i < t->workers.schedulers(); ++i) {
            f(t->workers.at(i));
        }
    }
}
const auto each_trip = [](auto f) noexcept {
    each_worker([f](scheduler& w) noexcept {
        PILFER_CHAOS_POINT(wake); // some workers know already, and their tasks leave
        f(w.deque.signal());
    });
};

/// Stops the waits below `s`, under the lock of `cancelled_nodes`. Returns the stop requests that this
/// cancellation has found; another one finds its own.
[[nodiscard]] stop_request* stop_waits(const scope_node& s) noexcept {
    each_worker([&s](scheduler& w) noexcept { w.cancel->stoppable.stop_below(s); });
    return std::exchange(stop_requests, nullptr);
}

void request_stops(stop_request* mine) noexcept {
    while (mine != nullptr) {
        const std::unique_ptr<stop_request> r(mine);
        mine = r->next;
        r->source.request_stop();
    }
}

} // namespace

cancel_seat& cancel_seat::of(const worker* w) noexcept { return *static_cast<const scheduler*>(w)->cancel; }

cancelled_team::cancelled_team(team& t)
    : workers(t), m_seats(std::make_unique<cancel_seat[]>(t.schedulers())) {
    for (unsigned i = 0; i < t.schedulers(); ++i) {
        t.at(i).cancel = &m_seats[i];
    }
    t.add(*this);
}

/// Propagates the cancellation to the scope at which the task looks first.
void cancelled_team::task_begins(scheduler& w, scope_node* parent) noexcept {
    (void)cancellation::stopped_at(&w, parent);
}

void cancellation::add(cancelled_team& t) noexcept {
    cancelled_nodes.join(
        [&t] {
            t.next = teams;
            teams = &t;
        },
        each_trip);
}

void cancellation::remove(cancelled_team& t) noexcept {
    cancelled_nodes.apart([&t] {
        for (cancelled_team** at = &teams; *at != nullptr; at = &(*at)->next) {
            if (*at == &t) {
                *at = t.next;
                return;
            }
        }
    });
}

/// A cancelled scope stays cancelled. Waits that were listed before the fork are not stopped any more.
void cancellation::forget_all() noexcept {
    cancelled_nodes.forget_threads();
    teams = nullptr;
    alone = static_cast<scheduler*>(this_worker());
    if (alone != nullptr) {
        // A stop_on_cancel of this task may be listed at a worker that it was on before.
        for (unsigned i = 0; i < alone->crew().schedulers(); ++i) {
            alone->crew().at(i).cancel->stoppable.forget_threads();
        }
    }
    stop_requests = nullptr;
}

void cancellation::request(scope_node& s, branch_protocol<std_atom>* branch) noexcept {
    PILFER_TEST_CANNOT_REPEAT("a cancellation");
    PILFER_PROBE1(cancel, &s);
    stop_request* mine = nullptr;
    cancelled_nodes.request(s.head().cancel_state, each_trip, [&] { mine = stop_waits(s); });
    if (branch != nullptr) {
        PILFER_CHAOS_POINT(lock);
        branch->is_told();
    }
    request_stops(mine);
}

void cancellation::renew() noexcept { cancelled_nodes.renew(); }

void cancellation::look_again(scope_node& s) noexcept {
    stop_request* mine = nullptr;
    cancelled_nodes.again([&] { mine = stop_waits(s); });
    request_stops(mine);
}

void cancellation::add_request(stop_request* r) noexcept {
    r->next = stop_requests;
    stop_requests = r;
}

void cancellation::over() noexcept { cancelled_nodes.over(each_trip); }

void cancellation::forget(const scope_node& gone) noexcept {
    // Before the first cancellation there is no look, and every later one finds the scope unlinked.
    const bool may_look = cancelled_nodes.ever();
    PILFER_CHAOS_POINT(lock);
    cancelled_nodes.apart([&gone, may_look] {
        if (may_look) {
            cancelled_nodes.renew(); // it may have been a shield
            std_atom::heavy_fence(); // cancel.C3
        }
        each_worker([&gone, may_look](scheduler& w) noexcept {
            if (may_look) {
                w.cancel->looks_up.wait_for_end();
            }
            w.cancel->stoppable.unlink(gone);
        });
    });
}

bool cancellation::stopped_at(worker* w, scope_node* place, bool propagates) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    if (!self.deque.signal().has_and_sees(signal_word<std_atom>::stop)) { // cancel.C1
        return false;
    }
    const std::uint64_t epoch = cancelled_nodes.epoch();
    return self.cancel->looks_up.during(self.deque.owner().pinned(), [place, epoch, propagates] {
        PILFER_CHAOS_POINT(lock);
        return is_stopped(place, epoch, propagates);
    });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
