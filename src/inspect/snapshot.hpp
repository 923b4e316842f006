// Who waits for what: all suspended contexts of all pools at one moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// One suspended context. The pointers in it are names, not to be followed: the moment is over.
struct waiting_context {
    std::uint64_t pool; ///< its number
    const pool_core* owner;
    const context* at;
    unsigned number;      ///< of the context, in its pool
    unsigned worker;      ///< on which it was suspended
    const wait_kind* why; ///< null: it makes way and is queued
    const void* object;
    wait_facts facts;
    std::string name;                  ///< of the innermost named function on it; empty: none
    const void* job = nullptr;         ///< the task that it runs, if the scheduler started it
    const void* child_of = nullptr;    ///< that task's scope, if it is a forked child
    std::vector<void*> frames;         ///< return addresses, innermost first
    std::vector<std::size_t> awaits{}; ///< others in the snapshot whose end it waits for, as far as known
    bool timed = false;                ///< a time limit ends this wait
};

/// One coroutine that waits; these are names, too.
struct waiting_coroutine {
    const pool_core* owner;
    unsigned worker; ///< on which it suspended
    const void* frame;
    std::vector<const void*> code; ///< where it goes on, then where those do that await it
    const char* what;
    const void* object;
    wait_facts facts;
};

struct pool_moment {
    std::uint64_t number;
    const pool_core* pool;
    bool idle; ///< no worker was inside a task, and nothing was queued that one could have begun
    std::uint64_t progress;
    bool has_alarms; ///< one will fire, perhaps far away
};

struct snapshot {
    std::vector<waiting_context> waiting;
    std::vector<waiting_coroutine> coroutines; ///< of `stacks_of`, at most most_coroutines; null: all of all
    std::size_t more_coroutines = 0;
    std::vector<pool_moment> pools; ///< the newest first
    [[nodiscard]] const pool_moment* find(const pool_core* p) const noexcept;
};

/// Most stacks that a snapshot unwinds, and most frames of each: nobody who is resumed goes on meanwhile.
inline constexpr std::size_t most_stacks = 64;
inline constexpr unsigned most_frames = 64;

inline constexpr std::size_t most_coroutines = 1'000;
inline constexpr std::size_t most_awaiting = 8;

/// Takes one. `stacks_of`: the pool whose stacks are unwound, null: none. Holds up those who are resumed,
/// make, end or ask for contexts meanwhile. Throws std::bad_alloc.
[[nodiscard]] snapshot take_snapshot(const pool_core* stacks_of);

/// Indices of `p` and of the pools that its contexts wait for, directly or not, among s.pools.
[[nodiscard]] std::vector<std::size_t> pools_behind(const snapshot& s, const pool_core* p);

/// Cycles of waits: each member waits for the next one, the last for the first. A cycle is reported
/// once; there may be more than are reported where they share members.
[[nodiscard]] std::vector<std::vector<std::size_t>> cycles(const snapshot& s);

} // namespace detail
} // namespace v0
} // namespace pilfer
