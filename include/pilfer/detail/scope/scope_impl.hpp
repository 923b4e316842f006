// Templates of scope.hpp: how children are made, and what the scheduler does to a scope.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <pilfer/detail/task/free_lists.hpp>
#include <pilfer/detail/task/nested.hpp>
#include <pilfer/detail/task/task_options.hpp>
#include <pilfer/scope.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Called at the end of a child if another worker has taken the rest of its parent. Gives the child's
/// context back.
[[noreturn]] PILFER_API void child_is_last_or_search(context* c, scope_core* s) noexcept;

/// The function of a child whose parent's rest has a weight.
template <class F>
struct weighted {
    F function;
    std::uint64_t rest;
    decltype(auto) operator()() { return function(); }
};
/// Announces the rest of the parent of a child that runs here. False: there is no memory for that, or the
/// child is stopped before it begins. is_left_out() says which.
template <class F>
[[nodiscard]] PILFER_ALWAYS_INLINE bool announce_rest(worker* w, task_word rest, const F&) noexcept {
    if (push_task(w, rest)) [[unlikely]] {
        return detail::rest_signalled(w, rest);
    }
    return true;
}
template <class F>
[[nodiscard]] bool announce_rest(worker* w, task_word rest, const weighted<F>& child) noexcept {
    san::acquire(reinterpret_cast<const void*>(rest & ~kind_mask)); // what spawn has put on this stack
    return detail::announce_weighted(w, rest, child.rest, way::make) && detail::child_begins(this_worker());
}

/// A child of `spawn`, at the top of its own stack.
template <class F>
struct spawned {
    F function;

    static constexpr std::size_t align = alignof(F) > 16 ? alignof(F) : 16;

    [[nodiscard]] static PILFER_ALWAYS_INLINE context* context_of(void* top) noexcept {
        // place() put the child right below the context.
        return reinterpret_cast<context*>(static_cast<std::byte*>(top) +
                                          context::distance(sizeof(spawned), align));
    }
    /// context_of(), computed anew rather than kept in a register while the function runs.
    [[nodiscard]] static PILFER_ALWAYS_INLINE context* context_again(void* top) noexcept {
        asm volatile("" : "+r"(top));
        return context_of(top);
    }
    static PILFER_SAME_FRAME void call(spawned* self, scope_core* s) noexcept {
        PILFER_TRY { self->function(); }
        PILFER_CATCH_ALL { s->fail(); }
        std::destroy_at(self);
        san::release(&s->m_children);
    }
    /// Everything main does between the switches: announces the rest of the parent, runs the function, and
    /// prepares the way back. Null: another worker took the rest.
    static PILFER_SAME_FRAME context* work(spawned* self, scope_core* s) noexcept {
        arrive();           // The announcement looks at what this thread set up for itself.
        san::acquire(s);    // Before the first look at the scope, and before a thief gives it a later edge.
                            // Only here, off the parent's stack, may the rest of the parent be announced.
#if defined(PILFER_CHECKED) // an atomic load is made even if its result is not used
        s->owner()->ctx->change(context_state::running, context_state::offered);
#endif
        if (!detail::announce_rest(this_worker(), s->entry(), self->function)) [[unlikely]] {
            context* c = context_again(self);
            if (detail::is_left_out(c)) {
                return never_begun(self, s);
            }
            c->job = c; // a mark: a flag of this frame would be tested on the fast path
        }
        call(self, s);
        return go_back(self, s);
    }
    /// The child was stopped before it began. The rest of the parent is announced, and the child ends as
    /// any other.
    static PILFER_COLD context* never_begun(spawned* self, scope_core* s) noexcept {
        context_again(self)->job = nullptr;
        std::destroy_at(self);
        san::release(&s->m_children);
        return go_back(self, s);
    }
    /// Called after the child's end: returns the parent's context. Null: another worker took the rest.
    static PILFER_SAME_FRAME context* go_back(spawned* self, scope_core* s) noexcept {
        worker* w = detail::reclaim(this_worker(), s->entry_again());
        if (w == nullptr) [[unlikely]] {
            context* c = context_again(self);
            if (c->job != c) {
                return nullptr;
            }
            c->job = nullptr; // the rest was never announced
            w = this_worker();
        }
        activation* const owner = s->owner();
        context* parent = owner->ctx;
        if (parent == nullptr) {
            __builtin_unreachable(); // a parent that was offered has one: main need not load it to ask
        }
        parent->change(context_state::offered, context_state::running);
        san::release(&s->m_children); // that was the last look at the parent's frames
        w->current.store(owner, rlx);
        detail::put_context(w, context_again(self));
        return parent;
    }
#if defined(PILFER_SANITIZED)
    // Not inlined: g++ would mark locals of inlined functions as out of scope in main, too. No
    // instrumentation of main takes such marks back, so the next user of the stack would be accused.
    static PILFER_NOINLINE context* work_seen(spawned* self, scope_core* s) noexcept { return work(self, s); }
#endif
    /// Entered on the child's stack. Returns the continuation to go on with if it is still there.
    static PILFER_NO_SANITIZE continuation* main(void* top, continuation* rest) noexcept {
        auto* self = static_cast<spawned*>(top);
        auto* s = reinterpret_cast<scope_core*>(rest);
        san::enter(context_of(top)->view);
#if defined(PILFER_SANITIZED)
        context* parent = work_seen(self, s);
#else
        context* parent = work(self, s);
#endif
        if (parent == nullptr) [[unlikely]] {
            detail::child_is_last_or_search(context_again(top), s);
        }
        san::leave(nullptr, parent->view);
        return rest;
    }
};

