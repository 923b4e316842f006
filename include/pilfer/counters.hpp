// counters: numbers of the events in a pool.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {

/// Counts of events of one worker, or their sums over a pool. Any thread may read them at any time. They are
/// exact while the pool is at rest.
struct counters {
    std::uint64_t run_own = 0;       ///< Tasks that the scheduler took from its own deque.
    std::uint64_t run_submitted = 0; ///< Tasks taken from the submission queue.
    std::uint64_t run_stolen = 0;    ///< Tasks taken from another worker.
    /// Tasks that thefts moved. A task that a theft put into the thief's deque counts again in another
    /// counter when it runs. Divided by run_stolen: tasks per steal.
    std::uint64_t tasks_stolen = 0;
    std::uint64_t run_resumed = 0;   ///< Contexts resumed from an inbox.
    std::uint64_t steals_tried = 0;  ///< Attempts: steals_failed + steals_lost + successful ones.
    std::uint64_t steals_failed = 0; ///< Attempts that found nothing to take.
    std::uint64_t steals_lost = 0;   ///< Attempts that another thief won.
    std::uint64_t reaches = 0;       ///< Times a thief made private tasks of a silent owner stealable.
    std::uint64_t exposures = 0;     ///< Times an owner moved tasks to the shared part of its deque.
    std::uint64_t exposed_tasks = 0; ///< Tasks that those exposures moved.
    /// Scopes that became shared (scope::shared()), counted by the worker that marked them.
    std::uint64_t scopes_shared = 0;
    /// Contexts that were suspended.
    std::uint64_t suspends = 0;
    std::uint64_t resumes = 0;               ///< Suspended contexts that were resumed.
    std::uint64_t sleeps = 0;                ///< Times a worker slept in the kernel.
    std::uint64_t wakes = 0;                 ///< Other workers that this one woke.
    std::uint64_t dropped = 0;               ///< Tasks never started: a sibling failed, or shutdown(drop).
    std::uint64_t exceptions_suppressed = 0; ///< Exceptions of joins after the first one.
    /// Tasks for which there was no stack: spawns run as plain calls, and tasks run on top of a waiting one.
    std::uint64_t no_context = 0;
    std::uint64_t contexts_live = 0; ///< pool only: stacks in use or cached
    std::uint64_t contexts_peak = 0; ///< pool only
    /// Only with options.debug.count_all or in the checked build, else 0. In a pool at rest it is the sum of
    /// run_inline, run_own and run_stolen. Submissions are not announced.
    std::uint64_t announced = 0;
    std::uint64_t run_inline = 0; ///< Tasks that the frame that announced them took back.
};

} // namespace v0
} // namespace pilfer
