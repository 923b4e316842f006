// Coroutines in a pool: suspension, resumption, and waits for them. Argument: README.md.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/holding.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/detail/task/nested.hpp>

#include <algorithm>
#include <exception>
#include <new>

#include <pilfer/error.hpp>
#include <pilfer/scope.hpp>

#include "cancel/cancellation.hpp"
#include "coroutine/parked_kinds.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] task_word word_of(submission* s) noexcept {
    return reinterpret_cast<task_word>(static_cast<spark*>(s)) | kind_spark;
}

[[nodiscard]] bool may_announce(const worker* w) noexcept {
    return backend_of(w).may_announce(*static_cast<const scheduler*>(w));
}

struct root_wait : suspension {
    completion<std_atom>* end;
    const coroutine_frame* root;
    const pool_core* pool;
};

constexpr waits_in_list for_future("a future", [](const void* object, wait_facts& f) noexcept {
    static_cast<const future_core*>(object)->look(f);
});
constexpr parked_kind parked_for_time{"a time", nullptr, false};

constexpr wait_kind root_kind{"a coroutine", [](const suspension& self, wait_facts& f) noexcept {
                                  const auto& wait = static_cast<const root_wait&>(self);
                                  f.coroutine = wait.root;
                                  f.elsewhere = wait.pool;
                              }};

} // namespace

const parked_kind parked_elsewhere{"something that is none of this library's", nullptr, false};

namespace {

void arm_here(alarm& a, instant when) noexcept {
    // Not told::soon: a coroutine that foreign code resumed does not return to a scheduler at once.
    if (worker* w = this_worker()) {
        arm(static_cast<scheduler&>(*w), a, when, told::at_once);
    } else {
        arm(common_core(), a, when);
    }
}

/// `parent`: the innermost scope of the running task, not counting those of the coroutines.
suspension* drive_task(coroutine_frame& first, scope_node* parent, coroutine_root* root) noexcept {
    note_suppressed(0); // of an earlier task on this thread
    coroutine_driver d{parent, root};
    if (coroutine_root* const ended = drive(first, d)) {
        return ended->over(this_worker());
    }
    end_outstanding(this_worker()); // a coroutine that suspended has begun another one
    return nullptr;
}

} // namespace

suspension* drive_as_task(coroutine_frame& first) noexcept {
    return drive_task(first, this_activation()->node.load(rlx), static_cast<coroutine_root*>(first.then));
}

// ---- suspended coroutines ---------------------------------------------------------------------

void resumption::begin() {
    worker* w = this_worker();
    m_of_worker = w != nullptr;
    if (m_of_worker) {
        m_pool = w->pool;
        take_scopes_along(*m_pool);
        begin_outstanding(w); // before the end of the running task (coroutine.C1)
        return;
    }
    m_pool = &common_core();
    if (!m_pool->gate.expect()) {
        throw pool_closed();
    }
}

void resumption::park(const parked_kind& why, const void* object) noexcept {
    const worker* w = this_worker();
    m_parked.who = m_who;
    m_parked.why = &why;
    m_parked.object = object;
    m_list = &m_pool->at(m_of_worker ? w->index : 0).waiting_coroutines;
    m_list->add(m_parked);
}

void resumption::unpark() noexcept {
    if (m_list != nullptr) {
        m_list->remove(m_parked);
        m_list = nullptr;
    }
}

void resumption::withdraw() noexcept {
    unpark();
    if (m_of_worker) {
        bring_scopes();
        end_outstanding(this_worker());
    } else {
        m_pool->gate.forget_expected();
    }
}

