// What one worker did lately: a ring of events of 16 bytes, written by its thread, read by anybody.
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

/// What an event says. The first group begins a slice of the worker's track, the second ends one, the others
/// are instants.
enum class what : std::uint8_t {
    // A context starts or goes on: `task` says what was found, `who` from whom.
    run_own,       ///< newest of the own deque
    run_stolen,    ///< oldest of worker `who`; `n` tasks came with this theft
    run_submitted, ///< of the submission queue
    resume_here,   ///< a context that had to go on on this worker
    resume_any,    ///< a context that may go on anywhere
    resume_next,   ///< the context that waited for the task which has just ended
    resume_again,  ///< what it was about to wait for had just happened: the same context goes on
    // The same on top of a waiting frame, for want of a stack.
    top_own,
    top_stolen,
    top_submitted,
    sleep, ///< in the kernel, until somebody wakes this worker
    nap,   ///< tasks are ready and no stack can be had: it looks again soon

    ended,     ///< the context's task is over
    suspended, ///< the context waits
    top_ended,
    awake,

    missed,     ///< steals without success since the last slice: `who` found nothing, `n` were too slow
    reach,      ///< a private task of the silent worker `who` was made stealable
    expose,     ///< `n` own tasks moved to the shared part
    wake,       ///< worker `who` was woken
    plain_call, ///< a spawn without a stack
    make_way,   ///< the running frame goes behind what is queued
};
inline constexpr unsigned kinds_of_event = static_cast<unsigned>(what::make_way) + 1;

/// What runs in a slice.
enum class task : std::uint8_t { spark, continuation, forked, submission };

struct event {
    std::uint64_t ticks = 0;
    trace::what what{};
    trace::task task{};
    std::uint32_t who = 0;
    std::uint32_t n = 0;
};

/// What a reader got: the newest events that were complete, oldest first.
struct excerpt {
    std::vector<event> events;
    std::uint64_t overwritten = 0; ///< how many older ones there were
};

class ring {
public:
    static constexpr std::uint32_t most = (1U << 25) - 1; ///< of `who` and `n`: larger values are cut to it

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