/// True if a function fits on the stack of a new context. Larger functions run as plain calls rather than
/// eat that stack.
template <class F>
inline constexpr bool fits_on_context = sizeof(spawned<F>) <= 2048 && spawned<F>::align <= 64;

/// The calls of the scheduler that use a scope, for example one whose continuation it took.
struct scope_access {
    /// Counts the theft and returns the activation whose frame goes on. From now on the caller is that
    /// frame's executor.
    [[nodiscard]] static activation* taken(scope_core& s) noexcept {
        san::acquire(&s);
        s.m_children.add();
        activation* const owner = s.owner();
        owner->ctx->change(context_state::offered, context_state::running);
        san::release(&s);
        return owner;
    }
    [[nodiscard]] static scope_node* link(scope_core& s) noexcept { return &s.m_link; }
    /// The owner of `s`, for a task below `s`. The owner does not change before that task has ended.
    [[nodiscard]] static activation* owner(const scope_core& s) noexcept { return s.owner(); }
    /// The scope that a task at `place` is in.
    [[nodiscard]] static scope_core* of(scope_node* place) noexcept {
        return reinterpret_cast<scope_core*>(scope_node::strip(place)); // its first member
    }
    [[nodiscard]] static const continuation* rest(const scope_core& s) noexcept {
        return &s.m_link.head().rest;
    }
    /// The name of the edge from the end of a child to sync. The edge from a task to its children has
    /// another name, the scope's own address. A child must not be ordered before its parent's next
    /// statement.
    [[nodiscard]] static const void* ends(const scope_core* s) noexcept { return &s->m_children; }
    /// Counts the end of a child. True: it was the last one the parent waits for. False: the scope may be
    /// gone.
    [[nodiscard]] static bool finish_one(scope_core& s) noexcept { return s.m_children.finish_one(); }
    [[nodiscard]] static std::uintptr_t waiter(const scope_core& s) noexcept { return s.m_waiter; }
    /// Called by the owner. True: no child is left that a sync() would have to wait for, cancelled or not.
    [[nodiscard]] static bool empty(const scope_core& s) noexcept {
        return s.m_children.pending() == 0 && (s.cancel_state().load(rlx) & ~cancel_flag::stops) == 0;
    }
    /// True if the caller is the owner, and may use what is the owner's.
    [[nodiscard]] static bool is_owner(const scope& s) noexcept {
        const worker* w = this_worker();
        return s.owner() == (w != nullptr ? w->current.load(rlx) : activation_outside());
    }
    /// Makes a shield: tasks in `shield` are exempt from the exit of `against`. `shield` has no other use.
    static void raise(scope& shield, scope& against) noexcept {
        shield.m_link.head().rest.ip = &against.m_link;
        shield.cancel_state().store(cancel_flag::shielded, rlx);
    }
    /// Ends a shield that raise() made.
    static void lower(scope& shield) noexcept {
        shield.cancel_state().fetch_and(~cancel_flag::shielded, rlx);
    }
    /// Changes the owner of an empty scope, because the owner goes on in another task.
    static void hand_to(scope_core& s, activation* owner) noexcept { s.m_owner.store(owner, rlx); }
    static void forget_children(scope_core& s) noexcept { s.forget_children(); }
    /// The number of children that are left. Called while the parent waits.
    [[nodiscard]] static std::int64_t left(const scope_core& s) noexcept { return s.m_children.left(); }
};

