// The recent events of one worker: a ring of events of 16 bytes, written by its thread, read by any thread.
//
// The ring knows nothing of scheduling. Words, states and the argument why no reader sees half of one event
// and half of another: README.md.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace trace {

/// Kinds of events. The first group begins a slice of the worker's track, the second ends one, the others are
/// instants.
enum class what : std::uint8_t {
    // A context starts or is resumed. `task`: the kind of task; `who`: the worker it came from. Of a resumed
    // one, `n` identifies the context.
    run_own,       ///< The newest of the own deque.
    run_stolen,    ///< The oldest of worker `who`; `n` tasks came with this theft.
    run_submitted, ///< From the submission queue.
    resume_here,   ///< A context that had to be resumed on this worker.
    resume_any,    ///< A context that may be resumed on any worker.
    resume_next,   ///< The context that waited for the task which has just ended.
    resume_again,  ///< The context that was about to wait: the awaited event had just happened.
    // A task starts on top of a waiting frame, because there is no stack.
    top_own,
    top_stolen,
    top_submitted,
    sleep, ///< The worker sleeps in the kernel until it is woken.
    nap,   ///< Tasks are ready but no stack is free: the worker looks again soon.

    ended,     ///< The context's task is over.
    suspended, ///< The context `n` waits for the object `who`; `task` is the number of the reason.
    top_ended,
    awake,

    missed,       ///< Failed steals since the last slice: `who` found nothing, `n` were too slow.
    force_expose, ///< A private task of the silent worker `who` was made stealable.
    expose,       ///< `n` own tasks moved to the shared part.
    wake,         ///< Worker `who` was woken.
    plain_call,   ///< A spawn without a stack.
    yield,        ///< The running frame is queued after what is queued.
    place,        ///< The place `who` of the wait that follows.
    object_name,  ///< The name `who` of the object of the wait that follows.
};
inline constexpr unsigned kinds_of_event = static_cast<unsigned>(what::object_name) + 1;

/// The kind of task that runs in a slice.
enum class task : std::uint8_t { spark, continuation, forked, submission };

struct event {
    std::uint64_t ticks = 0;
    trace::what what{};
    trace::task task{};
    std::uint32_t who = 0;
    std::uint32_t n = 0;
};

/// A number for an address, from 1 to ring::most: different objects rarely share one. Null gives 0.
[[nodiscard]] std::uint32_t identity(const void* object) noexcept;

inline constexpr unsigned most_reasons = 63;
/// The number of a reason to wait, a text that is never freed; from 1. Further reasons than most_reasons, and
/// null, have the number 0. Any thread.
[[nodiscard]] unsigned number_of_reason(const char* text) noexcept;
/// The text of a number, or null.
[[nodiscard]] const char* reason(unsigned number) noexcept;

/// The result of a read: the newest events that were complete, oldest first.
struct excerpt {
    std::vector<event> events;
    std::uint64_t overwritten = 0; ///< number of older events
};

class ring {
public:
    static constexpr std::uint32_t most = (1U << 25) - 1; ///< of `who` and `n`: larger values are cut

    /// `events`: a power of two. 16 bytes of address space each, which become memory when they are
    /// written. Throws std::bad_alloc.
    explicit ring(std::size_t events);
    ~ring();
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;

    /// The ring's own thread. Cost: a reading of the clock and three stores, some 10 ns.
    void add(trace::what what, trace::task task, std::uint32_t who, std::uint32_t n) noexcept;
    /// Anyone, also while the thread writes. Throws std::bad_alloc.
    [[nodiscard]] excerpt read() const;

private:
    // Memory of the system, which reads as zero: the pages of a ring that never fills are never touched.
    struct slot {
        std::uint64_t ticks;
        std::uint64_t rest;
    };
    slot* m_slots;
    std::uint64_t m_mask;
    std::atomic<std::uint64_t> m_next{0}; // events written so far
};

} // namespace trace
} // namespace v0
} // namespace pilfer
