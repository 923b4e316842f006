// Cancellation: who is stopped, and how those learn of it. States and edges: ../scope/README.md.
#include <pilfer/cancel.hpp>
#include <pilfer/detail/cancel/failing.hpp>

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
/// Branches of joins that have thrown while the frames that join run something else. Written under that lock.
failing_joins<std_atom, scope_place*> failing;
/// What a cancellation that is under way has found. Under the same lock; code of the user runs behind it.
told_source* told_sources = nullptr;
/// The same: branches that were given up in the name of frames that wait for them.
stolen_branch* given_up = nullptr;
/// The same: scopes were told that were not, so that those who wait are looked at once more.
bool told_more = false;

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
        tell(w.deque.trip());
    });
};

// ---- what a joining frame runs beside a branch that has failed --------------------------------

/// Where that branch lies on the stack of `a`, if it does, and `a` is older; else 0. Stacks grow down, and
/// the context's own record is the end of its stack. Who runs on a thread's own stack announces no branches.
[[nodiscard]] std::uintptr_t branch_on(const activation& a, const void* branch) noexcept {
    const context* const c = a.ctx;
    if (c == nullptr || c->low == nullptr) {
        return 0;
    }
    const std::uintptr_t at = san::on_stack(c->view, branch);
    const std::uintptr_t end =
        &a == &c->self ? reinterpret_cast<std::uintptr_t>(c) : san::on_stack(c->view, &a);
    return at >= reinterpret_cast<std::uintptr_t>(c->low) && at < end ? at : 0;
}

/// From `from`, where an activation stands, f of each of its own scopes up to `within`. False, before any f:
/// they do not lead there; what is done there is excepted, because it makes the value of an exit (D5); or
/// somebody on the way to the top holds a lock and so finishes first (D6).
template <class F>
[[nodiscard]] bool up_to(scope_place* from, scope_place* within, F f) noexcept {
    const auto is_end = [within](scope_place* at) noexcept {
        return scope_place::as_free(at) == scope_place::as_free(within);
    };
    bool own = true;
    bool leads_there = false;
    std::size_t steps = 0; // to `within`, which may leave the chain before the second walk
    for (scope_place* at = from;; at = scope_place::strip(at)->above()) {
        leads_there = leads_there || (own && is_end(at));
        own = own && scope_place::is_owner(at);
        if (scope_place::holds(at) || !(leads_there || own)) {
            return false;
        }
        scope_place* const place = scope_place::strip(at);
        if (place == nullptr) {
            break;
        }
        place->seen_here();
        if (!leads_there) {
            if ((place->head().disturbed.load(rlx) & disturb::shields) != 0) {
                return false;
            }
            ++steps;
        }
    }
    scope_place* at = from;
    for (; leads_there && steps > 0 && scope_place::strip(at) != nullptr;
         --steps, at = scope_place::strip(at)->above()) {
        f(*scope_place::strip(at));
    }
    return leads_there;
}

const auto nothing_to_tell = [](scope_place&) noexcept {};

/// Rule 1: the innermost activation of a stack runs beside a branch that has failed. Then the scopes that it
/// has made there are told; `news`: one did not know. `wait`: in the frame in which it waits, on top of which
/// others may run, whose joins are not its own. Null: it runs.
[[nodiscard]] bool tells_in_failing_join(const activation& self, const void* wait, bool& news) noexcept {
    bool is_inside = false;
    (void)failing.any([&](const void* branch, scope_place* within) noexcept {
        const std::uintptr_t at = branch_on(self, branch);
        // up_to() finds locks, too, by a walk.
        if (at != 0 && (wait == nullptr || san::on_stack(self.ctx->view, wait) < at) && self.locks == 0 &&
            up_to(self.innermost.load(rlx), within,
                  [&news](scope_place& s) noexcept { news = tell_scope(s.head().disturbed) || news; })) {
            is_inside = true;
        }
        return false; // all of them: the outermost tells most
    });
    return is_inside;
}

/// Rule 2: whose owner has made it there. That it lies below of the branch says that this is a join of the
/// owner and not of somebody on top of it; so does the place that the branch was announced in, if that is an
/// owner's: who runs on top stands in no scope as its owner but in those that it has made itself, or whose
/// owner waits for it. Otherwise the owner tells it, as soon as it looks.
[[nodiscard]] bool is_in_failing_join(scope_place& s) noexcept {
    if ((s.head().disturbed.load(rlx) & disturb::bare) != 0) {
        return false;
    }
    const activation& owner = *scope_access::owner(*scope_access::of(&s));
    return failing.any([&](const void* branch, scope_place* within) noexcept {
        const std::uintptr_t at = branch_on(owner, branch);
        return at != 0 &&
               (scope_place::is_owner(within) ||
                (san::on_stack(owner.ctx->view, &s) < at &&
                 san::on_stack(owner.ctx->view, &s) >= reinterpret_cast<std::uintptr_t>(owner.ctx->low))) &&
               up_to(s.above(), within, nothing_to_tell);
    });
}

