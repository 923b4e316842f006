// scope: a task's children, started by `spawn` (the rest of the caller is offered to thieves) or `fork`
// (the child is offered), and awaited by `sync`.
#pragma once

#include <chrono>
#include <cstdint>
#include <utility>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/scope/scope_core.hpp>
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
class PILFER_API scope : detail::scope_core {
public:
    /// Outside a pool the children run in pool::common().
    scope() noexcept : scope_core(detail::this_activation()) {}
    /// `where`: resume::own_thread makes each sync() return on the thread that called it, for thread-locals,
    /// errno or a std::mutex across a wait; it may cost a suspension. resume::anywhere: as the pool says.
    /// Throws std::invalid_argument for any other.
    explicit scope(resume where) : scope() { m_link.head().comes_home = checked_home(where); }
    scope(const scope&) = delete;
    scope& operator=(const scope&) = delete;
    /// Waits for every child. Calls std::terminate if a child has thrown and no sync() has rethrown it,
    /// unless another exception is in flight.
    ~scope() = default;

    /// Runs f at once, on another stack, and offers the rest of the caller to idle workers.
    ///
    /// The next line may run on another thread; locals keep their addresses. On one worker the order of
    /// effects is that of a plain call. f runs as a plain call if no stack is available, inside a catch
    /// block, and above 2 KiB or an alignment of 64 bytes. On a thread that is no worker f is submitted to
    /// pool::common(). In a cancelled scope f is dropped and counted. sync() rethrows exceptions of f. Throws
    /// usage_error if the caller is not the owner, pool_closed if f would be submitted, and exceptions of
    /// moving f. Cost: two switches of the stack, no atomic read-modify-write. Source: Frigo, Leiserson and
    /// Randall, PLDI 1998.
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(F&& f) {
        scope_core::spawn(announced(std::forward<F>(f)));
    }

    /// spawn(f) with a weight, of the rest of the caller, or a name, of f. Throws like spawn(f), and
    /// std::invalid_argument. Cost: as spawn(f), and some nanoseconds for the announcement.
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(const task_options& o, F&& f) {
        scope_core::spawn(o, announced(std::forward<F>(f)));
    }

    /// Offers f to idle workers and goes on. Children that no worker has taken run in sync(), newest first.
    ///
    /// f is copied into a recycled record; above 128 bytes, or an alignment above 16, it is allocated.
    /// Outside a pool and from a worker of another pool f is submitted, as by spawn(). In a cancelled scope f
    /// is dropped and counted. Throws usage_error on a thread that is neither a worker nor the owner,
    /// pool_closed and queue_full where f would be submitted, std::bad_alloc, and what moving f throws. Cost:
    /// no atomic read-modify-write.
    template <class F>
    PILFER_ALWAYS_INLINE void fork(F&& f) {
        scope_core::fork(announced(std::forward<F>(f)));
    }

    /// fork(f) with a weight or a name. Throws like fork(f), and std::invalid_argument. Cost: as fork(f), and
    /// some nanoseconds for the announcement.
    template <class F>
    void fork(const task_options& o, F&& f) {
        scope_core::fork(o, announced(std::forward<F>(f)));
    }

    /// Waits for all children, then rethrows the first exception of any of them.
    ///
    /// The first exception cancels the scope, so that the siblings end early; suppressed() counts the others.
    /// Children that have not started run here, newest first; then the context suspends and the worker does
    /// other work. The scope may be used again afterwards, cancelled or not.
    /// Throws usage_error if the caller is not the owner. Cost with nothing stolen or forked: four loads.
    PILFER_ALWAYS_INLINE void sync() { scope_core::sync(); }

    /// Cancels every task below this scope; the owner itself goes on.
    ///
    /// Children that have not started never start. A running one gets `stopped` at its next spawn, fork,
    /// join, loop or wait; a wait for a time, a future, a channel, an event or a barrier ends at once. A task
    /// that holds a lock of the library finishes first: it is stopped after the unlock. sync() waits for all
    /// of them, and then the scope may be used again. Under a lock wait only for what is not cancelled with
    /// you. Any task or thread may call it while the scope lives, more than once. Cost: one write to each
    /// worker of the process and a look at each task that waits below this scope. While it is under way each
    /// spawn, join and fork of the process takes its slow path.
    void cancel() noexcept { scope_core::cancel(); }

    /// True if cancel() was called or a child has failed, since the last sync() began to return. Cost: one
    /// load.
    [[nodiscard]] bool cancelled() const noexcept {
        return (cancel_state().load(detail::rlx) & detail::cancel_flag::cancelled) != 0;
    }

    /// As sync(), but waits for at most `d`. Returns whether all children have ended; if not, nothing is
    /// rethrown and the scope can be awaited again. Runs no children itself: they run on the workers
    /// meanwhile. A `d` of 0 or less waits as yield() does. Cost: a suspension and an alarm, unless all have
    /// ended.
    template <class Rep, class Period>
    [[nodiscard]] bool sync_for(std::chrono::duration<Rep, Period> d) {
        return sync_within(detail::after(d));
    }
    /// sync_for() until `t`, by the present time of its clock.
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
    friend struct detail::scope_access;
};

} // namespace v0
} // namespace pilfer

#include <pilfer/detail/scope/scope_impl.hpp>
