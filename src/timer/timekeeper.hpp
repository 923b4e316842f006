// The timekeeper: one thread per process for the alarms and descriptors of pools whose workers are all busy.
//
// An idle worker watches over its pool's alarms (alarm_watch.cpp). While every worker is busy, no worker
// watches. Then this thread sleeps until the first of these alarms is due, and fires it. It is made when it
// is first needed, and ends with the last pool that has needed it. Argument: README.md, "The timekeeper".
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <pilfer/detail/timer/alarm.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class team;
class timed_task;

/// An object of a pool that the timekeeper looks at.
class kept_time {
public:
    explicit kept_time(const team& t) noexcept : m_team(t) {}
    kept_time(const kept_time&) = delete;
    kept_time& operator=(const kept_time&) = delete;

    /// When it is due, while no worker watches over it. never: a worker does, or nothing is expected.
    [[nodiscard]] virtual instant first_unwatched() const noexcept = 0;
    /// Does what is due at `t`, unless a worker watches. The timekeeper writes `report` to standard error, if
    /// it is not empty.
    virtual void fire_unwatched(instant t, std::string& report) noexcept = 0;

    // ---- of the timekeeper
    /// The timekeeper may have a thread for the pool.
    [[nodiscard]] bool may_be_kept() const noexcept;
    kept_time* next = nullptr; // under the list's lock
    std::atomic<bool> listed{false};
    bool over = false; // under `life`: the pool has ended, and is not listed again

protected:
    ~kept_time() = default;

private:
    const team& m_team;
};

namespace timekeeper {

/// The timekeeper fires an alarm this long after its due time, if no worker has fired it before. In a pool
/// with many short tasks a worker fires it in time, and this thread need not run.
inline constexpr instant patience = 300'000; // ns
/// While a descriptor is waited for and all workers are busy: how often this thread looks at it.
inline constexpr instant io_interval = 1'000'000; // ns

/// Any thread: no worker watches over what is due at `due`, and none of the pool sleeps; any_time: a
/// descriptor. If the thread cannot be made, the alarm waits for a worker. Cost: a fence; a system call if
/// the timekeeper sleeps for longer.
void expect(kept_time& k, instant due) noexcept;
/// The end of a pool, after its last worker: the timekeeper will not touch it any more.
void forget(kept_time& k) noexcept;
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