/// The scopes of the coroutine, and of those that await it, belong to the running task, which ends before
/// they do. Each is empty, so its owner, which children read, may change. The task that resumes the coroutine
/// is the next owner.
void resumption::take_scopes_along(const pool_core& to) {
    const coroutine_driver* d = m_who->driver;
    if (d == nullptr) {
        return; // of another library: it is unknown where its own scopes begin
    }
    check_held();
    worker* w = this_worker();
    activation* a = w->current.load(rlx);
    scope_node* const innermost = a->node.load(rlx);
    set_parent(d->parent);
    m_root = d->root;
    m_scopes = innermost != d->parent ? innermost : nullptr;
    m_locks = a->locks & ~activation::locks_are_recorded;
    a->locks -= m_locks;
    if (scope_node::strip(innermost) != nullptr && (w->pool != &to || to.schedulers() > 1)) {
        share_scopes(*w->pool,
                     scope_node::as_free(innermost)); // scope.M4: another worker may resume it in them
    }
    if (m_scopes != nullptr) {
        a->node.store(d->parent, rlx); // the rest of this task is in none of them
    }
}

void resumption::check_held(unsigned other_locks) const {
    const coroutine_driver* d = m_who->driver;
    if (d == nullptr) {
        return;
    }
    activation* a = this_activation();
    if ((a->locks & ~activation::locks_are_recorded) / 2 !=
        d->root->locks + other_locks) { // the owner of the others is the task that would end here
        throw usage_error("pilfer: a lock that was not taken by co_await is held across a co_await that "
                          "suspends");
    }
    scope_node* const innermost = a->node.load(rlx);
    scope_node* const outermost = scope_node::as_free(d->parent);
    for (auto* s = innermost; scope_node::as_free(s) != outermost; s = scope_node::strip(s)->parent()) {
        if (!scope_access::empty(*scope_access::of(s))) {
            throw usage_error("pilfer: a scope lives across a co_await that suspends, and has children that "
                              "no sync() has awaited");
        }
    }
}

void resumption::bring_scopes() noexcept {
    if (m_scopes == nullptr && m_locks == 0) {
        return;
    }
    activation* a = this_activation();
    a->locks |= m_locks;
    if (m_scopes == nullptr) {
        return;
    }
    for (auto* s = m_scopes; scope_node::as_free(s) != scope_node::as_free(parent());
         s = scope_node::strip(s)->parent()) {
        scope_access::hand_to(*scope_access::of(s), a);
    }
    a->node.store(m_scopes, rlx);
}

void resumption::go_on() noexcept {
    unpark(); // first: a report that looks at it delays the resumption
    worker* w = this_worker();
    if (w != nullptr && w->pool == m_pool && m_of_worker && may_announce(w) &&
        announce(w, word_of(this), way::keep)) {
        return;
    }
    m_pool->gate.queue_begun(this, m_of_worker); // needs no memory
}

void resumption::queue() noexcept {
    unpark();
    m_pool->gate.queue_begun(this, m_of_worker);
}

void resumption::leave_if_stopped() const {
    if (m_who->driver != nullptr) {
        detail::leave_if_stopped();
    }
}

suspension* resumption::drive_on() noexcept {
    bring_scopes();
    return drive_task(*m_who, parent(), m_root);
}

suspension* resumption::run_resumed(spark* self, worker* /*w*/) noexcept {
    return static_cast<resumption*>(static_cast<submission*>(self))->drive_on();
}

// ---- waits that a cancellation ends -----------------------------------------------------------

bool stoppable_resumption::may_be_stopped_below() noexcept { return can_be_stopped_at(place()); }

bool stoppable_resumption::listen(void (*take_out)(stoppable_resumption& self) noexcept,
                                  run_function resumed) noexcept {
    listener& l = *new (&m_listener) listener;
    l.where = &cancel_seat::of(this_worker()).stoppable;
    l.owner = this;
    l.take_out = take_out;
    l.node = place();
    l.stop = [](list::waiter& self) noexcept {
        auto& known = static_cast<listener&>(self);
        known.take_out(*known.owner);
    };
    m_listens = true;
    run = resumed;
    PILFER_CHAOS_POINT(publish);
    l.where->add(l);
    PILFER_CHAOS_POINT(publish);
    return is_stopped(); // cancel.C2
}

bool stoppable_resumption::is_stopped() noexcept {
    worker* w = this_worker();
    return w->deque.signal().has(signal_word<std_atom>::stop) && cancellation::stopped_at(w, place());
}

