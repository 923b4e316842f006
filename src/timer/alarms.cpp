// Alarms on workers: the thread that fires them, and the sleeping worker that watches for the next one.
// Argument: src/timer/README.md.
#include <pilfer/detail/timer/alarm.hpp>
#include <pilfer/timer.hpp>

#include <algorithm>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// A bound, so that a heap full of due alarms delays neither the fired tasks nor the other heaps.
constexpr unsigned most_at_once = 64;

} // namespace

unsigned fire_due_of(scheduler& w, instant t) noexcept {
    unsigned fired = 0;
    for (; fired < most_at_once; ++fired) {
        auto* const due = w.alarms.take_due(t);
        if (due == nullptr) {
            break;
        }
        auto& a = *static_cast<alarm*>(due);
        a.fire(a);
    }
    return fired;
}

void arm(scheduler& w, alarm& a, instant due, told when) noexcept {
    w.core().will_expect();
    w.alarms.arm(a, due);
    w.backend().armed(w, due, when);
}

void arm(pool_core& p, alarm& a, instant due) noexcept {
    p.will_expect();
    p.any_worker().alarms.arm(a, due);
    p.tell_watch(due);
}

void scheduler::armed(instant due, told when) noexcept {
    if (when == told::soon) {
        m_armed = std::min<instant>(m_armed, due);
    } else {
        m_pool.tell_watch(due);
    }
}

/// Called between two tasks. The caller looks for runnable tasks right afterwards. True: an alarm has fired.
bool scheduler::fire_due(bool of_all) noexcept {
    if ((of_all ? m_pool.first_alarm() : alarms.earliest()) == never) {
        return false;
    }
    const instant t = now();
    bool any = false;
    m_fires = true;
    for (unsigned k = 0; k < (of_all ? m_pool.size() : 1); ++k) {
        const unsigned fired = fire_due_of(m_pool.at((index + k) % m_pool.size()), t);
        any = any || fired != 0;
        m_all_alarms = m_all_alarms || (of_all && fired == most_at_once);
    }
    m_fires = false;
    m_owes_notice = m_owes_notice || any;
    return any;
}

/// Called while this worker is in the map of sleepers. Returns until when it may sleep; never: until it is
/// woken.
instant scheduler::watch_alarms() noexcept {
    const instant until = m_pool.watch().lie_down(index, [this] { return m_pool.first_expected(); });
    m_watches = until != never; // if there is nothing to watch over, it does not hold the watch
    const instant mine = m_armed;
    m_armed = never;
    if (until == never && mine != never) {
        m_pool.tell_watch(mine); // another worker watches, and may sleep longer
    }
    return until;
}

/// This worker is about to run a task. Other workers take over its watch, its new alarms and its
/// notifications.
void scheduler::leave_alarms() noexcept {
    if (m_watches) [[unlikely]] {
        m_watches = false;
        if (m_pool.watch().held_by(index) &&
            m_pool.watch().get_up([this] { return m_pool.first_expected(); })) {
            m_pool.find_watch();
        }
    }
    if (m_armed != never) [[unlikely]] {
        const instant mine = m_armed;
        m_armed = never;
        m_pool.tell_watch(mine);
    }
    if (m_owes_notice) [[unlikely]] {
        m_owes_notice = false;
        if (!resting.has_token() && anything_queued()) {
            m_pool.notify_any();
        }
    }
}

instant pool_core::first_alarm() const noexcept {
    instant first = never;
    for (unsigned i = 0; i < schedulers(); ++i) {
        first = std::min(first, m_workers[i]->alarms.earliest());
    }
    return first;
}

instant pool_core::first_expected() const noexcept {
    const instant first = first_alarm();
    const readiness* const io = io_if_made();
    return first == never && io != nullptr && io->is_awaited() ? any_time : first;
}

bool pool_core::expects_soon() const noexcept {
    const readiness* const io = io_if_made();
    if (io != nullptr && io->is_awaited()) {
        return true;
    }
    const instant first = first_alarm();
    const std::uint64_t interval = std::uint64_t{m_options.debug.stall_report} * 1'000'000;
    return first != never && (interval == 0 || first <= now() + interval);
}

