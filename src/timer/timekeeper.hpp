// The timekeeper: one thread per process for the alarms and descriptors of pools whose workers are all busy.
//
// An idle worker watches over its pool's alarms (alarms.cpp). While every worker is busy, no worker watches.
// Then this thread sleeps until the first of these alarms is due, and fires it. It is made when it is first
// needed, and ends with the last pool that has needed it. Argument: README.md, "The timekeeper".
#pragma once

#include <cstdint>

#include <pilfer/detail/timer/alarm.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class readiness;
class timed_task;

/// The place of a pool in the timekeeper's list.
struct kept_time {
    pool_core* next = nullptr; // under the list's lock
    std::atomic<bool> listed{false};
    bool over = false; // under `life`: the pool has ended, and is not listed again
};

namespace timekeeper {

/// The timekeeper fires an alarm this long after its due time, if no worker has fired it before. In a pool
/// with many short tasks a worker fires it in time, and this thread need not run.
inline constexpr instant patience = 300'000; // ns
/// While a descriptor is waited for and all workers are busy: how often this thread looks at it.
inline constexpr instant io_interval = 1'000'000; // ns

/// Any thread: no worker of `p` watches over what is due at `due`, and none of them sleeps; any_time: a
/// descriptor. If the thread cannot be made, the alarm waits for a worker. Cost: a fence; a system call if
/// the timekeeper sleeps for longer.
void expect(pool_core& p, instant due) noexcept;
/// The end of a pool, after its last worker: the timekeeper will not touch it any more.
void forget(pool_core& p) noexcept;
/// The calling thread is the timekeeper.
[[nodiscard]] bool is_here() noexcept;
/// Called by the timekeeper when it fires `t`. Runs the function of `t` as soon as it holds no lock.
void run_soon(timed_task& t) noexcept;
/// How often it has run since the process began, for tests.
[[nodiscard]] std::uint64_t wake_ups() noexcept;
/// Called in a child of fork(), which has no timekeeper thread.
void forget_all() noexcept;

} // namespace timekeeper
} // namespace detail
} // namespace v0
} // namespace pilfer
