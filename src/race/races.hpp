// Races that were found, and what the promise of the report rests on.
#pragma once

#include "race_history/calls.hpp"
#include "race_history/shadow.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

/// One of the two accesses of a race.
struct side {
    std::uintptr_t address;
    std::uint8_t size;
    bool writes;
    bool locks;
    char lock_name[64]; ///< of a lock that the other side does not hold; empty: none has one
    bool atomic;
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

inline constexpr unsigned most_not_followed = 16;
/// The results, for the report.
struct findings {
    race_found* races;
    unsigned count;
    std::uint64_t more;
    bool edges, locks, readers_lost, readers_before_edges;
    atomic_change* relaxed;
    unsigned relaxed_count;
    std::uint64_t given_up;
    unsigned outside_threads;
    const char* not_followed[most_not_followed];
    unsigned not_followed_count;
    stack_of waits; ///< of a task that waits for ever; depth 0: none does
};

/// Keeps a race, unless one of the same two instructions is known.
void found_race(entry old, std::uint32_t segment, std::uint8_t bytes, bool write, std::uint64_t site,
                std::uintptr_t at) noexcept;
/// Writes the report, at the end of the program. The result is its exit status, or -1 for the program's own.
[[nodiscard]] int write_report(const findings& all);

/// The thread pointers of threads that ran tasks: each has its thread-local objects below it.
inline constexpr unsigned most_threads = 1024;
[[nodiscard]] unsigned thread_pointers(const std::uintptr_t*& all) noexcept;

} // namespace detail::race
} // namespace v0
} // namespace pilfer
