// The library functions that the templates call.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pilfer/detail/base/errors.hpp>
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/task/completion.hpp>
#include <pilfer/detail/task/suspension.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/error.hpp>
#include <pilfer/options.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {

class pool;

namespace detail {

/// The wait of a thread outside the pool.
using foreign_waiter = thread_latch<std_atom>;
/// Blocks the calling thread until `waiter` is released.
PILFER_API void block_on(foreign_waiter& waiter) noexcept;

// Words that name a waiter: a suspension, or with this bit a foreign_waiter.
inline constexpr std::uintptr_t waiter_is_foreign = 2;
inline constexpr std::uintptr_t waiter_is_timed = 1; // of a scope: a timed_parent

/// Releases the waiter named by `word`, at the end of a task on its own context. Returns the suspension to
/// resume directly on this worker. Null if there is none, or if it belongs elsewhere and was sent there.
PILFER_API suspension* release_waiter(std::uintptr_t word, worker* w) noexcept;

/// Waits for the end of `task`, which completes `h`; only one frame may wait for it. A worker's task
/// suspends, any other thread blocks. `p`: the pool to which the task was submitted, null: the caller's own.
/// `task` and `p` are for reports only.
PILFER_API void wait_for(completion<std_atom>& h, const spark* task, const pool_core* p = nullptr) noexcept;

/// A task from outside, with its place in the submission queue. Its run() asks dropping() first.
struct submission : spark, submission_queue<std_atom>::node {
    submission() noexcept : spark(nullptr, nullptr) {}
};

/// Submits at the level of the calling task. Throws pool_closed, queue_full.
PILFER_API void submit(pool_core& p, submission* s);
/// Submits at the given level; automatic: that of the calling task. Nothing is thrown to a task of `p`
/// itself.
PILFER_API void submit(pool_core& p, submission* s, priority level);
PILFER_API pool_core& common_core();
/// Null if the common pool has not been used yet, or could not be made.
[[nodiscard]] PILFER_API pool_core* common_core_if_made() noexcept;
/// True if the calling process is a child of fork(), and the pool its parent's.
[[nodiscard]] PILFER_API bool is_forked_child(const pool_core& p) noexcept;
/// Counts a task that shutdown(drain) must wait for and that was not submitted.
PILFER_API void begin_outstanding(worker* w) noexcept;
PILFER_API void end_outstanding(worker* w) noexcept;
/// As end_outstanding(), for a task that a thread waits for.
PILFER_API void root_ends(worker* w) noexcept;
/// True during shutdown(drop): tasks that have not started are to be dropped.
PILFER_API bool dropping(const worker* w) noexcept;

/// Memory of operator new. A worker reuses the blocks that were given back on it, so that tasks that make and
/// end futures do not call malloc. Null without memory.
[[nodiscard]] PILFER_API void* take_block(std::size_t bytes) noexcept;
PILFER_API void put_block(void* block, std::size_t bytes) noexcept;

/// The pool whose context runs `a`.
[[nodiscard]] inline pool_core* pool_of(const activation* a) noexcept { return a->ctx->pool; }

PILFER_API void count_dropped(worker* w, std::uint64_t tasks = 1) noexcept;
/// Counts this number of suppressed exceptions for the worker.
PILFER_API void count_suppressed(std::uint64_t others) noexcept;
/// Right before an exception leaves a join, scope or loop: sets the result of suppressed_exceptions().
PILFER_API void note_suppressed(std::uint64_t others) noexcept;
PILFER_API void count_plain_call(worker* w) noexcept;

/// Is an exception of the running task in flight? Not one of a frame that it runs on top of.
[[nodiscard]] PILFER_ALWAYS_INLINE bool unwinds(const worker* w) noexcept {
    return w->exceptions->in_flight() > w->current.load(rlx)->uncaught;
}
/// The activation that runs here; null on threads outside and between two tasks.
[[nodiscard]] PILFER_ALWAYS_INLINE activation* running_task() noexcept {
    const worker* w = this_worker();
    return w != nullptr ? w->current.load(rlx) : nullptr;
}
/// Called before the running code submits a task to `p`: marks the scopes that enclose it, and returns the
/// innermost. Null if there is none.
PILFER_API scope_node* share_scopes(pool_core& p) noexcept;
/// Marks `node`, a scope of a task of `p`, and all that enclose it. If that task is a thread outside,
/// `p` is the common pool.
PILFER_API void share_scopes(pool_core& p, scope_node* node) noexcept;
/// Called before a task that is not on the owner's stack counts a child atomically. Does nothing in a pool of
/// one worker.
PILFER_API void share_from_below(worker* w, scope_node* node) noexcept;
/// The activation of the running task, or of this thread.
[[nodiscard]] PILFER_ALWAYS_INLINE activation* this_activation() noexcept {
    if (worker* w = this_worker(); w != nullptr) [[likely]] {
        return w->current.load(rlx);
    }
    return detail::activation_outside();
}

} // namespace detail

} // namespace v0
} // namespace pilfer
