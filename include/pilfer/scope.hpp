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
#include <pilfer/detail/worker/handover.hpp>
#include <pilfer/detail/worker/outcome.hpp>
#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/detail/worker/wait.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {

/// The children of a task: started by spawn() or fork(), awaited by sync() and by the destructor.
///
/// A scope is a local object of the task that makes it, its owner. Only the owner calls spawn() and sync();
/// the owner and every task below it may call fork(). Branches of a join and bodies of a loop count as their
/// caller while they run on its stack. The guide (docs/scopes.md) has the rules in full: who may call what,
/// what a cancellation reaches, and what holds for tasks that hold a lock.
class PILFER_API scope {
public:
    /// Outside a pool the children run in pool::common().
    scope() noexcept : scope(detail::this_activation()) {}
    /// `where`: resume::own_thread makes each sync() return on the thread that called it, for thread-locals,
    /// errno or a std::mutex across a wait; it may cost a suspension. resume::anywhere: as the pool says.
    /// Throws std::invalid_argument for any other.
    explicit scope(resume where) : scope() { m_link.head().comes_home = checked_home(where); }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    /// Waits for every child. Calls std::terminate if a child has thrown and no sync() has rethrown it,
    /// unless another exception is in flight.
    ~scope() {
        detail::activation* owner = m_owner.load(detail::rlx);
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

    /// Runs f at once, on another stack, and offers the rest of the caller to idle workers.
    ///
    /// The next line may run on another thread; locals keep their addresses. On one worker the order of
    /// effects is that of a plain call. f runs as a plain call where no stack can be had, inside a catch
    /// block, and if it takes more than 2 KiB or an alignment above 64 bytes. On a thread that is no worker f
    /// is submitted to pool::common(). In a cancelled scope f is dropped and counted. Throws usage_error if
    /// the caller is not the owner, pool_closed where f would be submitted, and what moving f throws. What f
    /// throws comes out of sync(). Cost: two switches of the stack, no atomic read-modify-write. Source:
    /// Frigo, Leiserson and Randall, PLDI 1998.
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(F&& f);

    /// The same with a weight, of the rest of the caller, or a name, of f. Throws what spawn(f) throws, and
    /// std::invalid_argument. Cost: as spawn(f), and some nanoseconds for the announcement.
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(const task_options& o, F&& f);

    /// Offers f to idle workers and goes on. Children that nobody has taken run in sync(), newest first.
    ///
    /// f is copied into a recycled record; above 128 bytes, or an alignment above 16, it is allocated.
    /// Outside a pool and from a worker of another pool f is submitted, as by spawn(). In a cancelled scope f
    /// is dropped and counted. Throws usage_error on a thread that is neither a worker nor the owner,
    /// pool_closed and queue_full where f would be submitted, std::bad_alloc, and what moving f throws. Cost:
    /// no atomic read-modify-write.
    template <class F>
    PILFER_ALWAYS_INLINE void fork(F&& f);

    /// The same with a weight or a name. Throws what fork(f) throws, and std::invalid_argument. Cost: as
    /// fork(f), and some nanoseconds for the announcement.
    template <class F>
    void fork(const task_options& o, F&& f);

    /// Waits for all children, then rethrows the first exception of any of them.
    ///
    /// The first exception cancels the scope, so that the siblings end early; suppressed() counts the others.
    /// Children that nobody has started run here, newest first; then the context suspends and the worker does
    /// other work. The scope may be used again afterwards, cancelled or not.
    /// Throws usage_error if the caller is not the owner. Cost with nothing stolen or forked: four loads.
    PILFER_ALWAYS_INLINE void sync() {
        detail::worker* w = detail::this_worker();
        // Whose scope it is comes first: the counts are plain words of the owner.
        if (w == nullptr || !detail::std_atom::is(m_owner, w->current.load(detail::rlx))) [[unlikely]] {
            again().sync_cold();
        } else if (undisturbed()) {
            detail::san::acquire(&m_children);
        } else {
            again().sync_children(w);
        }
    }

    /// Cancels every task below this scope; the owner itself goes on.
    ///
    /// Children that have not started never start. A running one gets `stopped` at its next spawn, fork,
    /// join, loop or wait; a wait for a time, a future, a channel, an event or a barrier ends at once. A task
    /// that holds a lock of the library finishes first: it is stopped after the unlock. sync() waits for all
    /// of them, and then the scope may be used again. Under a lock wait only for what is not cancelled with
    /// you. Any task or thread may call it while the scope lives, more than once. Cost: one write to each
    /// worker of the process and a look at each task that waits below a scope. While it is under way each
    /// spawn, join and fork of the process takes its slow path.
    void cancel() noexcept;

    /// True if cancel() was called or a child has failed, since the last sync() began to return. Cost: one
    /// load.
    [[nodiscard]] bool cancelled() const noexcept {
        return (disturbed().load(detail::rlx) & detail::disturb::requested) != 0;
    }

    /// As sync(), but waits for at most `d`. Returns whether all children have ended; if not, nothing is
    /// rethrown and the scope can be awaited again. Runs no children itself: they run on the workers
    /// meanwhile. A `d` of 0 or less waits as yield() does. Cost: a suspension and an alarm, unless all have
    /// ended.
    template <class Rep, class Period>
    [[nodiscard]] bool sync_for(std::chrono::duration<Rep, Period> d) {
        return sync_within(detail::after(d));
    }
    /// The same until `t`, by what its clock says now.
    template <class Clock, class Duration>
    [[nodiscard]] bool sync_until(const std::chrono::time_point<Clock, Duration>& t) {
        return sync_within(detail::at(t));
    }

    /// True if tasks of other workers may reach this scope; it never becomes false again. Until then the
    /// scope is plain memory of one worker. The owner may see it late. Cost: one load.
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
    [[nodiscard]] bool reclaim_child(detail::worker* w, detail::task_word entry) noexcept;
    [[nodiscard]] detail::spark* child_at(detail::task_word entry) const noexcept;
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
    [[nodiscard]] bool outside() const noexcept { return owner()->ctx == nullptr; }
    /// Caller on the owner's own stack: plain counting will do.
    [[nodiscard]] bool on_own_stack(const detail::worker* w) const noexcept {
        return w->current.load(detail::rlx)->ctx == owner()->ctx;
    }
    [[nodiscard]] detail::activation* owner() const noexcept { return m_owner.load(detail::rlx); }
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
    PILFER_COLD void submit_child(F&& f);
    /// False: the child was dropped.
    [[nodiscard]] bool takes_submission();
    /// Takes `child`, and destroys it where it throws.
    void submit_made(detail::submission* child, void (*destroy)(detail::submission*) noexcept);
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
    std::atomic<detail::activation*> m_owner; // changes only with a coroutine, while there are no children
    // Nothing below is initialised: the usual scope never uses it.
    std::uintptr_t m_waiter; // set before the counter is published
    std::uint32_t m_suppressed;
    union {
        std::exception_ptr m_error; // alive while there are failures
    };
};

} // namespace v0
} // namespace pilfer

#include <pilfer/detail/scope/scope_impl.hpp>
