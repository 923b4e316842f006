// Notices a pool at a standstill: every task waits for another task that waits. report.cpp writes the report.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

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

/// One per pool. Workers call look() when they have nothing to do.
class stall_watch {
public:
    enum class when {
        lying_down, ///< about to sleep
        lying,      ///< asleep, back from the futex without having been woken
        napping,    ///< awake, with tasks around that lack a stack
    };

    /// `interval`: nanoseconds, 0: never reports.
    explicit stall_watch(std::uint64_t interval) noexcept : m_interval(interval) {}

    /// Reports once if the pool has been at a standstill for the interval. Returns after how many
    /// nanoseconds the caller has to look again; 0: not at all.
    std::uint64_t look(pool_core& p, unsigned worker, when w) noexcept;

    /// True if `worker` was the last one to fall asleep.
    [[nodiscard]] bool is_watched_by(unsigned worker) const noexcept {
        return m_interval != 0 && m_watcher.load(std::memory_order_relaxed) == worker;
    }

private:
    [[nodiscard]] std::uint64_t look_locked(pool_core& p) noexcept;

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
class blocked_watch {
public:
    /// `interval`: nanoseconds, 0: never reports.
    explicit blocked_watch(std::uint64_t interval) noexcept : m_interval(interval) {}

    /// A worker is about to run a blocking() job itself. p.in_place() already counts it.
    void call_begins(pool_core& p) noexcept;
    /// When look() is to be called; UINT64_MAX: not at all. Any thread.
    [[nodiscard]] std::uint64_t due() const noexcept { return m_due.load(std::memory_order_relaxed); }
    /// Called by the timekeeper at the time `t`. True, once, if no task has begun for the interval: then
    /// blocked_report() has to be written.
    [[nodiscard]] bool look(pool_core& p, std::uint64_t t) noexcept;

private:
    const std::uint64_t m_interval;
    std::atomic<std::uint64_t> m_due{
        UINT64_MAX}; // look() replaces only the value that it has read: a call may begin
    std::atomic<std::uint64_t> m_progress{0}; // of the pool, an interval before m_due
};

} // namespace detail
} // namespace v0
} // namespace pilfer