/// Ends a forked or submitted child away from the parent's stack. Returns the suspension to resume.
PILFER_API suspension* child_ended(scope_core* s, worker* w) noexcept;

/// Gives a context back if moving the function to it throws.
struct context_guard {
    context* c;
    ~context_guard() {
        if (c != nullptr) {
            detail::put_context(this_worker(), c);
        }
    }
};

/// Functions of more than 128 bytes are forked through a pointer.
template <class F>
struct boxed {
    std::unique_ptr<F> function;
    void operator()() { (*function)(); }
};

template <class F>
using forkable = std::conditional_t<sizeof(F) <= 128 && alignof(F) <= 16, F, boxed<F>>;

template <class F>
struct forked : spark {
    F function;

    static constexpr unsigned size_class() noexcept {
        return sizeof(free_record) + sizeof(forked) <= record_bytes[0] ? 0 : 1;
    }

    template <class G>
    forked(scope_core* s, G&& g)
        : spark(&forked::run_child, scope_access::link(*s)), function(std::forward<G>(g)) {}
    [[nodiscard]] task_word entry() noexcept {
        return reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_forked;
    }
    /// `w` null: the child runs on top of the frame that awaits it, and the owner of that frame does the
    /// counting.
    static suspension* run_child(spark* self, worker* w) noexcept {
        auto* d = static_cast<forked*>(self);
        scope_core* s = scope_access::of(d->parent());
        san::acquire(s);
        if (s->drops()) {
            detail::count_dropped(this_worker());
        } else {
            PILFER_TRY { d->function(); }
            PILFER_CATCH_ALL { s->fail(); }
        }
        std::destroy_at(d);
        worker* now = this_worker();
        detail::put_record(now, size_class(), d);
        san::release(scope_access::ends(s));
        return w != nullptr ? detail::child_ended(s, now) : nullptr;
    }
};

/// A child that goes through a submission queue: its scope is of a foreign thread or in another pool.
template <class F>
struct submitted_child : submission {
    scope_core* owner;
    F function;

    template <class G>
    submitted_child(scope_core* s, G&& g) : owner(s), function(std::forward<G>(g)) {
        run = &submitted_child::run_child;
        set_parent(scope_access::link(*s));
    }
    static void destroy(submission* self) noexcept { delete static_cast<submitted_child*>(self); }
    static suspension* run_child(spark* self, worker* w) noexcept {
        auto* c = static_cast<submitted_child*>(static_cast<submission*>(self));
        scope_core* s = c->owner;
        san::acquire(s);
        if (detail::dropping(w)) {
            (void)s->note_failure(detail::dropped_error());
            detail::count_dropped(w);
        } else if (s->drops()) {
            detail::count_dropped(w);
        } else {
            PILFER_TRY { c->function(); }
            PILFER_CATCH_ALL { s->fail(); }
        }
        delete c;
        worker* now = this_worker();
        detail::end_outstanding(now);
        san::release(scope_access::ends(s));
        return detail::child_ended(s, now);
    }
};

} // namespace detail