void find_others(worker* w) noexcept;

/// A child of spawn, before the rest of its parent is announced: rule 2 of its scope, wherever that lies. The
/// parent's stack lies still, with nobody on top of it: each branch there is of a join that it stands in.
void tell_parent(worker* w) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    if (!self.deque.trip().has_and_sees(tripwire<std_atom>::stop)) {
        return;
    }
    bool news = false;
    (void)self.looks_up.during(self.deque.owner().pinned(), [w, &news] {
        scope_place* const innermost = w->current.load(rlx)->innermost.load(rlx);
        if (scope_place::holds(innermost)) {
            return false; // as its parent does
        }
        scope_place* const place = scope_place::strip(innermost);
        const activation& parent = *scope_access::owner(*scope_access::of(place));
        return failing.any([&](const void* branch, scope_place* within) noexcept {
            if (branch_on(parent, branch) == 0 || !up_to(place->above(), within, nothing_to_tell)) {
                return false;
            }
            news = tell_scope(place->head().disturbed);
            return true;
        });
    });
    if (news) {
        find_others(w); // other children of it may wait
    }
}

/// Those in a list that waits: rules 1 and 2.
[[nodiscard]] bool stops_waiting(const decltype(scheduler::stoppable)::listener& l) noexcept {
    bool stops = is_stopped(static_cast<scope_place*>(l.place), &is_in_failing_join);
    if (activation* const task = l.task; task != nullptr) {
        if (tells_in_failing_join(*task, &l, told_more)) {
            stops = true;
            told_more = told_more || !san::all_frames_known;
        }
    }
    return stops;
}

/// Under the lock of `all`. The sources that this cancellation has found: another one finds its own.
[[nodiscard]] told_source* tell_those_that_wait() noexcept {
    stolen_branch* told = nullptr;
    do {
        told_more = false;
        each_worker([](scheduler& w) noexcept { w.stoppable.tell(&stops_waiting); });
        failing.each_place(
            [](void* where) noexcept { static_cast<context*>(where)->waiting_frames.tell(&stops_waiting); });
        while (stolen_branch* const b = given_up) {
            given_up = std::exchange(b->next_given_up, told);
            told = b;
            all.request_inside(b->place().head().disturbed, each_trip);
            told_more = true;
        }
    } while (told_more);
    while (stolen_branch* const b = told) {
        told = b->next_given_up;
        PILFER_CHAOS_POINT(lock);
        b->is_told(); // it may end
    }
    return std::exchange(told_sources, nullptr);
}

void request_stops(told_source* mine) noexcept {
    while (mine != nullptr) {
        const std::unique_ptr<told_source> t(mine);
        mine = t->next_told;
        t->source.request_stop();
    }
}

/// By a mere look, as of cancelled(), in the midst of whose caller no code of others may run: a task of the
/// pool requests what it finds.
void find_others(worker* w) noexcept {
    told_source* mine = nullptr;
    all.again([&mine] { mine = tell_those_that_wait(); });
    if (mine == nullptr) {
        return;
    }
    if (w->pool->left_behind()) { // a task that forked: nobody else is there
        request_stops(mine);
        return;
    }
    mine->run = [](spark* self, worker*) noexcept -> suspension* {
        request_stops(static_cast<told_source*>(static_cast<submission*>(self)));
        unit_ends(this_worker());
        return nullptr;
    };
    w->pool->accept_inside(mine, priority::high);
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

/// What was being cancelled stays cancelled, but those that wait for it here are not told any more.
void stops::forget_all() noexcept {
    all.forget_threads();
    ::new (&failing) failing_joins<std_atom, scope_place*>; // another thread may have been writing
    pools = nullptr;
    alone = static_cast<scheduler*>(this_worker());
    if (alone != nullptr) {
        alone->stoppable.forget_threads();
    }
    told_more = false;
    told_sources = nullptr;
    given_up = nullptr;
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
        std_atom::heavy_fence(); // C3
        each_worker([](scheduler& w) noexcept { w.looks_up.wait_for_end(); });
    });
}

bool stops::stopped_at(worker* w, scope_place* place, bool tells) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    if (!self.deque.trip().has_and_sees(tripwire<std_atom>::stop)) { // C1
        return false;
    }
    return self.looks_up.during(self.deque.owner().pinned(), [place, tells] {
        PILFER_CHAOS_POINT(lock);
        return is_stopped(place, &is_in_failing_join, tells);
    });
}

bool stops::branches_move(const worker* w) noexcept { return w->pool->by_one_lock() == nullptr; }

bool stops::fail(spark& branch) noexcept {
    // Branches move within a pool. The joining frame waits for this one, so that its stack stays.
    context* const where = this_worker()->pool->stacks.context_of(&branch);
    told_source* mine = nullptr;
    const bool added = all.begin([&branch, where] { return failing.add(&branch, branch.within(), where); },
                                 each_trip, [&mine] { mine = tell_those_that_wait(); });
    request_stops(mine);
    return added;
}

