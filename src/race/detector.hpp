// The state of the one run that is looked at: strands, calls, accesses, and the races among them.
#pragma once

#if defined(PILFER_RACE)

#include <pilfer/detail/base/race.hpp>

#include "race/strands.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace race {

/// A call on the stack of a task. Its record is made at the first access in it.
struct frame {
    std::uint64_t returns_to;
    std::uintptr_t stack;
    std::uint32_t calls;
    std::uint32_t segment;
};

/// The view of one stack.
struct fiber {
    std::uint32_t strand;
    std::uint32_t edges;
    std::uint32_t segment; ///< 0: made at the next access
    std::uint32_t locks;
    std::uint32_t unseen;
    std::uintptr_t lowest; ///< that any call since the last fork or end has used
    frame* top;
    frame* frames;
    bool of_thread;
};
/// Null: what this thread does is not looked at.
extern constinit thread_local fiber* running_fiber __attribute__((tls_model("initial-exec")));

/// A call whose accesses are remembered, and all calls around it.
struct call_record {
    std::uint32_t caller; // first: the list of free records
    bool live;
    bool marked;
    std::uint64_t returns_to;
};

/// The accesses of one call in one strand, under the same locks.
struct segment_record {
    std::uint32_t strand; // first: the list of free records
    std::uint32_t calls;
    std::uint32_t locks;
    bool live;
    bool marked;
};

inline constexpr unsigned most_frames = 48;

struct stack_of {
    std::uint64_t at[most_frames]; ///< the first one is the access itself
    unsigned depth;
};

/// One of the two accesses of a race.
struct side {
    std::uintptr_t address;
    std::uint8_t size;
    bool writes;
    std::uint32_t locks;
    stack_of stack;
    how branch;      ///< the kind of the branch below the fork that separates the two sides
    stack_of forked; ///< the stack of that fork
};
struct race_found {
    side first, second;
};

/// The instruction of an atomic change that is no edge, and its caller.
struct atomic_change {
    std::uint64_t site;
    std::uint64_t returns_to;
};

/// The results, for the report.
struct findings {
    const race_found* races;
    unsigned count;
    std::uint64_t more;
    bool edges, locks, readers_lost, readers_before_edges;
    const atomic_change* relaxed;
    unsigned relaxed_count;
    std::uint64_t given_up;
    unsigned outside_threads;
    const char* const* not_followed;
    unsigned not_followed_count;
    const std::uintptr_t* threads; ///< their thread pointers: each has its thread-local objects below it
    unsigned thread_count;
    std::uint64_t strands, accesses_kept;
};

[[nodiscard]] findings found() noexcept;
/// Stops looking.
void stop() noexcept;
/// Writes the report, at the end of the program. The result is its exit status, or -1 for the program's own.
[[nodiscard]] int write_report(const findings& all);

// ---- what the entry points of the compiler call
void access(fiber& f, std::uintptr_t at, std::size_t size, bool writes, std::uint64_t site) noexcept;
/// A call of the running task has returned: goes on with the segment of its caller, if that is still good.
void returned(fiber& f) noexcept;
/// As release(), by the task that makes a static local: an edge only to tasks that have no order by forks.
void release_guard(const void* guard) noexcept;
/// An atomic operation that is no edge, but what others read may depend on the schedule.
void relaxed_change(std::uint64_t site) noexcept;
void fence(bool acquires, bool releases) noexcept;
/// New memory: nothing has been done to it.
void forget(std::uintptr_t at, std::size_t size) noexcept;
[[nodiscard]] fiber* make_fiber(bool of_thread) noexcept;
void give_fiber(fiber* f) noexcept;
void switch_to(fiber* f) noexcept;
void begin_program() noexcept;
/// The calling thread makes another one.
void thread_begins() noexcept;
/// While a thread rests, another one may run tasks.
[[nodiscard]] bool rests() noexcept;
void goes_on() noexcept;

} // namespace race
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