template <class F>
PILFER_ALWAYS_INLINE void detail::scope_core::spawn(F&& f) {
    using child = detail::spawned<std::decay_t<F>>;
    if constexpr (detail::fits_on_context<std::decay_t<F>>) {
        detail::worker* w = detail::this_worker();
        [[maybe_unused]] detail::activation*
            me; // the owner: not from m_owner, which would be loaded once more
        if (w != nullptr && detail::std_atom::is(m_owner, me = w->current.load(detail::rlx)) && !drops() &&
            w->exceptions->empty()) [[likely]] {
            if (detail::context* const c = detail::take_context(w)) [[likely]] {
                detail::context_guard guard{c};
                auto* k = ::new (c->place(sizeof(child), child::align)) child{std::forward<F>(f)};
                guard.c = nullptr;
                if constexpr (!std::is_trivially_copyable_v<std::decay_t<F>>) {
                    w = detail::this_worker(); // moving f may have suspended
                }
                w->current.store(&c->self, detail::rlx);
                c->self.node.store(&m_link, detail::rlx);
#if defined(PILFER_TEST)
                c->test.begin(me->ctx->test.next());
#endif
                detail::san::leave(&me->ctx->view, c->view, this);
                detail::call_on(k, &m_link.head().rest, &child::main);
                detail::san::enter(me->ctx->view);
                detail::san::acquire(this);
                detail::arrive();
                return;
            }
        }
    }
    // A copy, so that the usual f need not have an address: its members go from registers to the child's
    // stack. (Two stores read back by one wide load cost a third of a spawn.)
    spawn_cold(std::decay_t<F>(std::forward<F>(f)));
}

template <class F>
PILFER_ALWAYS_INLINE void detail::scope_core::spawn(const task_options& o, F&& f) {
    using function = std::decay_t<F>;
    detail::check_child(o);
    if (o.name.empty()) {
        spawn(detail::weighted<function>{std::forward<F>(f), o.weight});
    } else {
        using named = detail::named_function<function>;
        spawn(detail::weighted<named>{named(detail::checked_name(o.name), std::forward<F>(f)), o.weight});
    }
}

template <class F>
PILFER_COLD void detail::scope_core::spawn_cold(F&& f) {
    detail::worker* w = detail::this_worker();
    if (owner() == detail::activation_outside()) {
        submit_child(std::forward<F>(f));
        return;
    }
    if (w == nullptr || w->current.load(detail::rlx) != owner()) {
        not_owner("spawn");
    }
    if (drops() || (!is_cleanup(w) && detail::stopped_here(w))) {
        drop_or_leave(w);
        return;
    }
    // There is no stack, a catch block is active, or the function is too large. So the child is a plain
    // call on top of the caller, and the caller's rest is not announced.
    if (detail::fits_on_context<std::decay_t<F>> && w->exceptions->empty()) {
        detail::count_plain_call(w);
    }
    std::decay_t<F> function(std::forward<F>(f));
    w = detail::this_worker(); // moving f may have suspended
    // Nothing is announced here, so no other check would make way for a task that waits for this worker.
    if (w->deque.signal().has(detail::signal_word<detail::std_atom>::yield_request)) {
        detail::attend(w);
        w = detail::this_worker();
    }
    detail::nested_activation child(w, &m_link);
    child.reports_locks_as_below();
    if (detail::stopped_here(w)) { // the caller holds a lock and is not stopped, but its child is
        detail::count_dropped(w);
        return;
    }
    PILFER_TRY { function(); }
    PILFER_CATCH_ALL { fail(); }
}

template <class F>
PILFER_ALWAYS_INLINE void detail::scope_core::fork(F&& f) {
    using child = detail::forked<detail::forkable<std::decay_t<F>>>;
    detail::worker* w = detail::this_worker();
    if (w != nullptr && detail::std_atom::is(m_owner, w->current.load(detail::rlx)) && !drops()) [[likely]] {
        auto* c = make_forked<child>(w, std::forward<F>(f));
        if constexpr (!std::is_trivially_copyable_v<std::decay_t<F>>) {
            w = detail::this_worker(); // moving f may have suspended
        }
        m_children.add();
        detail::san::release(this);
        if (detail::push_task(w, c->entry())) [[unlikely]] {
            fork_signalled(w, c, true);
        }
        return;
    }
    // A copy, so that the usual f need not have an address: see spawn.
    fork_below(std::decay_t<F>(std::forward<F>(f)));
}

