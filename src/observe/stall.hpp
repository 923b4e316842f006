// Notices a pool at a standstill: every task waits for another task that waits. report.cpp writes the report.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "task/service.hpp"
#include "timer/timekeeper.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// The result of an examination of a pool's waits.
struct stall_verdict {
    bool stalled;         ///< no task of this pool, or of pools that it waits for, runs or can begin
    std::uint64_t others; ///< progress() of the other pools that it waits for; 0 if there are none
};

// These functions look at every suspended context. Reports go to standard error.
[[nodiscard]] stall_verdict judge_stall(pool_core& p) noexcept;
void write_stall_report(pool_core& p, std::uint64_t idle_ns) noexcept;
/// The report for a one-lock pool.
void write_stuck_report(pool_core& p, unsigned threads, unsigned ready, std::uint64_t idle_ns) noexcept;
/// The report for a pool whose workers are all inside blocking().
[[nodiscard]] std::string blocked_report(pool_core& p) noexcept;
void write_dump(pool_core& p) noexcept;

/// True if every worker is outside a task. A guess while they work.
[[nodiscard]] bool is_idle(pool_core& p) noexcept;
/// True if an alarm is due before a stall report would be, or if a descriptor is awaited.
[[nodiscard]] bool expects_soon(const pool_core& p) noexcept;

/// One per pool. The last worker that falls asleep looks, and reports a standstill once.
class stall_watch final : public service {
public:
    /// `interval`: nanoseconds, 0: never reports.
    stall_watch(pool_core& p, std::uint64_t interval) noexcept;

    void plan_rest(scheduler& w, rest_plan& plan) noexcept override;
    void naps(scheduler& w) noexcept override;
    void leaves(scheduler& w) noexcept override;
    void threads_are_stuck(unsigned threads, unsigned ready, std::uint64_t ns) noexcept override;

private:
    [[nodiscard]] std::uint64_t look() noexcept;
    [[nodiscard]] std::uint64_t look_locked() noexcept;

    pool_core& m_pool;
    const std::uint64_t m_interval;
    std::atomic<unsigned> m_watcher{UINT32_MAX}; // the worker that fell asleep last
    std::mutex m_mutex;                          // only ever tried
    // Under the mutex:
    std::uint64_t m_progress = UINT64_MAX; // of the pool, when it was first seen idle
    std::uint64_t m_others = 0;            // progress of the pools that it waits for
    std::uint64_t m_since = 0;             // when the pool was first seen idle
    bool m_reported = false;               // this standstill has been reported
};

/// One per pool. Notices a ready task while all workers run jobs of blocking() themselves, because no helper
/// was available. No worker is left to notice that, so the timekeeper looks.
class blocked_watch final : public service, public kept_time {
public:
    /// `interval`: nanoseconds, 0: never reports.
    blocked_watch(pool_core& p, std::uint64_t interval) noexcept;

    // ---- service
    /// The pool's in_place() already counts the job.
    void blocks(scheduler& w) noexcept override;

    // ---- kept_time
    /// When the next look is due; never: none is.
    [[nodiscard]] instant first_unwatched() const noexcept override;
    /// Reports, once, that no task has begun for the interval.
    void fire_unwatched(instant t, std::string& report) noexcept override;

private:
    [[nodiscard]] bool look(std::uint64_t t) noexcept;
    [[nodiscard]] bool nobody_takes_what_is_ready() noexcept;

    pool_core& m_pool;
    const std::uint64_t m_interval;
    std::atomic<std::uint64_t> m_due{
        UINT64_MAX}; // look() replaces only the value that it has read: a call may begin
    std::atomic<std::uint64_t> m_progress{0}; // of the pool, an interval before m_due
};

} // namespace detail
} // namespace v0
} // namespace pilfer
