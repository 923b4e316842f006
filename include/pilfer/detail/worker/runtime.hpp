// What the templates call in the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>

#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/worker/handover.hpp>
#include <pilfer/detail/worker/worker.hpp>
#include <pilfer/error.hpp>
#include <pilfer/options.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {

class pool;

namespace detail {

/// Where a thread outside the pool waits.
using foreign_waiter = thread_latch<std_atom>;
/// Blocks the calling thread until `waiter` is released.
PILFER_API void block_on(foreign_waiter& waiter) noexcept;

// Words that say who waits: a suspension, or with this bit a foreign_waiter.
inline constexpr std::uintptr_t waiter_is_foreign = 2;
inline constexpr std::uintptr_t waiter_is_timed = 1; // of a scope: a timed_parent

/// The waiter behind `word` can go on. From the end of a task on its own context: returns the one to be
/// resumed directly on this worker, null if there is none (or it belongs elsewhere and was sent there).
PILFER_API suspension* release_waiter(std::uintptr_t word, worker* w) noexcept;

/// The end of `task`, which completes `h`, is awaited by one frame: waits on a worker (suspends) or on any
/// thread (blocks). `p`: the pool that the task was submitted to, null: the caller's own. The last two are
/// for reports only.
PILFER_API void wait_for(handover<std_atom>& h, const spark* task, const pool_core* p = nullptr) noexcept;

/// A task from outside, with its place in the submission queue. Its run() asks dropping() first.
struct submission : spark, submission_queue<std_atom>::node {
    submission() noexcept : spark(nullptr, nullptr) {}
};

/// At the level of the task that calls. Throws pool_closed, queue_full.
PILFER_API void submit(pool_core& p, submission* s);
/// At that level; automatic: that of the task that calls. Nothing is thrown to a task of `p` itself.
PILFER_API void submit(pool_core& p, submission* s, priority level);
PILFER_API pool_core& common_core();
/// The calling process is a child of fork(), and the pool its parent's.
[[nodiscard]] PILFER_API bool left_behind(const pool_core& p) noexcept;
/// Counts a task that shutdown(drain) has to wait for and that did not come by submit().
PILFER_API void unit_begins(worker* w) noexcept;
PILFER_API void unit_ends(worker* w) noexcept;
/// The same for one that a thread waits for.
PILFER_API void root_ends(worker* w) noexcept;
/// True while shutdown(drop) is on: tasks that have not started are to be dropped.
PILFER_API bool dropping(const worker* w) noexcept;

/// Memory of operator new; a worker takes what was given back on it, so that tasks that make and end futures
/// call malloc no more. Null without memory.
[[nodiscard]] PILFER_API void* take_block(std::size_t bytes) noexcept;
PILFER_API void put_block(void* block, std::size_t bytes) noexcept;

/// The pool whose context runs `a`.
[[nodiscard]] inline pool_core* pool_of(const activation* a) noexcept { return a->ctx->pool; }

/// What the waiter for a dropped task is given: broken_promise, or bad_alloc where there is no memory for
/// one. The tasks that call it are noexcept, so neither may come out as an exception.
[[nodiscard]] PILFER_API std::exception_ptr dropped_error() noexcept;
/// The same for one that a closed pool did not take, and for a promise that nobody can set any more.
[[nodiscard]] PILFER_API std::exception_ptr closed_error() noexcept;
[[nodiscard]] PILFER_API std::exception_ptr unset_error() noexcept;
/// In a handler at the end of a task: what it handles. A task that the C library unwinds, because it has
/// called pthread_exit() or its thread was cancelled, ends the program with a message: the thread is the
/// worker's, and the task's stack is not that thread's.
[[nodiscard]] PILFER_API PILFER_COLD std::exception_ptr caught_error() noexcept;
PILFER_API void count_dropped(worker* w, std::uint64_t tasks = 1) noexcept;
/// So many exceptions end here: counted for the worker.
PILFER_API void count_suppressed(std::uint64_t others) noexcept;
/// Right before an exception leaves a join, scope or loop: what suppressed_exceptions() says from now on.
PILFER_API void note_suppressed(std::uint64_t others) noexcept;
PILFER_API void count_plain_call(worker* w) noexcept;

/// Is the running task below of a cancelled scope? One load of an own word while nothing is cancelled.
[[nodiscard]] PILFER_API bool stopped_cold(worker* w) noexcept;
[[nodiscard]] PILFER_ALWAYS_INLINE bool stopped_here(worker* w) noexcept {
    return w->deque.trip().has(tripwire<std_atom>::stop) && detail::stopped_cold(w);
}
/// Is an exception of the running task in flight? Not one of a frame that it runs on top of.
[[nodiscard]] PILFER_ALWAYS_INLINE bool unwinds(const worker* w) noexcept {
    return w->exceptions->in_flight() > w->current.load(rlx)->uncaught;
}
/// Does it have to leave now? Not where an exception of its own is in flight: it is unwinding already, and a
/// destructor must not throw a second one.
[[nodiscard]] PILFER_API bool must_leave() noexcept;
/// Where the running task is below of: past the scopes of its own, which never stop it and may end, in any
/// order, while it goes on. Up to a shield of its own. As a holder, if a lock lies on the way.
[[nodiscard]] PILFER_API scope_place* place_below(scope_place* innermost) noexcept;
/// Can any cancellation stop the running task while it stays where it is?
[[nodiscard]] inline bool can_be_stopped(worker* w) noexcept {
    scope_place* const place = detail::place_below(w->current.load(rlx)->innermost.load(rlx));
    return scope_place::strip(place) != nullptr && !scope_place::holds(place);
}
/// The running task `a` has given back its last lock. Its innermost scope began under a lock and goes on: the
/// tasks below of that scope may be stopped from now on.
PILFER_API PILFER_COLD void scope_outlives_lock(const activation* a) noexcept;
/// The running task (null: none) has one more lock of the library, or one less. Until it has none only
/// scopes that begin meanwhile stop it, and what it does in these. A branch of a holder that was stolen has
/// the bit, and stands in scopes of the frame that joins: none of its matter.
PILFER_ALWAYS_INLINE void takes_lock(activation* a) noexcept {
    if (a == nullptr) {
        return;
    }
    unsigned locks = a->locks;
    if (locks == 0) {
        scope_place* const at = a->innermost.load(rlx);
        locks = scope_place::holds(at) ? 0 : 1;
        a->innermost.store(scope_place::as_holder(at), rlx);
    }
    a->locks = locks + 2;
}
PILFER_ALWAYS_INLINE void gives_lock(activation* a) noexcept {
    if (a == nullptr) {
        return;
    }
    const unsigned locks = a->locks;
    if (locks > 3) {
        a->locks = locks - 2;
        return;
    }
    a->locks = 0;
    if (locks == 3) {
        scope_place* const at = a->innermost.load(rlx);
        if (scope_place::holds(at)) [[likely]] {
            a->innermost.store(scope_place::as_free(at), rlx);
        } else {
            detail::scope_outlives_lock(a);
        }
    }
}
/// Whoever runs here; null on threads and between two tasks.
[[nodiscard]] PILFER_ALWAYS_INLINE activation* running_task() noexcept {
    const worker* w = this_worker();
    return w != nullptr ? w->current.load(rlx) : nullptr;
}
/// Throws stopped if it has to. On any thread.
PILFER_API void leave_if_stopped();
/// So many tasks do not start, and whoever would have started them leaves.
[[noreturn]] PILFER_API PILFER_COLD void drop_and_leave(std::uint64_t tasks);
/// Is that a `stopped`, and no error?
[[nodiscard]] PILFER_API bool says_stopped(const std::exception_ptr& error) noexcept;
/// The same of the exception that is handled here.
[[nodiscard]] PILFER_API bool leaves_by_stopped() noexcept;
/// What a task that never began leaves behind; without memory std::bad_alloc.
[[nodiscard]] PILFER_API std::exception_ptr stopped_error() noexcept;
/// See announce_rest().
[[nodiscard]] PILFER_API bool rest_tripped(worker* w, task_word rest) noexcept;
/// A child of spawn, on its own stack, behind the announcement: false if it is stopped, and marks it.
[[nodiscard]] PILFER_API bool child_begins(worker* w) noexcept;
[[nodiscard]] inline bool is_left_out(const context* c) noexcept { return c->job == &c->next; }

/// Marks a task that runs on top of another task's frame as somebody else, below of `within`.
class nested_activation {
public:
    nested_activation(worker* w, scope_place* within) noexcept
        : nested_activation(w, within, w->exceptions->in_flight()) {}
    /// For one that unwinds if more than so many exceptions are in flight here.
    nested_activation(worker* w, scope_place* within, unsigned not_its_own) noexcept
        : m_self(w->current.load(rlx), within, not_its_own) {
        w->current.store(&m_self, rlx);
    }
    nested_activation(const nested_activation&) = delete;
    nested_activation& operator=(const nested_activation&) = delete;
    ~nested_activation() { this_worker()->current.store(m_self.beneath, rlx); }

private:
    activation_on_top m_self;
};

/// A task is about to be submitted, to `p`, by whoever stands in the scopes of this thread: marks them and
/// returns the innermost. Null if there is none.
PILFER_API scope_place* share_scopes(pool_core& p) noexcept;
/// Marks one given scope, of a task of `p`, and all above it. `p` is the common pool where that task is a
/// thread outside.
PILFER_API void share_scopes(pool_core& p, scope_place* innermost) noexcept;
/// A task that is not on the owner's stack is about to count a child atomically. Nothing in a pool of one
/// worker.
PILFER_API void share_from_below(worker* w, scope_place* innermost) noexcept;
/// That of this thread, which is no worker.
PILFER_API activation* activation_outside() noexcept;
/// Whoever runs here.
[[nodiscard]] PILFER_ALWAYS_INLINE activation* this_activation() noexcept {
    if (worker* w = this_worker(); w != nullptr) [[likely]] {
        return w->current.load(rlx);
    }
    return detail::activation_outside();
}

} // namespace detail

} // namespace v0
} // namespace pilfer