void stops::collected(spark& branch) noexcept {
    all.end([&branch] { failing.remove(&branch); }, each_trip); // which a child of fork() may have forgotten
    // Scopes that have outlived the function that made them are told no more. What else stops them is found
    // by the next look.
    scope_place* const within = scope_place::as_free(branch.within());
    scope_place* at = this_worker()->current.load(rlx)->innermost.load(rlx);
    const auto outlives = [within](scope_place* p) noexcept {
        return scope_place::as_free(p) != within && scope_place::is_owner(p) &&
               scope_place::strip(p) != nullptr;
    };
    if (outlives(at)) {
        wait_for_lookers(); // nobody tells them any more because of this branch
        for (; outlives(at); at = scope_place::strip(at)->above()) {
            scope_place::strip(at)->head().disturbed.fetch_and(~disturb::told, rlx); // C4
        }
    }
}

bool stops::stands_in_failing_join(worker* w) noexcept {
    const activation& running = *w->current.load(rlx);
    auto& self = *static_cast<scheduler*>(w);
    bool news = false;
    if (!self.looks_up.during(self.deque.owner().pinned(),
                              [&] { return tells_in_failing_join(running, nullptr, news); })) {
        return false;
    }
    if (news || !san::all_frames_known) {
        find_others(w);
    }
    return true;
}

stop_list<std_atom, futex_park, scope_place>& stops::list_for(worker* w, scope_place* place) noexcept {
    // AddressSanitizer has branches elsewhere than on their stacks.
    return place == nullptr && san::all_frames_known ? w->current.load(rlx)->ctx->waiting_frames
                                                     : static_cast<scheduler*>(w)->stoppable;
}

stops::waiting_frame::waiting_frame(worker* w, spark* branch, spark::run_function lies_there,
                                    spark::run_function given) noexcept {
    activation* const self = w->current.load(rlx);
    if (!branches_move(w) || self->locks != 0) {
        return;
    }
    m_known.branch = branch;
    m_known.lies_there = lies_there;
    m_known.given_up = given;
    m_known.task = self;
    m_known.stop = [](list::listener& l) noexcept {
        auto& k = static_cast<known&>(l);
        if (k.branch == nullptr) {
            return;
        }
        if (stolen_branch* const b = stolen_branch::give_up_to(*k.branch, k.lies_there, k.given_up)) {
            b->next_given_up = given_up;
            given_up = b;
        }
    };
    m_list = &list_for(w, nullptr);
    PILFER_CHAOS_POINT(publish);
    san::frames_known(self->ctx->view);
    m_list->add(m_known);
    PILFER_CHAOS_POINT(publish);
    auto& trip = w->deque.trip();
    if (trip.has(tripwire<std_atom>::stop) && trip.has_and_sees(tripwire<std_atom>::stop) &&
        stands_in_failing_join(w)) { // C2
        look_again();                // finds this
    }
}

stops::waiting_frame::~waiting_frame() {
    if (m_list != nullptr) {
        m_list->remove(m_known);
        san::frames_unknown(static_cast<activation*>(m_known.task)->ctx->view);
    }
}

namespace {

/// Is the running task?
[[nodiscard]] bool is_stopped_by_scopes(worker* w) noexcept {
    return stops::stopped_at(w, w->current.load(rlx)->innermost.load(rlx), !unwinds(w));
}

} // namespace

bool stopped_by_scopes(worker* w) noexcept {
    return w->deque.trip().has(tripwire<std_atom>::stop) && is_stopped_by_scopes(w);
}

bool stopped_cold(worker* w) noexcept {
    // First what is behind the bit (C1) is seen.
    return is_stopped_by_scopes(w) ||
           (w->deque.trip().has_and_sees(tripwire<std_atom>::stop) && stops::stands_in_failing_join(w));
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

bool rest_tripped(worker* w, task_word rest) noexcept {
    auto& self = *static_cast<scheduler*>(w);
    if (self.deque.trip().has(tripwire<std_atom>::stop)) {
        // Thieves may reach for it already: taken back it lies still.
        auto own = self.deque.owner();
        if (own.weighs()) {
            own.weigh_newest();
        }
        using popped = split_deque<std_atom>::owner_end::popped;
        const popped p = own.pop_if(rest);
        if (p == popped::taken || (p == popped::slow && own.pop_slow(1) != 0)) {
            tell_parent(w);
            (void)own.push(rest);
        }
    }
    return announce_tripped(w, rest) && child_begins(this_worker());
}

void parent_looks(worker* w) noexcept { tell_parent(w); }

} // namespace detail

bool cancelled() noexcept {
    detail::worker* w = detail::this_worker();
    return w != nullptr && w->current.load(detail::rlx) != nullptr && detail::stopped_here(w);
}

} // namespace v0
} // namespace pilfer
