#include "observe/stall.hpp"

#include "base/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

std::uint64_t stall_watch::look(pool_core& p, unsigned worker, when w) noexcept {
    if (m_interval == 0) {
        return 0;
    }
    if (w == when::napping) {
        // While tasks lack a stack every idle worker naps, and none sleeps for good. So each napping worker
        // looks.
        if (!p.idle_now()) {
            return 0;
        }
    } else {
        if (w == when::lying && m_watcher.load(rlx) != worker) {
            return 0; // another worker fell asleep later, and watches
        }
        if (!p.everybody_rests()) {
            return 0; // a worker that is awake will watch when it falls asleep
        }
        m_watcher.store(worker, rlx);
    }
    // If no task waits, an idle pool does not wake up to look again.
    if (p.suspended() == 0 && p.waiting_coroutines() == 0) {
        return 0;
    }
    // A near alarm, an awaited descriptor or a running blocking() job may still end the standstill. So look
    // again later: if the alarm is cancelled, no worker falls asleep anew.
    if (p.expects_soon() || p.blocking().busy() != 0) {
        return m_interval;
    }
    const std::unique_lock lock(m_mutex, std::try_to_lock);
    return lock.owns_lock() ? look_locked(p) : m_interval;
}

std::uint64_t stall_watch::look_locked(pool_core& p) noexcept {
    const std::uint64_t now = os::now_ns();
    const std::uint64_t progress = p.progress();
    if (progress != m_progress) {
        m_progress = progress;
        m_since = now;
        m_others = 0;
        m_reported = false;
        return m_interval;
    }
    if (m_reported) {
        return 0;
    }
    if (now - m_since < m_interval) {
        return m_interval - (now - m_since);
    }
    const stall_verdict v = judge_stall(p);
    if (!v.stalled || v.others != m_others) {
        // Another pool that this one waits for still works, or has only just stopped.
        m_others = v.stalled ? v.others : 0;
        m_since = now;
        return m_interval;
    }
    m_reported = true;
    write_stall_report(p, now - m_since);
    return 0;
}

void blocked_watch::call_begins(pool_core& p) noexcept {
    if (m_interval == 0 || p.in_place().load(rlx) < p.active()) {
        return;
    }
    const std::uint64_t due = os::now_ns() + m_interval;
    m_progress.store(p.progress(), rlx);
    m_due.store(due, rlx);
    timekeeper::expect(p, due); // fences
}

bool blocked_watch::look(pool_core& p, std::uint64_t t) noexcept {
    std::uint64_t due = m_due.load(rlx);
    if (t < due) {
        return false;
    }
    bool stuck = false;
    const std::uint64_t progress = p.progress();
    std::uint64_t next = t + m_interval;
    if (p.in_place().load(rlx) < p.active()) {
        next = UINT64_MAX; // the next call that occupies the last worker sets a new time
    } else if (progress == m_progress.load(rlx) && p.nobody_takes_what_is_ready()) {
        next = UINT64_MAX;
        stuck = true;
    }
    m_progress.store(progress, rlx);
    (void)m_due.compare_exchange_strong(due, next, rlx, rlx);
    return stuck;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
