// scope: a task's children, started by `spawn` (the rest of the caller is offered to thieves) or `fork`
// (the child is offered), and awaited by `sync`.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/cancel.hpp>
#include <pilfer/detail/handover.hpp>
#include <pilfer/detail/outcome.hpp>
#include <pilfer/detail/runtime.hpp>
#include <pilfer/detail/scope_owner.hpp>
#include <pilfer/detail/wait.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {

class scope;

namespace detail {
template <class F>
struct spawned;
template <class F>
struct forked;
template <class F>
struct submitted_child;
struct scope_access;
} // namespace detail

/// Lives in a frame; the task that made it owns it. Only the owner may call spawn and sync; every task
/// below may fork into it. Not movable: children point at it.
///
/// It ends in the task that made it, before that task does; the scopes of one task may end in any order. One
/// that another task destroys, or that outlives its task, is undefined behaviour: its place among the
/// enclosing scopes is a word of its task. The checked build says so.
///
/// The branches of a join and the bodies of a loop run as their caller, so they may use its scopes as the
/// owner does as long as they run on its stack; stolen ones get usage_error.
class PILFER_API scope {
public:
    /// Outside a pool the children run in pool::common().
    scope() noexcept : scope(detail::this_activation()) {}
    /// With resume::own_thread each sync(), and the destructor, returns on the thread that called it,
    /// whatever the pool's rule and whatever ran on this stack meanwhile: for thread-locals, errno or a
    /// std::mutex across a wait, if no other task of the pool locks that one: they run on this thread
    /// meanwhile, children among them. (The rest of a spawn moves as ever.) Costs a suspension where the
    /// frame would go on elsewhere. A thread that only visits the pool (options.attachable) may have left:
    /// then it goes on on any. With resume::anywhere the pool's rule holds. Throws std::invalid_argument for
    /// others.
    explicit scope(resume where) : scope() { m_link.head().comes_home = checked_home(where); }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    /// Waits for every child. An exception of a child that no sync() has rethrown is counted as
    /// suppressed while another one is in flight; otherwise std::terminate is called.
    ~scope() {
        detail::standing* owner = m_owner.word();
        // One branch for both questions: has any child to be waited for, and is this the task's innermost
        // one?
        const auto innermost = reinterpret_cast<std::uintptr_t>(owner->innermost.load(detail::rlx));
        if ((disturbance() | (innermost ^ owners_place_again())) != 0) [[unlikely]] {
            again().destroy_cold();
            return;
        }
        detail::san::acquire(&m_children);
        owner->innermost.store(m_link.above(), detail::rlx);
        check_end();
    }

    /// Runs f at once on another stack and offers the rest of the caller to idle workers. The next line
    /// may run on another thread; locals keep their addresses. On one worker the order of effects is
    /// that of a plain call. After a child has failed, which cancels the scope, f is dropped and counted.
    ///
    /// f is moved to the new stack. Where no stack can be had, inside a catch block, and if f takes more
    /// than 2 KiB or is aligned to more than 64 bytes, it runs as a plain call. On a thread that is no worker
    /// f is a submission to pool::common(): it runs there while the caller goes on, and shutdown(drop) of
    /// that pool makes sync() throw broken_promise. Throws usage_error if the caller does not own the scope,
    /// pool_closed if f would be a submission to a pool that was shut down, and what moving f throws; f's own
    /// exceptions arrive at sync(). Cost: two switches of the stack, no atomic read-modify-write. Source:
    /// Frigo, Leiserson and Randall, PLDI 1998.
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(F&& f);

    /// The same with a weight, of the rest of the caller, or a name, of f. Throws what spawn(f) throws, and
    /// std::invalid_argument. Cost: as spawn(f), and some nanoseconds for the announcement.
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(const task_options& o, F&& f);

