// The record of a wait, and what reports read of it.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Facts about a wait, for readers of a report.
struct wait_facts {
    const char* state = nullptr;          ///< Of the awaited thing: "queued", "running"; null: not known.
    std::int64_t left = -1;               ///< Children that have not ended; below 0: not counted.
    const spark* task = nullptr;          ///< The awaited task.
    const void* children_of = nullptr;    ///< The scope whose children are awaited.
    const context* runner = nullptr;      ///< The context on which the awaited thing runs.
    const void* holder = nullptr;         ///< The activation, or the word of a thread, that holds a mutex.
    const void* coroutine = nullptr;      ///< The awaited coroutine, or that holds a mutex: its root's frame.
    const pool_core* elsewhere = nullptr; ///< The other pool to which the awaited thing belongs.
    int descriptor = -1;                  ///< The awaited descriptor, if no object is awaited.
};

/// One object for each reason to wait. look() may read whatever the waiting frame may read: the frame is not
/// resumed meanwhile.
struct wait_kind {
    const char* what; ///< as in "waits for ..."; first, because the gdb script reads it
    void (*look)(const suspension&, wait_facts&) noexcept;
    bool for_tasks = false; ///< Waits for tasks that a recording follows anyway.
};

/// The record of a wait, on the stack of the task that waits.
struct suspension : submission_queue<std_atom>::node {
    void* sp = nullptr;
    activation* act = nullptr;
    worker* home = nullptr;
    /// Runs on the scheduler's stack after the switch. False: resume the frame at once. If it returns true
    /// the frame may be gone already.
    bool (*publish)(suspension&) noexcept = nullptr;
#if defined(PILFER_TEST)
    bool (*publish_recorded)(suspension&) noexcept = nullptr; // the waiting task's own, in a recording
#endif
    exception_state exceptions{nullptr, 0}; // kept per thread by the C++ runtime
    const wait_kind* why = nullptr;         // null: it makes way, and is queued
    const void* object = nullptr;           // what it waits for
    /// Its scopes are not marked as it suspends: the worker that resumes it, if another one, marks them
    /// (scope.M6, src/scope).
    bool share_deferred = false;
    bool timed = false;                // its time limit ends it
    priority level = priority::normal; // of what its worker ran
};

} // namespace detail
} // namespace v0
} // namespace pilfer