/// Wakes the watching worker, because an alarm is due at `due`. If no worker watches, wakes any sleeping
/// worker. If all workers are busy, the timekeeper watches.
void pool_core::wake_watch(instant due) noexcept {
    const std::uint32_t who = m_watch.holder();
    if (who == timer_watch<std_atom>::nobody) {
        if (!wake_somebody()) {
            timekeeper::expect(*this, due);
        }
    } else if (m_idle->wake(who, who)) {
        if (worker* w = this_worker(); w != nullptr && w->pool == this) {
            static_cast<scheduler*>(w)->woke(who);
        }
    }
    // Otherwise the watching worker is awake, and looks again before it sleeps or runs a task.
}

/// The watching worker begins to run a task, while alarms or descriptors still have to be watched.
void pool_core::find_watch() noexcept {
    if (!wake_somebody()) {
        timekeeper::expect(*this, first_unwatched());
    }
}

/// A worker that was woken, perhaps to watch, begins to run a task. Called after the fence of settle_token()
/// (timer.T7).
void pool_core::keep_watch() noexcept {
    if (m_expects.load(rlx) && first_unwatched() != never) {
        find_watch();
    }
}

// ---- tasks that an alarm queues ---------------------------------------------------------------

bool pool_core::expect() noexcept {
    const worker* w = this_worker();
    if (w != nullptr && w->pool == this) {
        m_closing.accept_inside();
        return true;
    }
    return m_closing.accept();
}

void pool_core::queue_expected(submission* s, priority level) noexcept {
    san::release(static_cast<spark*>(s));
    if (m_places.bounded()) {
        m_places.take_anyway();
    }
    m_backend->queue(*s, level, origin::alarm);
}

/// Runs a prompt task, which has fired and is counted, at once on the thread that fires it.
void pool_core::run_prompt(timed_task& t) noexcept {
    worker* const w = this_worker();
    if (timekeeper::is_here()) {
        timekeeper::run_soon(t);
    } else if (w == nullptr || w->pool != this || !m_backend->run_prompt(*static_cast<scheduler*>(w), t)) {
        queue_expected(&t, priority::high);
    }
}

void pool_core::forget_expected() noexcept {
    const pool_pin here(*this); // once it is no longer counted the pool may end
    m_closing.withdraw();
}

void pool_core::leave_cancelled(timed_task* t) noexcept {
    // Each call also removes one finished entry. So only entries that are being cancelled right now stay.
    if (auto* n = m_cancelled.pop()) {
        auto* before = static_cast<timed_task*>(static_cast<submission*>(n));
        if (before->is_over()) {
            before->release(); // its function has ended: this runs no user code
        } else {
            m_cancelled.push(before);
        }
    }
    m_cancelled.push(t);
}

/// Ends the timed tasks that drop_alarms() and the workers have left. The calling thread may run user code.
void pool_core::end_dropped() noexcept {
    while (!ended_with_pool.empty()) {
        if (auto* n = ended_with_pool.pop()) {
            static_cast<timed_task*>(static_cast<submission*>(n))->pool_has_ended();
        }
    }
}

/// Called after the last worker has ended, so no further cancelled task can be added.
void pool_core::wait_for_cancellers() noexcept {
    while (!m_cancelled.empty()) {
        if (auto* n = m_cancelled.pop()) {
            auto* t = static_cast<timed_task*>(static_cast<submission*>(n));
            t->wait_for_canceller();
            t->release();
        }
    }
}

/// `counted`: also drops the alarms that a draining shutdown waits for.
void pool_core::drop_alarms(bool counted) noexcept {
    for (unsigned i = 0; i < schedulers(); ++i) {
        const auto ends = [counted](const auto& t) {
            const auto& a = static_cast<const alarm&>(t);
            return a.drop != nullptr && (counted || !a.counts);
        };
        while (auto* t = at(i).alarms.take_if(ends)) {
            auto& a = *static_cast<alarm*>(t);
            a.drop(a);
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
