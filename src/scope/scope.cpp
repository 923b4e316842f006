// The cold half of scope: waiting for children, failures, misuse.
#include <pilfer/scope.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/scope/timed_sync.hpp>
#include <pilfer/detail/task/bound_frames.hpp>
#include <pilfer/detail/task/nested.hpp>

#include "base/write.hpp"
#include "cancel/cancellation.hpp"
#include "pool/pool_core.hpp"
#include "scope/forked.hpp"
#include "task/own_child.hpp"

namespace pilfer {
inline namespace v0 {

using namespace detail;

namespace {

struct scope_wait : suspension {
    child_counter<std_atom>* children;
};

/// Notes that the children of `s` have ended, and the foreign thread that owns it resumes. They were in the
/// common pool.
void synced_outside(const scope_core* s) noexcept {
    // A scope that was never used must not make that pool, least of all in its destructor.
    if (pool_core* const common = common_core_if_made()) {
        common->backend().synced_outside(s);
    }
}

constexpr wait_kind scope_kind{"the children of a scope",
                               [](const suspension& self, wait_facts& f) noexcept {
                                   f.left = static_cast<const scope_wait&>(self).children->left();
                                   f.children_of = self.object;
                               },
                               true};

constexpr wait_kind timed_scope_kind{"the children of a scope",
                                     [](const suspension& self, wait_facts& f) noexcept {
                                         f.left =
                                             scope_access::left(*static_cast<const scope_core*>(self.object));
                                         f.children_of = self.object;
                                     },
                                     true};

using timed = timed_parent<std_atom, futex_park>;

/// scope.M5: runs `unlink` while no thread walks up through scopes of tasks of `p`. Such a walk may be on its
/// way through the scope that ends. README.md, "Shared scopes", lists the walks. Each holds one worker's lock
/// and takes no other one meanwhile, so that the order of the workers excludes a cycle. Cost: a lock per
/// worker.
template <class F>
[[nodiscard]] bool while_nobody_walks(pool_core& p, F unlink) noexcept {
    for (unsigned i = 0; i < p.schedulers(); ++i) {
        p.at(i).deque.thief().lock();
    }
    PILFER_CHAOS_POINT(lock);
    const bool found = unlink();
    for (unsigned i = p.schedulers(); i-- > 0;) {
        p.at(i).deque.thief().unlock();
    }
    return found;
}

} // namespace

void scope_core::not_owner(const char* call) const {
    // Every task below the owner may fork, so it is another thread that may not.
    const bool fork = std::string_view(call) == "fork";
    throw usage_error(
        (std::string("pilfer: scope::") + call + " was called by a " +
         (fork ? "thread that is neither a worker nor the owner" : "task that does not own the scope"))
            .c_str());
}

bool scope_core::checked_home(resume where) {
    if (where != resume::anywhere && where != resume::own_thread) {
        throw std::invalid_argument("pilfer: a scope takes resume::anywhere or resume::own_thread");
    }
    return where == resume::own_thread;
}

/// Called at the end of a wait that began on `home`. The rule by which waiters are released is not enough:
/// children run on top of the waiting frame, and their own waits may move it to another worker.
void scope_core::resume_on_origin(worker* home) noexcept {
    if (m_link.head().comes_home) {
        if (worker* const bound = bound_frames::home_of(*owner()->ctx)) {
            home = bound;
        }
        if (this_worker() != home) {
            scheduler::of(this_worker()).go_to(home->index);
        }
    }
}

bool scope_core::takes_submission() {
    worker* const w = this_worker();
    if (w == nullptr && owner() != activation_outside()) {
        not_owner("fork");
    }
    if (drops()) {
        drop_or_leave(w);
        return false;
    }
    return true;
}

void scope_core::submit_made(submission* child, void (*destroy)(submission*) noexcept) {
    struct guard {
        submission* child;
        void (*destroy)(submission*) noexcept;
        ~guard() {
            if (child != nullptr) {
                destroy(child);
            }
        }
    } made{child, destroy};
    // Before the child is counted: the common pool may have to be created, and that may fail.
    pool_core& p = outside() ? common_core() : *owner()->ctx->pool;
    const bool owner_calls = owner() == activation_outside();
    if (owner_calls) {
        m_children.add();
    } else {
        announce_from_below();
    }
    share_scopes(p, &m_link);
    san::release(this);
    try {
        submit(p, child, p.submissions.leveled() ? priority::high : priority::normal); // a frame waits for it
    } catch (...) {
        if (owner_calls) {
            m_children.complete();
        } else {
            (void)m_children.finish_one();
        }
        throw;
    }
    made.child = nullptr; // it deletes itself when it has run
}

void scope_core::fail() noexcept {
    const std::exception_ptr error = caught_error();
    if (says_stopped(error)) {
        return; // it has left, as it should: swallowed here
    }
    if ((note_failure(error) & cancel_flag::cancelled) == 0) {
        cancellation::request(m_link);
    }
}

bool scope_core::is_cleanup(const worker* w) noexcept {
    return unwinds(w) && w->current.load(rlx) == owner() && begin_cleanup(cancel_state());
}

void scope_core::look_for_children(worker* w) noexcept {
    if (!unwinds(w) && !w->current.load(rlx)->holds_lock()) {
        (void)stopped_here(w); // propagates to this scope
    } else if (!drops()) {
        // A cleanup says no, and so does a scope that began under a lock of the owner. In an older scope the
        // children of a holder are stopped like any, though the holder itself is not.
        (void)cancellation::stopped_at(w, &m_link);
    }
}

void scope_core::drop_or_leave(worker* w) {
    count_dropped(w);
    leave_if_stopped();
}

std::uint32_t scope_core::note_failure(std::exception_ptr error) noexcept {
    // The first one wins the right to write; it is read only after every child has ended (worker.J3).
    std::uint32_t was = cancel_state().load(rlx);
    while ((was & cancel_flag::failures) != cancel_flag::failures && // the flags are above the count
           !cancel_state().compare_exchange_weak(was, was + 1, rlx, rlx)) {
    }
    if ((was & cancel_flag::failures) == 0) {
        ::new (static_cast<void*>(&m_error)) std::exception_ptr(std::move(error));
    }
    return was;
}

/// Returns the forked child of this scope that `entry` refers to and the owner may run, or null. The look may
/// read a record that a thief has long given back. Records are never unmapped while the pool lives, and only
/// an exact match counts.
PILFER_ALWAYS_INLINE spark* scope_core::child_at(task_word entry) const noexcept {
    if ((entry & kind_mask) != kind_forked) {
        return nullptr;
    }
    auto* d = reinterpret_cast<spark*>(entry & ~kind_mask);
    if (d == nullptr) {
        __builtin_unreachable(); // nor does a caller ask
    }
    san::acquire(d); // another context of this thread may have put it there, of memory that it got anew
    const bool is_child = d->parent() == &m_link;
#if defined(PILFER_TEST)
    return is_child && may_run_child_itself(*d) ? d : nullptr;
#else
    return is_child ? d : nullptr;
#endif
}

/// Runs a child that was popped from the own deque. Another task of this thread may have pushed it.
PILFER_ALWAYS_INLINE void scope_core::run_taken(spark* d) {
    san::acquire(d);
    d->run(d, nullptr);
    m_children.complete();
}

/// Reclaims the newest entry, which looked like a child of this scope and was not in the private part. The
/// entry may have been stale, so it is checked again after it is reclaimed. False: there is no child.
bool scope_core::reclaim_child(worker* w, task_word entry) noexcept {
    w = reclaim_slow(w, entry);
    if (w == nullptr) {
        return false;
    }
    spark* d = child_at(entry);
    if (d == nullptr) {
        (void)announce_again(w, entry, way::keep);
        return false;
    }
    run_taken(d);
    return true;
}

bool scope_core::run_newest_child(worker* w) noexcept {
#if defined(PILFER_TEST)
    if (w->explores) {
        spark* const d = take_own_child(w, &m_link);
        if (d != nullptr) {
            const nested_activation child(w, &m_link);
            run_taken(d);
        }
        return d != nullptr;
    }
#endif
    auto own = w->deque.owner();
    const auto newest = own.look_at_newest();
    if (newest.task == 0) {
        return false;
    }
    // Children that do not start take less time than their records take to come from memory.
    __builtin_prefetch(reinterpret_cast<const void*>(own.look_below(newest, 8) & ~kind_mask), 1);
    spark* d = child_at(newest.task);
    if (d == nullptr) {
        return false;
    }
    nested_activation child(w, &m_link);
    if (!own.pop_newest(newest)) {
        return reclaim_child(w, newest.task);
    }
    run_taken(d);
    return true;
}

void scope_core::wait_for_children(worker* home) noexcept {
    for (;;) {
        look_for_children(this_worker());
        while (m_children.pending() > 0 && run_newest_child(this_worker())) {
            using trip = signal_word<std_atom>;
            if (this_worker()->deque.signal().has(trip::asked & ~trip::stop)) {
                attend(this_worker());
            }
            if (!drops()) {
                look_for_children(this_worker());
            }
        }
        if (m_children.all_done()) {
            break;
        }
        if (help_on_top(this_worker())) {
            continue;
        }
        scope_wait s;
        s.children = &m_children;
        s.why = &scope_kind;
        s.object = this;
        s.publish = [](suspension& self) noexcept {
            return static_cast<scope_wait&>(self).children->publish();
        };
        m_waiter = reinterpret_cast<std::uintptr_t>(static_cast<suspension*>(&s));
        suspend(this_worker(), s);
        break;
    }
    m_children.reset();
    children_have_ended();
    backend_of(this_worker()).synced(this);
    resume_on_origin(home);
}

void scope_core::block_for_children() noexcept {
    if (!m_children.all_done()) {
        foreign_waiter self;
        m_waiter = reinterpret_cast<std::uintptr_t>(&self) | waiter_is_foreign;
        if (m_children.publish()) {
            block_on(self);
        }
    }
    m_children.reset();
    children_have_ended();
    synced_outside(this);
}

/// Waits for the children, on `w`, which runs the owner. Usually no thief has taken any of them. Then one
/// loop runs them, without further calls and under one identity.
void scope_core::sync_children(worker* w) {
    worker* const home = w;
    if (w->deque.signal().has(signal_word<std_atom>::stop)) [[unlikely]] {
        wait_and_rethrow(home); // it looks before each child
        return;
    }
    activation* const self = w->current.load(rlx);
    const unsigned in_flight = w->exceptions->in_flight();
    if (in_flight != self->uncaught) [[unlikely]] {
        (void)is_cleanup(w);
    }
    activation_on_top child(self, &m_link, in_flight);
    w->current.store(&child, rlx);
    while (m_children.pending() > 0)
        [[likely]] {
            auto own = w->deque.owner();
            const auto newest = own.look_at_newest();
            auto* d = child_at(newest.task);
            if (d == nullptr) {
                break;
            }
            if (own.pop_newest(newest)) [[likely]] {
                run_taken(d);
            } else if (!reclaim_child(w, newest.task)) {
                w = this_worker();
                break;
            }
            w = this_worker();
            if (w->deque.signal().has(signal_word<std_atom>::asked)) [[unlikely]] {
                attend(w);
                w = this_worker();
                if (w->deque.signal().has(signal_word<std_atom>::stop)) {
                    break;
                }
            }
        }
    w->current.store(child.beneath, rlx);
    if (quiet() && m_children.all_done()) [[likely]] {
        children_have_ended();
        if (w->recording) [[unlikely]] {
            backend_of(w).synced(this);
        }
        if (m_link.head().comes_home) [[unlikely]] {
            resume_on_origin(home);
        }
        return;
    }
    wait_and_rethrow(home);
}

/// Unlinks a scope that ends. The scopes of one task may end in any order, for example those of
/// optional<scope>.
void scope_core::leave() noexcept {
    activation* const owner = this->owner();
    if (auto* const at = owner->node.load(rlx); scope_node::as_free(at) == scope_node::as_owner(&m_link)) {
        // A lock that is held here was taken since this scope began, and is held further on. If the scope's
        // own parent link is marked as holding too, the end of the lock must not remove that mark.
        if (scope_node::holds(at) && scope_node::holds(m_link.parent())) {
            owner->locks &= ~1U;
        }
        owner->node.store(scope_node::holds(at) ? scope_node::as_holder(m_link.parent()) : m_link.parent(),
                          rlx);
        return;
    }
    scope_node* below = nullptr; // of this task, so it outlives this call
    const auto unlink = [this, owner, &below] {
        for (below = scope_node::strip(owner->node.load(rlx)); below != nullptr;
             below = scope_node::strip(below->parent())) {
            if (scope_node::strip(below->parent()) == &m_link) {
                if (scope_node::holds(below->parent()) && scope_node::holds(m_link.parent())) {
                    owner->locks &= ~1U; // as above
                }
                below->relink(m_link);
                return true;
            }
        }
        return false;
    };
    // A thread outside whose pool does not exist has shared nothing.
    pool_core* const p = outside() ? common_core_if_made() : pool_of(owner);
    if (!(p != nullptr ? while_nobody_walks(*p, unlink) : unlink())) {
        os::write_error("pilfer: a scope was destroyed by a task that does not own it\n");
        std::terminate();
    }
    cancellation::forget(m_link);
    // If this scope was a shield or a cleanup, tasks that wait below may be stopped from now on. If they are
    // below a lock of this task, too, the unlock looks again.
    cancellation::look_again(*below);
}

/// Called after all children have ended. Returns the number of their exceptions. A cancellation from now on
/// cancels the next round.
std::uint32_t scope_core::end_of_round() noexcept {
    const std::uint32_t was = cancel_state().exchange(0, rlx);
    if ((was & cancel_flag::cancelled) != 0) {
        cancellation::over();
    }
    return was & cancel_flag::failures;
}

/// In a child of fork(), children that have not ended are in the parent process. The next sync() throws
/// pool_forked.
void scope_core::forget_children() noexcept {
    if (m_children.all_done()) {
        return;
    }
    m_children.reset();
    // Not note_failure(): another thread may have been about to write what is there.
    cancel_state().store((cancel_state().load(rlx) & ~cancel_flag::failures) | 1, rlx);
    ::new (static_cast<void*>(&m_error)) std::exception_ptr(std::make_exception_ptr(pool_forked()));
}

void scope_core::cancel() noexcept {
    cancellation::request(m_link);
    (void)pilfer::cancelled(); // propagates to the scopes between, if the caller is below: each sync of
                               // theirs throws
}

void scope_core::sync_cold() { wait_and_rethrow(this_worker()); }

void scope_core::wait_and_rethrow(worker* home) {
    if (outside()) {
        if (owner() != activation_outside()) {
            not_owner("sync");
        }
        block_for_children();
    } else {
        worker* w = this_worker();
        if (w == nullptr || w->current.load(rlx) != owner()) {
            not_owner("sync");
        }
        (void)is_cleanup(w);
        wait_for_children(home);
    }
    rethrow_first();
}

/// True: all children have ended, and the counter is as new.
bool scope_core::wait_until(instant until) noexcept {
    PILFER_TEST_CANNOT_REPEAT("sync_for");
    for (bool first = true;; first = false) {
        if (m_children.all_done()) {
            break;
        }
        if (until <= now()) {
            if (!first) {
                return false;
            }
            give_way();
            continue;
        }
        // Before the counter is published: what runs on top of this frame may fork into this scope, and
        // counts itself plainly. (worker.W4)
        if (this_worker() != nullptr && help_on_top(this_worker())) {
            continue;
        }
        timed parent;
        m_waiter = reinterpret_cast<std::uintptr_t>(&parent) | waiter_is_timed;
        if (m_children.publish()) {
            wait_in(parent.list(), parent.place(), until, timed_scope_kind, this, awaited::a_holder);
            if (!parent.all_ended(m_children)) {
                return false;
            }
        }
        break;
    }
    m_children.reset();
    children_have_ended();
    return true;
}

bool scope_core::sync_within(instant until) {
    worker* const home = this_worker();
    if (outside() ? owner() != activation_outside() : home == nullptr || home->current.load(rlx) != owner()) {
        not_owner("sync_for");
    }
    if (!outside()) {
        (void)is_cleanup(home);
        look_for_children(home);
    }
    const bool all = wait_until(until);
    if (!outside()) {
        resume_on_origin(home);
    }
    if (!all) {
        leave_if_stopped();
        return false;
    }
    if (!outside()) {
        backend_of(this_worker()).synced(this);
    } else {
        synced_outside(this);
    }
    rethrow_first();
    return true;
}

void scope_core::rethrow_first() {
    const std::uint32_t thrown = end_of_round();
    if (thrown == 0) {
        leave_if_stopped();
        return;
    }
    const std::exception_ptr first = std::move(m_error);
    std::destroy_at(&m_error);
    m_suppressed = thrown - 1;
    m_link.head().threw = true;
    count_suppressed(thrown - 1);
    note_suppressed(thrown - 1);
    std::rethrow_exception(first);
}

void scope_core::destroy_cold() noexcept {
    if (!quiet()) {
        settle_at_end();
    }
    children_have_ended();
    leave();
    check_end();
}

void scope_core::settle_at_end() noexcept {
    if (outside()) {
        block_for_children();
    } else {
        wait_for_children(this_worker());
    }
    const std::uint32_t thrown = end_of_round();
    if (thrown == 0) {
        return;
    }
    if (outside() ? std::uncaught_exceptions() == 0 : !unwinds(this_worker())) {
        os::write_error("pilfer: a scope ended with an exception of a child that no sync() rethrew\n");
        std::terminate();
    }
    count_suppressed(thrown);
    note_suppressed(thrown);
    std::destroy_at(&m_error);
}

namespace detail {

void forget_children() noexcept {
    for (scope_node* at = scope_node::strip(activation_outside()->node.load(rlx)); at != nullptr;
         at = scope_node::strip(at->parent())) {
        scope_access::forget_children(*scope_access::of(at));
    }
}

suspension* child_ended(scope_core* s, worker* w) noexcept {
    backend_of(w).child_ends(s);
    if (!scope_access::finish_one(*s)) {
        return nullptr;
    }
    const std::uintptr_t waiter = scope_access::waiter(*s);
    if ((waiter & waiter_is_timed) != 0) [[unlikely]] {
        if (auto* parent = reinterpret_cast<timed*>(waiter & ~waiter_is_timed)->last_has_ended()) {
            go_on(*parent);
        }
        return nullptr;
    }
    return release_waiter(waiter, w);
}

PILFER_NO_SANITIZE void child_is_last_or_search(context* c, scope_core* s) noexcept {
    worker* w = this_worker();
    suspension* next = child_ended(s, w);
    static_cast<scheduler*>(w)->switching.leave_context(c, next);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
