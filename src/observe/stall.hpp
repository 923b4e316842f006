// Notices a pool in which everybody waits for somebody who waits. The report is written by ../observe.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

/// What a look at the waits of a pool found.
struct stall_verdict {
    bool stalled;         ///< nothing in it, or in the pools that it waits for, runs or can begin to
    std::uint64_t others; ///< progress of the other pools that it waits for; 0 if there are none
};

// Defined in ../observe. All look at every suspended context, and write to standard error.
[[nodiscard]] stall_verdict judge_stall(pool_core& p) noexcept;
void write_stall_report(pool_core& p, std::uint64_t idle_ns) noexcept;
/// Of a one-lock pool.
void write_stuck_report(pool_core& p, unsigned threads, unsigned ready, std::uint64_t idle_ns) noexcept;
/// Of a pool whose workers are all inside blocking().
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

    /// It was the last one to lie down.
    [[nodiscard]] bool is_watched_by(unsigned worker) const noexcept {
        return m_interval != 0 && m_watcher.load(std::memory_order_relaxed) == worker;
    }

private:
    [[nodiscard]] std::uint64_t look_locked(pool_core& p) noexcept;

    const std::uint64_t m_interval;
    std::atomic<unsigned> m_watcher{UINT32_MAX}; // who was the last to lie down
    std::mutex m_mutex;                          // only ever tried
    // Under the mutex:
    std::uint64_t m_progress = UINT64_MAX; // of the pool when it was first seen at rest
    std::uint64_t m_others = 0;            // the same of those it waits for
    std::uint64_t m_since = 0;             // when that was
    bool m_reported = false;               // this standstill was
};

/// One per pool: all its workers are inside blocking(), in place because no helper could be had, and a task
/// is ready. No worker is left to notice that, so the timekeeper looks.
class blocked_watch {
public:
    /// `interval`: nanoseconds, 0: never reports.
    explicit blocked_watch(std::uint64_t interval) noexcept : m_interval(interval) {}

    /// A worker is about to run such a call, which p.in_place() counts already.
    void call_begins(pool_core& p) noexcept;
    /// When look() is to be called; UINT64_MAX: not at all. Any thread.
    [[nodiscard]] std::uint64_t due() const noexcept { return m_due.load(std::memory_order_relaxed); }
    /// True, once: nothing has begun for the interval, and blocked_report() is to be written. By the
    /// timekeeper, at the time `t`.
    [[nodiscard]] bool look(pool_core& p, std::uint64_t t) noexcept;

private:
    const std::uint64_t m_interval;
    std::atomic<std::uint64_t> m_due{UINT64_MAX}; // look() only replaces what it has seen: a call may begin
    std::atomic<std::uint64_t> m_progress{0};     // of the pool, an interval before m_due
};

} // namespace detail
} // namespace v0
} // namespace pilfer
