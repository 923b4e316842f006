#include "observe/stall.hpp"

#include "guest/blocking.hpp"
#include "platform/os.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"
#include "timer/alarm_watch.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

bool is_idle(pool_core& p) noexcept {
    // A pool with a blocked thread is not idle: the thread may wait for something outside the pool.
    if (const auto f = p.backend().threads_now(); f && (f->blocked != 0 || f->ready != 0)) {
        return false;
    }
    for (unsigned i = 0; i < p.schedulers(); ++i) {
        if (p.at(i).current.load(rlx) != nullptr) {
            return false;
        }
    }
    return true;
}

bool expects_soon(const pool_core& p) noexcept {
    const std::uint64_t interval = std::uint64_t{p.settings().debug.stall_report} * 1'000'000;
    return p.alarms->expects_before(interval == 0 ? never - 1 : now() + interval);
}

stall_watch::stall_watch(pool_core& p, std::uint64_t interval) noexcept : m_pool(p), m_interval(interval) {
    if (interval != 0) {
        p.add(*this);
    }
}

void stall_watch::plan_rest(scheduler& w, rest_plan& plan) noexcept {
    if (!plan.begins && m_watcher.load(rlx) != w.index) {
        return; // another worker fell asleep later, and watches
    }
    if (!everybody_rests(m_pool)) {
        return; // a worker that is awake will watch when it falls asleep
    }
    m_watcher.store(w.index, rlx);
    if (const std::uint64_t ns = look(); ns != 0) {
        plan.limit_to(ns);
    }
}

/// While tasks lack a stack every idle worker naps, and none sleeps for good. So each napping worker looks.
void stall_watch::naps(scheduler& /*w*/) noexcept {
    if (is_idle(m_pool)) {
        (void)look();
    }
}

void stall_watch::leaves(scheduler& w) noexcept {
    if (m_watcher.load(rlx) != w.index) {
        return;
    }
    // The woken worker watches when it sleeps again.
    if (const unsigned other = m_pool.idle().wake_one(w.index, w.index);
        other != team::pool_sleepers::nobody) {
        w.woke(other);
    }
}

void stall_watch::threads_are_stuck(unsigned threads, unsigned ready, std::uint64_t ns) noexcept {
    write_stuck_report(m_pool, threads, ready, ns);
}

/// Returns after how many nanoseconds the caller has to look again; 0: not at all.
std::uint64_t stall_watch::look() noexcept {
    // If no task waits, an idle pool does not wake up to look again.
    if (figures::suspended(m_pool) == 0 && figures::waiting_coroutines(m_pool) == 0) {
        return 0;
    }
    // A near alarm, an awaited descriptor or a running blocking() job may still end the standstill. So look
    // again later: if the alarm is cancelled, no worker falls asleep anew.
    if (expects_soon(m_pool) || m_pool.helpers->busy() != 0) {
        return m_interval;
    }
    const std::unique_lock lock(m_mutex, std::try_to_lock);
    return lock.owns_lock() ? look_locked() : m_interval;
}

std::uint64_t stall_watch::look_locked() noexcept {
    const std::uint64_t now = os::now_ns();
    const std::uint64_t progress = figures::progress(m_pool);
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
    const stall_verdict v = judge_stall(m_pool);
    if (!v.stalled || v.others != m_others) {
        // Another pool that this one waits for still works, or has only just stopped.
        m_others = v.stalled ? v.others : 0;
        m_since = now;
        return m_interval;
    }
    m_reported = true;
    write_stall_report(m_pool, now - m_since);
    return 0;
}

blocked_watch::blocked_watch(pool_core& p, std::uint64_t interval) noexcept
    : kept_time(p), m_pool(p), m_interval(interval) {
    if (interval != 0) {
        p.add(*this);
    }
}

void blocked_watch::blocks(scheduler& /*w*/) noexcept {
    if (m_pool.in_place().load(rlx) < m_pool.active()) {
        return;
    }
    const std::uint64_t due = os::now_ns() + m_interval;
    m_progress.store(figures::progress(m_pool), rlx);
    m_due.store(due, rlx);
    timekeeper::expect(*this, due); // fences
}

instant blocked_watch::first_unwatched() const noexcept { return m_due.load(rlx); }

void blocked_watch::fire_unwatched(instant t, std::string& report) noexcept {
    if (look(t)) {
        report += blocked_report(m_pool);
    }
}

/// A guess: true if every worker is inside a task while another task waits in a queue or a deque.
bool blocked_watch::nobody_takes_what_is_ready() noexcept {
    bool ready = !m_pool.submissions.empty() || !m_pool.runnable.empty();
    for (unsigned i = 0; i < m_pool.active(); ++i) {
        if (m_pool.at(i).current.load(rlx) == nullptr) {
            return false;
        }
        const auto lie_there = m_pool.at(i).deque.thief().look();
        ready = ready || lie_there.shared + lie_there.own > 0;
    }
    return ready;
}

bool blocked_watch::look(std::uint64_t t) noexcept {
    std::uint64_t due = m_due.load(rlx);
    if (t < due) {
        return false;
    }
    bool stuck = false;
    const std::uint64_t progress = figures::progress(m_pool);
    std::uint64_t then = t + m_interval;
    if (m_pool.in_place().load(rlx) < m_pool.active()) {
        then = UINT64_MAX; // the next call that occupies the last worker sets a new time
    } else if (progress == m_progress.load(rlx) && nobody_takes_what_is_ready()) {
        then = UINT64_MAX;
        stuck = true;
    }
    m_progress.store(progress, rlx);
    (void)m_due.compare_exchange_strong(due, then, rlx, rlx);
    return stuck;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
