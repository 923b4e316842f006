// Waits at one moment: all suspended contexts of all pools.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <pilfer/detail/task/parked.hpp>
#include <pilfer/detail/task/suspension.hpp>
#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

inline constexpr std::size_t none = SIZE_MAX;

/// One suspended context. Its pointers are names that must not be followed, because the moment is over.
struct waiting_context {
    std::uint64_t pool; ///< Its number.
    const pool_core* owner;
    const context* at;
    unsigned number;      ///< Of the context, in its pool.
    unsigned worker;      ///< On which it was suspended.
    const wait_kind* why; ///< Null: it has yielded and is queued.
    const void* object;
    wait_facts facts;
    std::string name;                  ///< Of the innermost named function on it; empty: none.
    const void* job = nullptr;         ///< The task that it runs, if the scheduler started it.
    const void* child_of = nullptr;    ///< The scope of the task, if it is a child of one.
    std::vector<void*> frames;         ///< Return addresses, innermost first.
    std::vector<std::size_t> awaits{}; ///< Others in the snapshot whose end it waits for, as far as known.
    std::size_t coroutine = none;      ///< The one in the snapshot that it waits for.
    bool timed = false;                ///< A time limit ends this wait.
    std::string object_name{};         ///< Of the awaited object; empty: none.
};

/// One waiting coroutine. Its pointers are names that must not be followed.
struct waiting_coroutine {
    std::uint64_t pool; ///< Its number.
    const pool_core* owner;
    unsigned worker; ///< On which it suspended.
    const void* frame;
    const void* root;              ///< That of those that await it; null: not known.
    std::vector<const void*> code; ///< The address at which it resumes, then those of its awaiters.
    const parked_kind* why;
    const void* object;
    wait_facts facts;
    std::string object_name;
    // Others in the snapshot that it waits for: the context that runs the awaited task, and a coroutine.
    std::size_t context = none;
    std::size_t coroutine = none;
};

struct pool_moment {
    std::uint64_t number;
    const pool_core* pool;
    bool idle; ///< No worker was inside a task, and nothing was queued that one could have begun.
    std::uint64_t progress;
    bool has_alarms; ///< One will fire, perhaps far away.
};

struct snapshot {
    std::vector<waiting_context> waiting;
    std::vector<waiting_coroutine> coroutines;
    std::size_t more_coroutines = 0; ///< Of `stacks_of`, beside those.
    std::vector<pool_moment> pools;  ///< The newest first.
    [[nodiscard]] const pool_moment* find(const pool_core* p) const noexcept;
};

/// The most stacks that a snapshot unwinds, and the most frames of each. Limited, because no context can be
/// resumed meanwhile.
inline constexpr std::size_t most_stacks = 64;
inline constexpr unsigned most_frames = 64;

inline constexpr std::size_t most_coroutines = 1'000;
inline constexpr std::size_t most_awaiting = 8;

/// Takes a snapshot. `stacks_of`: the pool whose stacks are unwound, null: none. Meanwhile threads that
/// resume, make, end or take contexts have to wait. Throws std::bad_alloc.
[[nodiscard]] snapshot take_snapshot(const pool_core* stacks_of);

/// Finds the awaited contexts of each wait, as far as they are known. Known are the branch of a join, the
/// task of a run(), a future's task and children of a scope, if they run on contexts of their own. A
/// coroutine is known by its root: it is awaited by run(), or by its future, or it holds a mutex by co_await.
void connect(snapshot& s);

/// Indices in s.pools of `p` and of the pools that its contexts wait for, directly or indirectly.
[[nodiscard]] std::vector<std::size_t> pools_behind(const snapshot& s, const pool_core* p);

/// The members that each member waits for, as far as they are known. A member is an index in s.waiting, or
/// s.waiting.size() and an index in s.coroutines.
[[nodiscard]] std::vector<std::vector<std::size_t>> awaited_members(const snapshot& s);

/// Cycles of waits: each member waits for the next one, the last for the first. A cycle is reported once.
/// If cycles share members, some of them may not be reported.
[[nodiscard]] std::vector<std::vector<std::size_t>> cycles(const snapshot& s);

} // namespace detail
} // namespace v0
} // namespace pilfer