    /// Offers f to idle workers and goes on. Children that nobody took run at sync(), newest first.
    /// Allowed to the owner and to every task below the scope; to any other task of the pool, an async for
    /// one, as long as it ends before the owner calls sync() and no enclosing scope ends during the call.
    /// From another stack than the owner's it makes the scope shared(). After a child has failed f is dropped
    /// and counted. An f of up to 128 bytes, aligned to no more than 16, is stored in a recycled record; any
    /// other costs an allocation. From the owner outside a pool, and from a worker of another pool, f is a
    /// submission, as with spawn: pool_closed, queue_full where that pool has a bound, or broken_promise at
    /// sync(). Throws usage_error from a thread that is neither a worker nor the owner, std::bad_alloc, and
    /// what moving f throws.
    template <class F>
    PILFER_ALWAYS_INLINE void fork(F&& f);

    /// The same with a weight or a name. Throws what fork(f) throws, and std::invalid_argument. Cost: as
    /// fork(f), and some nanoseconds for the announcement.
    template <class F>
    void fork(const task_options& o, F&& f);

    /// Waits for all children, then rethrows the first exception of any. That one has cancelled the scope
    /// (see cancel()) as soon as it left its child, so that the siblings end early; `stopped`, by which they
    /// leave, is no exception here. Children that nobody started run here, newest first; then the context
    /// suspends and the worker goes on with other work. Who holds a lock of the library, or is awaited by
    /// such a task, first runs here also those that other workers have taken and not started, as far as they
    /// are found, and makes no way for queued tasks in between. The scope may be used again afterwards,
    /// cancelled or not. Throws usage_error if the caller does not own the scope. Cost with nothing stolen or
    /// forked: four loads.
    PILFER_ALWAYS_INLINE void sync() {
        detail::worker* w = detail::this_worker();
        // Whose scope it is comes first: the counts are plain words of the owner.
        if (w == nullptr || !m_owner.is(w->current.load(detail::rlx))) [[unlikely]] {
            again().sync_cold();
        } else if (undisturbed()) {
            detail::san::acquire(&m_children);
        } else {
            again().sync_children(w);
        }
    }

    /// Stops every task below of this scope: children that have not started never start; a running one gets
    /// `stopped` at its next spawn, fork, join, loop or wait, and leaves by it; who waits for a time, a
    /// future, a channel, an event, at a barrier or in lock_cancellable() is taken out at once; so is a
    /// coroutine that such a task runs (docs/coroutines.md). One that holds a pilfer::mutex or shared_mutex,
    /// or is inside a call of a `synchronized` or `monitor` object, is stopped behind the unlock, and so is
    /// what it does in scopes that began under the lock. What it spawns or forks meanwhile into older scopes
    /// of its own, even into one that is cancelled, is not stopped as long as the lock is held, and behind
    /// that is a child as any: what has to be done before the unlock has to be awaited before it. (A
    /// condition's wait is an unlock.) Of several locks those count that it took since the scope began, as
    /// long as they end in the reverse order. sync() waits for the ends of all as ever, and returns; behind
    /// it the scope may be used again. The owner itself is not stopped: its further children are dropped
    /// until then, but for such of a holder. Dropped ones are counted.
    ///
    /// A holder of a lock that waits for what a stopped task was to bring (a value, a notification, a
    /// release) waits on, and if nobody else brings it sync() never returns: under a lock wait only for what
    /// is not cancelled with you, or with a time limit. A stolen branch of a join, and what pool::run has
    /// submitted, is not stopped before it ends where a lock was held as it was announced, even if that is
    /// free by then.
    ///
    /// Allowed to the owner, to every task below, and to whoever else knows that the scope lives during the
    /// call, on any thread. An exception of a child is rethrown by sync() all the same. May be called again.
    /// Cost: one write to each worker of the process, and a look at those that wait below of any scope; until
    /// the scope is through (and as long as any join is not through one of whose stolen branches has thrown),
    /// each spawn, join and fork of the process takes its slow path: some 20 ns more, and a look at each
    /// scope on the way up to the first that says so.
    void cancel() noexcept;

    /// Was cancel() called, or has a child failed, since the last sync() began to return? Cost: one relaxed
    /// load.
    [[nodiscard]] bool cancelled() const noexcept {
        return (disturbed().load(detail::rlx) & detail::disturb::requested) != 0;
    }

