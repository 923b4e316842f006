// How a pool runs tasks and waits: the seam between the scheduler's cold paths and the three back-ends in
// src/backend.
//
// A pool has one backend, chosen by its options. join, spawn and fork reach it from their cold paths only.
#pragma once

#include <cstdint>
#include <optional>

#include <pilfer/counters.hpp>
#include <pilfer/detail/base/time.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/options.hpp>
#include <pilfer/profile.hpp>

namespace pilfer {
inline namespace v0 {
namespace profile {
struct mark;
} // namespace profile

namespace detail {

class audit;
class pool_core;
class scheduler;
class team;
struct blocking_job;

/// Where a submission comes from.
enum class origin {
    caller, ///< the running task, or the calling thread
    alarm,  ///< no task
};

/// The threads of a back-end whose waits block their threads, for reports.
struct thread_figures {
    unsigned threads;
    unsigned blocked;
    unsigned ready; ///< tasks that wait for a thread
};
enum class thread_state { absent, runs, asleep, blocked };

/// Reports of the begins, ends and waits of tasks, in the order in which one worker runs them. Only a pool
/// that records does anything with them. Addresses and words are the keys of src/profile.
class task_events {
public:
    /// The scheduler of `w` enters this task or continuation.
    virtual void task_begins(scheduler&, task_word) noexcept {}
    /// The running task ends.
    virtual void task_ends() noexcept {}
    /// The running task is about to wait; null: a task runs on top of it. The result is passed to
    /// task_returns().
    [[nodiscard]] virtual void* task_leaves(const suspension*) noexcept { return nullptr; }
    /// The task that waited resumes on `w`. The pointer is the result of task_leaves().
    virtual void task_returns(scheduler&, void*) noexcept {}
    /// The running task has taken, or released, the lock at this address. The caller is the user's code.
    virtual void task_locks(const void*) noexcept {}
    virtual void task_unlocks(const void*) noexcept {}
    /// The running task, for which a thread outside waits, ends.
    virtual void root_ends() noexcept {}
    /// The running task, a child of this scope, ends.
    virtual void child_ends(const void*) noexcept {}
    /// The running task has waited for all children of this scope.
    virtual void synced(const void*) noexcept {}
    /// A thread outside has waited for all children of this scope.
    virtual void synced_outside(const void*) noexcept {}
    /// The running task has waited for another branch of its join.
    virtual void joined(const spark*) noexcept {}
    /// The running task ends a future. Null: there is nothing to remember for those that wait for it.
    [[nodiscard]] virtual profile::mark* future_ends(const spark*) noexcept { return nullptr; }
    /// The running task has waited for that future. False: the mark is of another pool.
    [[nodiscard]] virtual bool got(const profile::mark&) noexcept { return false; }

    // ---- foreign tasks: those of another library, which calls them on the stacks of tasks of the pool
    /// True if the pool records, and wants to know of foreign tasks.
    [[nodiscard]] virtual bool records() const noexcept { return false; }
    /// This submission runs foreign tasks and is no task itself; false: it was not submitted after all. Any
    /// thread, before the submission.
    virtual void carries_foreign(const spark*, bool) noexcept {}
    /// A foreign task is about to be queued, by a task of the pool or a thread outside. `code`: what it runs.
    /// synced(scope) waits for it; null: nothing does.
    virtual void foreign_queued(const void* /*task*/, const void* /*code*/, const void* /*scope*/) noexcept {}
    /// The running task waits by calling foreign tasks, until synced().
    virtual void foreign_awaited() noexcept {}
    /// The running task calls a foreign one. The result is passed to foreign_ends().
    [[nodiscard]] virtual void* foreign_begins(const void* /*task*/) noexcept { return nullptr; }
    /// The call returns.
    virtual void foreign_ends(void* /*caller*/) noexcept {}

protected:
    task_events() = default;
    ~task_events() = default;
};

class backend : public task_events {
public:
    backend() = default;
    backend(const backend&) = delete;
    backend& operator=(const backend&) = delete;
    virtual ~backend() = default;

    // ---- what templates call: see the functions of these names in pilfer/detail/task/worker.hpp
    /// Called after a push that hit the signal word.
    [[nodiscard]] virtual bool announce(scheduler& w, task_word task, way may) noexcept = 0;
    [[nodiscard]] virtual bool announce_weighted(scheduler& w, task_word task, std::uint64_t weight,
                                                 way may) noexcept = 0;
    virtual void attend(scheduler& w) noexcept = 0;
    /// Called after the bottom was lowered below the guard.
    [[nodiscard]] virtual worker* reclaim(scheduler& w, task_word task) noexcept = 0;
    virtual void suspend(scheduler& w, suspension& s) noexcept = 0;
    /// Any thread may call this.
    virtual void make_runnable(suspension& s) noexcept = 0;
    [[nodiscard]] virtual std::uintptr_t refill_contexts(scheduler& w) noexcept = 0;

    // ---- what the library calls inside a task, on the thread of `w`
    /// Called before a wait: runs a task on top of the calling frame if the frame cannot suspend. False: it
    /// can.
    [[nodiscard]] virtual bool help_on_top(scheduler& w) noexcept = 0;
    /// The body of yield().
    virtual void yield(scheduler& w) noexcept = 0;
    /// The body of blocking(): runs the job and returns after its end.
    virtual void run_blocking(scheduler& w, blocking_job& job) noexcept = 0;
    /// Takes an announced task that has not begun and is not the newest of `w`. True: the caller has it.
    [[nodiscard]] virtual bool dequeue(scheduler&, submission&) noexcept { return false; }
    /// True if a wait may run the awaited task on top of the waiting frame.
    [[nodiscard]] virtual bool may_run_awaited() const noexcept { return true; }
    /// True if the code that runs on `w` now may announce a task.
    [[nodiscard]] virtual bool may_announce(const scheduler& w) const noexcept;

    // ---- any thread
    /// Takes a submission, which is counted: a thread of the pool runs it.
    virtual void queue(submission& s, priority level, origin from) noexcept = 0;
    /// An alarm fires on the thread of `w` and queues a counted task that runs before anything else. False:
    /// the task is left alone.
    [[nodiscard]] virtual bool run_prompt(scheduler&, submission&) noexcept { return false; }
    /// True if the threads of this back-end fire all alarms themselves, and know none that watches over them.
    [[nodiscard]] virtual bool fires_alarms() const noexcept { return false; }
    /// Then it is notified of each alarm that is armed. Any thread.
    virtual void alarm_is_armed() noexcept {}
    /// True if tasks can wait for descriptors without blocking a thread.
    [[nodiscard]] virtual bool watches_descriptors() const noexcept { return true; }
    /// True if resize() and the governor may change the number of workers.
    [[nodiscard]] virtual bool can_resize() const noexcept { return true; }
    /// The threads of the pool; empty if its waits block no thread.
    [[nodiscard]] virtual std::optional<thread_figures> threads_now() noexcept { return std::nullopt; }
    [[nodiscard]] virtual thread_state state_of(unsigned) noexcept { return thread_state::absent; }
    /// The work and the span of the recording; empty if this pool does not record.
    [[nodiscard]] virtual std::optional<work_span> figures() const noexcept { return std::nullopt; }

    // ---- the life of the pool
    /// In a child of fork(), called by a task of the pool: the other threads do not exist.
    virtual void forget_threads() noexcept {}
    /// Called if only `threads` threads could be made.
    virtual void shrink(unsigned) noexcept {}
    /// The loop of a thread.
    virtual void run(scheduler& w) noexcept = 0;
    /// Ends and joins all threads, when no task is left. The first `threads` of them are those of workers.
    virtual void end_threads(unsigned threads) noexcept = 0;
    /// Writes the files of the back-end. Only the first call does anything.
    virtual void write_files() noexcept {}
    /// The checked build, when all threads are joined. `threads`: as for end_threads(); `submitted`:
    /// submissions that were accepted.
    virtual void check_end(audit& a, const counters& c, std::uint64_t submitted,
                           unsigned threads) noexcept = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
