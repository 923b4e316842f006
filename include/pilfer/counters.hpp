// counters: numbers of the events in a pool.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {

/// Of one worker, or summed over a pool. Read at any time; exact when the pool is at rest.
struct counters {
    std::uint64_t run_own = 0;       ///< entries the scheduler took from its own deque
    std::uint64_t run_submitted = 0; ///< from the submission queue
    std::uint64_t run_stolen = 0;    ///< from another worker
    /// Tasks that thefts moved. Those that went to the thief's deque count again when they run. Divided by
    /// run_stolen: tasks per steal.
    std::uint64_t tasks_stolen = 0;
    std::uint64_t run_resumed = 0;   ///< contexts resumed from an inbox
    std::uint64_t steals_tried = 0;  ///< == failed + lost + those that took something
    std::uint64_t steals_failed = 0; ///< nothing there to take
    std::uint64_t steals_lost = 0;   ///< another thief was faster
    std::uint64_t reaches = 0;       ///< private tasks of a silent owner made stealable
    std::uint64_t exposures = 0;     ///< times tasks moved to the shared part by their owner
    std::uint64_t exposed_tasks = 0; ///< tasks that those exposures moved
    /// Scopes that became shared (scope::shared()), counted by the worker that marked them.
    std::uint64_t scopes_shared = 0;
    /// Contexts that were suspended.
    std::uint64_t suspends = 0;
    std::uint64_t resumes = 0;               ///< suspended contexts that went on
    std::uint64_t sleeps = 0;                ///< times a worker slept in the kernel
    std::uint64_t wakes = 0;                 ///< other workers that this one woke
    std::uint64_t dropped = 0;               ///< tasks never started: a sibling failed, or shutdown(drop)
    std::uint64_t exceptions_suppressed = 0; ///< all but the first of a join
    /// Tasks that got no stack: spawns run as plain calls, and tasks that run on top of a waiting one.
    std::uint64_t no_context = 0;
    std::uint64_t contexts_live = 0; ///< pool only: stacks in use or cached
    std::uint64_t contexts_peak = 0; ///< pool only
    /// Only with options.debug.count_all or in the checked build, else 0. In a pool at rest it is the sum of
    /// run_inline, run_own and run_stolen. Submissions are not announced.
    std::uint64_t announced = 0;
    std::uint64_t run_inline = 0; ///< taken back by the frame that announced it
};

} // namespace v0
} // namespace pilfer