    /// As sync(), but waits for at most `d`, negative and endless durations included. True: all children have
    /// ended. False: some have not; nothing is rethrown, the scope can be used and awaited again, and its
    /// destructor waits for them. Unlike sync() it runs no children itself, which might take longer: those
    /// that nobody has started run on the workers, the caller's among them while it waits. A `d` that is not
    /// above 0, or over already, waits as yield() does, so that a loop of such calls keeps no child from
    /// running. Cost: a suspension and an alarm, unless all have ended.
    template <class Rep, class Period>
    [[nodiscard]] bool sync_for(std::chrono::duration<Rep, Period> d) {
        return sync_within(detail::after(d));
    }
    /// The same until `t`, by what its clock says now.
    template <class Clock, class Duration>
    [[nodiscard]] bool sync_until(const std::chrono::time_point<Clock, Duration>& t) {
        return sync_within(detail::at(t));
    }

    /// May others than this worker reach this scope? False until a task below it is exposed to thieves, or
    /// its frame or one below it waits where another worker may go on with it, or a task on another stack
    /// forks into it; then true for good, and for all enclosing scopes. A call of a `monitor` object that
    /// waits for its condition makes it true only once its frame goes on on another worker. On a pool of one
    /// worker nothing is shared, except by submissions from outside it. The owner may see it late. Cost: one
    /// relaxed load.
    [[nodiscard]] bool shared() const noexcept { return m_link.shared(); }

    /// How many exceptions beside the rethrown one the last sync() that threw swallowed.
    [[nodiscard]] std::uint64_t suppressed() const noexcept { return m_link.head().threw ? m_suppressed : 0; }

private:
    template <class F>
    friend struct detail::spawned;
    template <class F>
    friend struct detail::forked;
    template <class F>
    friend struct detail::submitted_child;
    friend struct detail::scope_access;

