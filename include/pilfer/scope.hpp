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
#include <pilfer/detail/cancel/cancel.hpp>
#include <pilfer/detail/fwd.hpp>
#include <pilfer/detail/scope/scope_owner.hpp>
#include <pilfer/detail/worker/handover.hpp>
#include <pilfer/detail/worker/outcome.hpp>
#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/detail/worker/wait.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {

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

} // namespace v0
} // namespace pilfer

#include <pilfer/detail/scope/scope_impl.hpp>