/// The listener is in the list of the worker on which the coroutine suspended, whatever worker resumes it.
/// The canceller that took it out may still be in that list, with this frame in hand.
void stoppable_resumption::listens_no_more() noexcept {
    if (m_listens) {
        m_listener.where->remove(m_listener);
        m_listens = false;
    }
}

void stoppable_resumption::stay() noexcept {
    listens_no_more();
    withdraw();
}

suspension* stoppable_resumption::run_listening(spark* self, worker* /*w*/) noexcept {
    auto* r = static_cast<stoppable_resumption*>(static_cast<submission*>(self));
    r->listens_no_more();
    return r->drive_on();
}

bool listed_resumption::suspend_in(waiters& l, waiters::entry& e) noexcept {
    waits_as(l, e);
    if (!is_stopped_at_once(&listed_resumption::run_listed)) {
        begins_limit(&listed_resumption::run_listed);
        if (publish()) {
            return true;
        }
    }
    ends_limit();
    stay();
    return false;
}

suspension* listed_resumption::run_listed(spark* self, worker* /*w*/) noexcept {
    auto* r = static_cast<listed_resumption*>(static_cast<submission*>(self));
    r->ends_limit();
    r->listens_no_more();
    return r->drive_on();
}

void listed_resumption::begins_limit(run_function resumed) noexcept {
    if (m_limit != nullptr) {
        PILFER_TEST_CANNOT_REPEAT("a coroutine that waits with a time limit");
        run = resumed;
        m_limit->m_wait = this;
        m_limit->fire = &listed_resumption::time_has_come;
        arm_here(*m_limit, std::min(m_limit->m_until, never - 1));
    }
}

void listed_resumption::ends_limit() noexcept {
    if (m_limit == nullptr) {
        return;
    }
    if (m_limit->m_wait != nullptr) {
        (void)disarm(*m_limit);
    }
    // As for tasks: a cancellation counts even if the time was over first.
    if (m_waits_as->end == waiters::fate::withdrawn && m_listens && is_stopped()) {
        m_taken_out = true;
    }
    m_limit = nullptr;
}

bool listed_resumption::is_over_before() const noexcept {
    return m_limit != nullptr && m_limit->m_until <= detail::now();
}

void listed_resumption::gives_way() noexcept {
    PILFER_TEST_CANNOT_REPEAT("a coroutine that waits with a time limit");
    m_limit->m_is_over = true;
    m_limit = nullptr;
    queue();
}

bool listed_resumption::must_end() noexcept {
    if (m_listens && is_stopped()) {
        m_taken_out = true;
        return true;
    }
    if (m_limit == nullptr || m_limit->m_until > detail::now()) {
        return false;
    }
    m_limit->m_is_over = true;
    return true;
}

/// Another thread may have been faster. Then the coroutine waits for over() before it goes on.
void listed_resumption::time_has_come(alarm& self) noexcept {
    auto& limit = static_cast<wait_limit&>(self);
    listed_resumption& r = *limit.m_wait;
    waiters::entry& e = *r.m_waits_as;
    if (!r.m_waits_in->withdraw(e)) {
        self.over();
        return;
    }
    limit.m_is_over = true;
    self.over();
    if (e.done.complete() != 0) {
        r.go_on();
    }
}

void listed_resumption::waits_as(waiters& l, waiters::entry& e) noexcept {
    m_caller.tell = &listed_resumption::wait_is_over;
    m_caller.owner = this;
    m_waits_in = &l;
    m_waits_as = &e;
}

bool listed_resumption::is_stopped_at_once(run_function resumed) noexcept {
    if (may_be_stopped() && listen(&listed_resumption::take_out, resumed) &&
        m_waits_in->withdraw(*m_waits_as)) {
        m_taken_out = true; // otherwise it may be a canceller's
        return true;
    }
    return false;
}

bool listed_resumption::publish() noexcept {
    return m_waits_as->done.publish(
        reinterpret_cast<std::uintptr_t>(static_cast<callback_waiter*>(&m_caller)) |
        waiter_is_callback); // coroutine.C2'
}

void listed_resumption::wait_is_over(callback_waiter& self) noexcept {
    static_cast<caller&>(self).owner->go_on();
}