    explicit scope(detail::activation* owner) noexcept
        : m_link(owner->innermost.load(detail::rlx)), m_owner(owner) {
        owner->innermost.store(reinterpret_cast<detail::scope_place*>(owners_place_again()), detail::rlx);
    }
    [[nodiscard]] static bool checked_home(resume where);
    void leave() noexcept;
    void settle_at_end() noexcept;
    void destroy_cold() noexcept;
    void sync_cold();
    [[nodiscard]] std::uint32_t end_of_round() noexcept;
    void wait_and_rethrow(detail::worker* home);
    void rethrow_first();
    [[nodiscard]] bool sync_within(std::uint64_t until);
    [[nodiscard]] bool wait_until(std::uint64_t until) noexcept;
    [[nodiscard]] bool wait_until_as_task(detail::worker* w, std::uint64_t until) noexcept;
    void sync_children(detail::worker* w);
    void wait_for_children(detail::worker* home) noexcept;
    void come_home(detail::worker* home) noexcept;
    void block_for_children() noexcept;
    [[nodiscard]] bool run_newest_child(detail::worker* w) noexcept;
    void run_taken(detail::spark* d);
    [[nodiscard]] bool reclaim_child(detail::worker* w, detail::task_word entry,
                                     const detail::scope_place* place) noexcept;
    [[nodiscard]] static detail::spark* child_at(detail::task_word entry,
                                                 const detail::scope_place* place) noexcept;
    [[nodiscard]] std::atomic<std::uint32_t>& disturbed() noexcept { return m_link.head().disturbed; }
    [[nodiscard]] const std::atomic<std::uint32_t>& disturbed() const noexcept {
        return m_link.head().disturbed;
    }
    /// 0: no child is to be waited for.
    [[nodiscard]] std::uint64_t disturbance() const noexcept {
        return static_cast<std::uint64_t>(m_children.owed()) | disturbed().load(detail::rlx);
    }
    [[nodiscard]] bool undisturbed() const noexcept { return disturbance() == 0; }
    void check_end() const noexcept {
        detail::ensure([this] { return m_children.at_rest(); },
                       "a scope ended while children of it were left");
        detail::ensure([this] { return detail::this_activation() == owner(); },
                       "a scope was destroyed by a task that does not own it");
    }
    void announce_from_below() noexcept {
        disturbed().fetch_or(detail::disturb::from_below, detail::rlx);
        m_children.announce_from_below();
    }
    /// Children that have not started never start: one has thrown, or they are stopped.
    [[nodiscard]] bool drops() const noexcept {
        return (disturbed().load(detail::rlx) & detail::disturb::drops) != 0;
    }
    /// Does the running task, if it owns this scope, unwind, and has the scope begun since then? Then what is
    /// below is not stopped from further out. Before anything is announced there.
    PILFER_COLD bool is_cleanup(const detail::worker* w) noexcept;
    /// Before the owner waits: a stopped one's children do not start.
    void look_for_children(detail::worker* w) noexcept;
    /// Drops a child. Throws stopped if whoever offers it is stopped, too.
    void drop_or_leave(detail::worker* w);
    [[noreturn]] void not_owner(const char* call) const;
    /// Notes the error, and cancels nothing; returns the word `disturbed` as it was before.
    std::uint32_t note_failure(std::exception_ptr error) noexcept;
    void forget_children() noexcept;
    /// In a handler: with the exception that it handles; cancels the scope, unless that is a `stopped`. No
    /// object of it in the frame that calls a child.
    PILFER_COLD void fail() noexcept;
    /// The owner is a thread that is no worker.
    [[nodiscard]] bool outside() const noexcept { return m_owner.get()->ctx == nullptr; }
    /// Caller on the owner's own stack: plain counting will do.
    [[nodiscard]] bool on_own_stack(const detail::worker* w) const noexcept {
        return w->current.load(detail::rlx)->ctx == m_owner.get()->ctx;
    }
    /// The owner, or whoever asks whether it is.
    [[nodiscard]] detail::activation* owner() const noexcept { return m_owner.get(); }
    /// Does the running task announce here under a lock of the owner that is younger than this scope? Then
    /// the child's place is as_given(), and the unlock will know. It begins at once.
    [[nodiscard]] bool gives_under_lock(const detail::worker* w) noexcept;
    [[nodiscard]] detail::task_word entry() noexcept {
        return reinterpret_cast<detail::task_word>(this) | detail::kind_continuation;
    }
    /// For calls off the fast path: see address_again().
    [[nodiscard]] PILFER_ALWAYS_INLINE scope& again() noexcept {
        return *reinterpret_cast<scope*>(detail::address_again(*this));
    }
    /// scope_place::as_owner(&m_link), computed by one instruction.
    [[nodiscard]] PILFER_ALWAYS_INLINE std::uintptr_t owners_place_again() noexcept {
        return detail::address_again(reinterpret_cast<char*>(&m_link)[1]);
    }
    /// The same after a call, computed anew rather than kept in a register.
    [[nodiscard]] PILFER_ALWAYS_INLINE detail::task_word entry_again() noexcept {
        scope* self = this;
        asm("" : "+r"(self));
        return reinterpret_cast<detail::task_word>(self) | detail::kind_continuation;
    }
    template <class F>
    PILFER_COLD void spawn_cold(F&& f);
    template <class F>
    [[nodiscard]] bool spawn_under_lock(detail::worker* w, F& f);
    template <class F>
    PILFER_COLD void submit_child(F&& f);
    /// False: the child was dropped. `given`: its place is as_given().
    [[nodiscard]] bool takes_submission(bool& given);
    /// Takes `child`, and destroys it where it throws.
    void submit_made(detail::submission* child, void (*destroy)(detail::submission*) noexcept, bool given);
    template <class F>
    PILFER_NOINLINE void fork_below(F&& f);
    template <class F, class Announce>
    PILFER_ALWAYS_INLINE void fork_from_anywhere(F&& f, Announce announce);
    template <class Child>
    PILFER_COLD void fork_tripped(detail::worker* w, Child* c, bool own);
    template <class Child>
    void run_unannounced(Child* c, bool own);
    template <class Child, class F>
    [[nodiscard]] PILFER_ALWAYS_INLINE Child* make_forked(detail::worker* w, F&& f);

    detail::scope_place m_link; // first: an entry of kind_continuation is the address of the scope
    detail::child_counter<detail::std_atom> m_children;
    detail::scope_owner<detail::std_atom, detail::standing, detail::activation> m_owner;
    // Nothing below is initialised: the usual scope never uses it.
    std::uintptr_t m_waiter; // set before the counter is published
    std::uint32_t m_suppressed;
    struct diverted {
        std::atomic<std::uint16_t> older_locks; // the owner's, before the one that made it so
        std::atomic<bool> gave{false};          // any child was announced under a lock
    };
    union {
        diverted m_diverted; // alive from the first diversion on
    };
    union {
        std::exception_ptr m_error; // alive while there are failures
    };
};

