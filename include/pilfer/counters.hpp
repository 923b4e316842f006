// What the workers did, counted where it costs nothing.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {

/// Of one worker, or summed over a pool. Read at any time; exact when the pool is at rest.
struct counters {
    std::uint64_t run_own = 0;       ///< entries the scheduler took from its own deque
    std::uint64_t run_submitted = 0; ///< from the submission queue
    std::uint64_t run_stolen = 0;    ///< from another worker
    /// Tasks that thefts moved: the one that ran at once, and those that went to the thief's own deque (they
    /// count as run_own, run_stolen or run_inline once more when they run). Divided by run_stolen: tasks per
    /// steal.
    std::uint64_t tasks_stolen = 0;
    std::uint64_t run_resumed = 0;   ///< contexts resumed from an inbox
    std::uint64_t steals_tried = 0;  ///< == failed + lost + those that took something
    std::uint64_t steals_failed = 0; ///< nothing there to take
    std::uint64_t steals_lost = 0;   ///< somebody else was faster
    std::uint64_t reaches = 0;       ///< private tasks of a silent owner made stealable
    std::uint64_t exposures = 0;     ///< times tasks moved to the shared part by their owner
    std::uint64_t exposed_tasks = 0;
    /// Scopes that others than their own worker may reach from then on: a task below was exposed, or a frame
    /// in them may go on elsewhere. Each counts once, with the worker that marked it (scope::shared()).
    std::uint64_t scopes_shared = 0;
    std::uint64_t suspends = 0;
    std::uint64_t resumes = 0; ///< suspended contexts that went on
    std::uint64_t sleeps = 0;
    std::uint64_t wakes = 0;   ///< other workers this one woke; not those that foreign threads did
    std::uint64_t dropped = 0; ///< tasks never started: a sibling failed, or shutdown(drop)
    std::uint64_t exceptions_suppressed = 0; ///< all but the first of a join
    /// For want of a stack: spawns run as plain calls, and tasks run on top of a waiting one.
    std::uint64_t no_context = 0;
    std::uint64_t contexts_live = 0; ///< pool only: stacks in use or cached
    std::uint64_t contexts_peak = 0; ///< pool only
    /// Only with options.count_all or in the checked build (else 0): announced == run_inline + run_own +
    /// run_stolen when the pool is at rest. Submissions are not announced; dropped tasks were announced and
    /// taken, or neither.
    std::uint64_t announced = 0;
    std::uint64_t run_inline = 0; ///< taken back by the frame that announced it
};

} // namespace v0
} // namespace pilfer