void listed_resumption::take_out(stoppable_resumption& self) noexcept {
    auto& r = static_cast<listed_resumption&>(self);
    waiters::entry& e = *r.m_waits_as;
    if (r.m_waits_in->withdraw(e)) {
        r.m_taken_out = true;
        if (e.done.complete() != 0) {
            r.queue();
        }
    }
}

bool future_resumption::wait_for(future_core& f) {
    PILFER_TEST_ORDER("waits for a future", &f);
    if (has_limit() && f.try_timed_list() == nullptr) {
        throw std::bad_alloc();
    }
    begin();
    park(for_future.kind(has_limit()), &f);
    if (has_limit() || may_be_stopped()) {
        return wait_in_list(f);
    }
    f.listen(*this); // coroutine.C2
    return true;
}

/// Listeners of a future leave only with its end: see future_core::wait_stoppably().
bool future_resumption::wait_in_list(future_core& f) noexcept {
    waiters::entry& e = *new (&m_entry) waiters::entry;
    if (timed_waiters* const there = f.try_timed_list()) {
        if (there->waiter_list.enter(e)) {
            return suspend_in(there->waiter_list.waiters(), e);
        }
        withdraw(); // the result is there
        return false;
    }
    if (is_stopped()) { // there is no memory: no cancellation reaches it later
        m_taken_out = true;
        withdraw();
        return false;
    }
    f.listen(*this); // coroutine.C2
    return true;
}

future_core* future_resumption::result_is_there(future_listener& self) noexcept {
    static_cast<future_resumption&>(self).go_on();
    return nullptr;
}

bool timed_resumption::wait_until(instant when) {
    if (when <= detail::now()) { // nothing suspends, so scopes may stay, and foreign coroutines proceed
        leave_if_stopped();
        return false;
    }
    begin();
    park(parked_for_time, nullptr);
    when = std::min(when, never - 1);
    if (!may_be_stopped()) {
        arm_here(*this, when); // coroutine.C2
        return true;
    }
    if (is_stopped()) { // first: the time may be over before it could be disarmed
        m_taken_out = true;
        withdraw();
        return false;
    }
    fire = &timed_resumption::time_has_come_first;
    arm_here(*this, when);
    if (listen(&timed_resumption::take_out) && disarm(*this)) {
        m_taken_out = true;
    } else if (m_done.publish(reinterpret_cast<std::uintptr_t>(this))) { // coroutine.C2'
        return true;
    }
    stay();
    return false;
}

void timed_resumption::time_has_come(alarm& self) noexcept {
    self.over(); // before it can run, and its frame end
    static_cast<timed_resumption&>(self).go_on();
}

/// For a coroutine that a cancellation might take out: it may not have suspended yet.
void timed_resumption::time_has_come_first(alarm& self) noexcept {
    auto& r = static_cast<timed_resumption&>(self);
    self.over();
    if (r.m_done.complete() != 0) {
        r.go_on();
    }
}

void timed_resumption::take_out(stoppable_resumption& self) noexcept {
    auto& r = static_cast<timed_resumption&>(self);
    if (disarm(r)) {
        r.m_taken_out = true;
        if (r.m_done.complete() != 0) {
            r.queue();
        }
    }
}

// ---- another pool -----------------------------------------------------------------------------

bool moving_resumption::move_to(pool_core& p) {
    p.check_here();
    leave_if_stopped();
    const worker* w = this_worker();
    if (w != nullptr && w->pool == &p) {
        // The coroutine has begun, so it is not dropped. It is queued after the others; on the own deque it
        // would be next.
        begin();
        p.gate.queue_begun(this, true);
        return true;
    }
    PILFER_TEST_CANNOT_REPEAT("a coroutine that moves to another pool");
    run = &moving_resumption::run_arrived;
    take_scopes_along(p);
    if (p.gate.try_accept(this)) {
        return true;
    }
    bring_scopes();
    return false;
}

suspension* moving_resumption::run_arrived(spark* self, worker* w) noexcept {
    auto* r = static_cast<moving_resumption*>(static_cast<submission*>(self));
    if (dropping(w)) {
        r->m_dropped = true; // it sees this flag and runs to its end
        count_dropped(w);
    }
    return r->drive_on();
}