namespace detail {

/// The end of a child whose continuation was taken by somebody else; the context is given back.
[[noreturn]] PILFER_API void child_is_last_or_search(context* c, scope* s) noexcept;

/// The function of a child whose parent's rest has a weight.
template <class F>
struct weighted {
    F function;
    std::uint64_t rest;
    decltype(auto) operator()() { return function(); }
};
/// Announces the rest of the parent of `child`. False: there is no memory for that, or the child, which runs
/// here, is stopped before it begins; is_left_out() says which.
template <class F>
[[nodiscard]] PILFER_ALWAYS_INLINE bool announce_rest(worker* w, task_word rest, const F&) noexcept {
    if (push_task(w, rest)) [[unlikely]] {
        return detail::rest_tripped(w, rest);
    }
    return true;
}
template <class F>
[[nodiscard]] bool announce_rest(worker* w, task_word rest, const weighted<F>& child) noexcept {
    san::acquire(reinterpret_cast<const void*>(rest & ~kind_mask)); // what spawn has put on this stack
    detail::parent_looks(w);
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
    /// The same, computed anew rather than kept in a register while the function runs.
    [[nodiscard]] static PILFER_ALWAYS_INLINE context* context_again(void* top) noexcept {
        asm volatile("" : "+r"(top));
        return context_of(top);
    }
    static PILFER_SAME_FRAME void call(spawned* self, scope* s) noexcept {
        PILFER_TRY { self->function(); }
        PILFER_CATCH_ALL { s->fail(); }
        std::destroy_at(self);
        san::release(&s->m_children);
    }
    /// Everything main does between the switches: announces the rest of the parent, runs the function, and
    /// prepares the way back. Null: the rest was taken by somebody else.
    static PILFER_SAME_FRAME context* work(spawned* self, scope* s) noexcept {
        arrive();           // the announcement looks at what this thread set up for itself
        san::acquire(s);    // before the first look at it, and before a thief gives it a later edge
                            // Only here, off the parent's stack, may the rest of the parent be announced.
#if defined(PILFER_CHECKED) // an atomic load is made whether anybody wants it or not
        s->m_owner.of_offered()->ctx->change(context_state::running, context_state::offered);
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
    /// The rest of the parent lies announced; the child ends as any other.
    static PILFER_COLD context* never_begun(spawned* self, scope* s) noexcept {
        context_again(self)->job = nullptr;
        std::destroy_at(self);
        san::release(&s->m_children);
        return go_back(self, s);
    }
    /// The child has ended.
    static PILFER_SAME_FRAME context* go_back(spawned* self, scope* s) noexcept {
        worker* w = detail::reclaim(this_worker(), s->entry_again());
        if (w == nullptr) [[unlikely]] {
            context* c = context_again(self);
            if (c->job != c) {
                return nullptr;
            }
            c->job = nullptr; // it was never announced
            w = this_worker();
        }
        activation* const owner = s->m_owner.of_offered();
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
    // Not inlined: g++ would mark locals of inlined functions as out of scope in main too, which has no
    // instrumentation that takes such marks back, and the next user of the stack would be accused.
    static PILFER_NOINLINE context* work_seen(spawned* self, scope* s) noexcept { return work(self, s); }
#endif
    /// Entered on the child's stack; returns the continuation to go on with if it is still there.
    static PILFER_NO_SANITIZE continuation* main(void* top, continuation* rest) noexcept {
        auto* self = static_cast<spawned*>(top);
        auto* s = reinterpret_cast<scope*>(rest);
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

/// Larger functions run as plain calls rather than eat the new stack.
template <class F>
inline constexpr bool fits_on_context = sizeof(spawned<F>) <= 2048 && spawned<F>::align <= 64;

/// What the scheduler does to a scope whose continuation it took.
struct scope_access {
    /// Counts the theft and tells whose frame goes on. In the name of the frame's executor, which the
    /// caller is from now on.
    [[nodiscard]] static activation* taken(scope& s) noexcept {
        san::acquire(&s);
        s.m_children.owe();
        activation* const owner = s.m_owner.of_offered();
        owner->ctx->change(context_state::offered, context_state::running);
        san::release(&s);
        return owner;
    }
    [[nodiscard]] static scope_place* link(scope& s) noexcept { return &s.m_link; }
    /// Whoever it belongs to, for a task below of it: as long as that has not ended, nobody else.
    [[nodiscard]] static activation* owner(const scope& s) noexcept { return s.owner(); }
    /// The scope that somebody at this place stands in.
    [[nodiscard]] static scope* of(scope_place* place) noexcept {
        return reinterpret_cast<scope*>(scope_place::strip(place)); // its first member
    }
    /// The innermost scope that the task behind an entry is below of.
    [[nodiscard]] static scope_place* within(task_word entry) noexcept {
        const task_word at = entry & ~kind_mask;
        return (entry & kind_mask) == kind_continuation ? link(*reinterpret_cast<scope*>(at))
                                                        : reinterpret_cast<spark*>(at)->within_to_start();
    }
    [[nodiscard]] static const continuation* rest(const scope& s) noexcept { return &s.m_link.head().rest; }
    /// The name of the edge from the end of a child to sync. The one from a task to its children is the
    /// scope's own address: a child must not be ordered before its parent's next statement.
    [[nodiscard]] static const void* ends(const scope* s) noexcept { return &s->m_children; }
    /// A child has ended; true: it was the last one the parent waits for. False: the scope may be gone.
    [[nodiscard]] static bool finish_one(scope& s) noexcept { return s.m_children.finish_one(); }
    [[nodiscard]] static std::uintptr_t waiter(const scope& s) noexcept { return s.m_waiter; }
    /// No child of it is left that a sync() would have to wait for, cancelled or not. By the owner.
    [[nodiscard]] static bool empty(const scope& s) noexcept {
        return s.m_children.owed() == 0 && (s.disturbed().load(rlx) & ~disturb::stops) == 0;
    }
    /// May the caller use what is the owner's?
    [[nodiscard]] static bool is_owner(const scope& s) noexcept {
        const worker* w = this_worker();
        return s.owner() == (w != nullptr ? w->current.load(rlx) : activation_outside());
    }
    /// What stands in `shield`, which nobody uses otherwise, is excepted from the exit of `against`.
    static void raise(scope& shield, scope& against) noexcept {
        shield.m_link.head().rest.ip = &against.m_link;
        shield.disturbed().store(disturb::shields, rlx);
    }
    static void lower(scope& shield) noexcept { shield.disturbed().fetch_and(~disturb::shields, rlx); }
    /// The owner of an empty one goes on in another task.
    static void hand_to(scope& s, activation* owner) noexcept {
        s.m_owner.hand_to(owner);
        s.m_link.head().was_diverted = false; // the diversion names the owner that was
    }
    /// `owner` takes a lock beside so many, or has one less. True: look at the next one further out. False:
    /// the scope is not its own, or was diverted before and stays so; and so are those further out.
    [[nodiscard]] static inline bool divert(scope& s, activation* owner, unsigned locks) noexcept;
    [[nodiscard]] static inline bool end_diversion(scope& s, const activation* owner) noexcept;
    /// Were children announced under a lock? They may be stopped from its end on.
    [[nodiscard]] static bool gave(const scope& s) noexcept {
        return s.m_link.head().was_diverted && s.m_diverted.gave.load(rlx);
    }
    /// Of a scope of that owner, below of one that is older than a lock that is held beside `older_locks`:
    /// did it begin under that?
    [[nodiscard]] static bool begins_behind(const scope& s, unsigned older_locks) noexcept {
        return !s.m_link.head().held.load(acq) || s.m_diverted.older_locks.load(rlx) > older_locks;
    }
    static void forget_children(scope& s) noexcept { s.forget_children(); }
    /// While its parent waits.
    [[nodiscard]] static std::int64_t left(const scope& s) noexcept { return s.m_children.left(); }
};

/// The end of a forked or submitted child away from the parent's stack: whom to resume.
PILFER_API suspension* child_ended(scope* s, worker* w) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer

#include <pilfer/detail/scope_impl.hpp>