/// Puts f into a record. Throws std::bad_alloc and what moving f throws.
template <class Child, class F>
PILFER_ALWAYS_INLINE Child* detail::scope_core::make_forked(detail::worker* w, F&& f) {
    using function = decltype(Child::function);
    void* memory = detail::take_record(w, Child::size_class());
    PILFER_TRY {
        if constexpr (std::is_same_v<function, std::decay_t<F>>) {
            return ::new (memory) Child(this, std::forward<F>(f));
        } else {
            return ::new (memory)
                Child(this, function{std::make_unique<std::decay_t<F>>(std::forward<F>(f))});
        }
    }
    PILFER_CATCH_ALL {
        detail::put_record(detail::this_worker(), Child::size_class(), memory);
        PILFER_RETHROW;
    }
}

/// Goes on with the announcement of `c`, which has hit the signal word.
template <class Child>
PILFER_COLD void detail::scope_core::fork_signalled(detail::worker* w, Child* c, bool own) {
    (void)is_cleanup(w); // before others can take the child
    if (!detail::announce_signalled(w, c->entry(), detail::way::keep)) [[unlikely]] {
        run_unannounced(c, own);
    }
    // The child has the function by now, and may run. A caller that is stopped leaves at its next call.
    (void)detail::stopped_here(detail::this_worker());
}

/// Runs `c` on top of the caller: there is no memory for its announcement.
template <class Child>
void detail::scope_core::run_unannounced(Child* c, bool own) {
    detail::nested_activation me(detail::this_worker(), c->parent());
    (void)detail::stopped_here(detail::this_worker()); // marks this scope: the child does not start
    Child::run_child(c, nullptr);
    if (own) {
        m_children.complete();
    } else {
        (void)m_children.finish_one(); // never the last: the caller is below and unfinished
    }
}

/// Forks f. The caller is a task below the scope, on the owner's stack or on any other one. Or it is no
/// task of the scope's pool.
template <class F>
PILFER_NOINLINE void detail::scope_core::fork_below(F&& f) {
    fork_from_anywhere(std::forward<F>(f), [this](detail::worker* w, auto* c, bool own) {
        if (detail::push_task(w, c->entry())) [[unlikely]] {
            this->fork_signalled(w, c, own);
        }
    });
}

template <class F>
void detail::scope_core::fork(const task_options& o, F&& f) {
    detail::check_child(o);
    detail::with_name(o, std::forward<F>(f), [&](auto&& function) {
        fork_from_anywhere(
            std::forward<decltype(function)>(function), [this, &o](detail::worker* w, auto* c, bool own) {
                if (!detail::announce_weighted(w, c->entry(), o.weight, detail::way::keep)) [[unlikely]] {
                    this->run_unannounced(c, own);
                }
                (void)detail::stopped_here(detail::this_worker()); // as in fork_signalled()
            });
    });
}

/// Forks f. `announce(worker, child, own)` puts the child on the deque. `own`: it runs on the owner's
/// stack.
template <class F, class Announce>
PILFER_ALWAYS_INLINE void detail::scope_core::fork_from_anywhere(F&& f, Announce announce) {
    using child = detail::forked<detail::forkable<std::decay_t<F>>>;
    detail::worker* w = detail::this_worker();
    if (w == nullptr || outside() || w->pool != owner()->ctx->pool) [[unlikely]] {
        submit_child(std::forward<F>(f));
        return;
    }
    if (drops()) [[unlikely]] {
        drop_or_leave(w);
        return;
    }
    (void)is_cleanup(w);
    detail::leave_if_stopped(); // before f is taken: this scope may be none of those that are stopped
    auto* c = make_forked<child>(w, std::forward<F>(f));
    w = detail::this_worker(); // moving f may have suspended
    const bool own = on_own_stack(w);
    if (own) {
        m_children.add();
    } else {
        detail::share_from_below(w, &m_link);
        announce_from_below();
    }
    detail::san::release(this);
    announce(w, c, own);
}

template <class F>
PILFER_COLD void detail::scope_core::submit_child(F&& f) {
    if (takes_submission()) {
        using child = detail::submitted_child<std::decay_t<F>>;
        // Not in a unique_ptr: for each function the compiler would need as long for that as for all the
        // rest of spawn.
        submit_made(new child(this, std::forward<F>(f)), &child::destroy);
    }
}

} // namespace v0
} // namespace pilfer