// ---- ways in ----------------------------------------------------------------------------------

bool start_in(pool_core& p, submission* s) noexcept {
    worker* w = this_worker();
    if (w == nullptr || w->pool != &p) {
        return p.gate.try_accept(s);
    }
    if (p.is_forked_child()) [[unlikely]] { // no thread would run it
        return false;
    }
    begin_outstanding(w);
    if (!announce(w, word_of(s), way::keep)) {
        p.gate.queue_begun(s, true);
    }
    return true;
}

void hand_to(pool_core& p, submission* s) {
    const worker* w = this_worker();
    if (w == nullptr || w->pool != &p) {
        submit(p, s);
        return;
    }
    p.check_here();
    if (!start_in(p, s)) {
        throw pool_closed();
    }
}

std::exception_ptr lock_kept_error(const coroutine_root& root, std::exception_ptr own) noexcept {
    if (root.locks != 0) {
        check_failed(lock_kept);
    }
    return own != nullptr
               ? own
               : std::make_exception_ptr(usage_error("pilfer: a coroutine ended that holds a lock"));
}

void waited_root::run_in(pool_core& p, coroutine_frame& first) {
    run_to_end(p, first);
    for (unsigned i = 0; i < locks; ++i) { // the guards are in the frame, which ends in this task
        takes_lock(running_task(), nullptr);
    }
}

void waited_root::run_to_end(pool_core& p, coroutine_frame& first) {
    m_first = &first;
    first.then = this;
    worker* w = this_worker();
    // In a destructor that runs because of an exception the coroutine has no enclosing scope and is not
    // cancelled: an exception of it would be a second one.
    const bool unwinding = w != nullptr && unwinds(w);
    if (w != nullptr && w->pool == &p) {
        // The caller waits for all of it, so what begins here is enclosed by the caller's scopes.
        nested_activation child(w, unwinding ? nullptr : w->current.load(rlx)->node.load(rlx));
        child.reports_locks_as_below();
        if (drive(first) != nullptr) {
            return; // within the caller's task, without a suspension at its end
        }
    } else {
        scope_node* const parent = share_scopes(p);
        set_parent(unwinding ? nullptr : parent);
        submit(p, this);
    }
    wait(p);
    san::acquire(this);
    if (m_kept_off == kept_off::dropped) {
        std::rethrow_exception(dropped_error());
    }
    if (m_kept_off == kept_off::stopped) {
        throw stopped();
    }
}

void waited_root::wait(pool_core& p) noexcept {
    if (this_worker() == nullptr) {
        foreign_waiter self;
        if (m_done.publish(reinterpret_cast<std::uintptr_t>(&self) | waiter_is_foreign)) {
            block_on(self);
        }
        return;
    }
    while (!m_done.is_done()) {
        if (help_on_top(this_worker())) {
            continue;
        }
        root_wait s;
        s.end = &m_done;
        s.root = this;
        s.why = &root_kind;
        s.object = nullptr;
        s.pool = &p;
        s.publish = [](suspension& self) noexcept {
            return static_cast<root_wait&>(self).end->publish(
                reinterpret_cast<std::uintptr_t>(static_cast<suspension*>(&self)));
        };
        suspend(this_worker(), s);
    }
}

suspension* waited_root::run_root(spark* self, worker* w) noexcept {
    auto* r = static_cast<waited_root*>(static_cast<submission*>(self));
    const bool drops = dropping(w);
    if (drops || stopped_here(w)) {
        r->m_kept_off = drops ? kept_off::dropped : kept_off::stopped;
        count_dropped(w);
        return r->over(w);
    }
    return drive_as_task(*r->m_first);
}

suspension* waited_root::over(worker* w) noexcept {
    for (unsigned i = 0; i < locks; ++i) { // see run_in()
        gives_lock(running_task(), nullptr);
    }
    root_ends(w); // before the waiter may return and destroy the pool: shutdown joins this thread
    san::release(this);
    const auto waiter = m_done.complete();
    return waiter != 0 ? release_waiter(waiter, w) : nullptr;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
