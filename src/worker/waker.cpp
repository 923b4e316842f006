#include "worker/waker.hpp"

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Number of workers, one cache line each, that are examined to save a wake-up.
constexpr unsigned most_asked_alert = 8;

} // namespace

/// True if some worker searches. A searching worker looks once more before it runs a task (idle.S6), so the
/// submission saves a system call.
bool waker::somebody_is_alert() noexcept {
    const unsigned last = m_seen_alert.load(rlx);
    const unsigned who = m_team.idle().anyone_alert(last, most_asked_alert);
    if (who != team::pool_sleepers::nobody && who != last) {
        m_seen_alert.store(who, rlx);
    }
    return who != team::pool_sleepers::nobody;
}

bool waker::wake_any(bool spare) noexcept {
    std_atom::fence_sc(); // idle.S2 for those without a signal word of their own
    if (!m_team.idle().anyone_asleep()) {
        return false;
    }
    scheduler* const own = m_team.here();
    if (spare && own == nullptr && somebody_is_alert()) {
        return true;
    }
    // A worker wakes a sleeper near itself. A thread outside is near no worker: it starts at the next index
    // in turn, or all such threads would wake the same worker.
    const unsigned from = own != nullptr ? own->index : m_next.fetch_add(1, rlx) % m_team.active();
    const unsigned woken = m_team.idle().wake_one(from, from);
    if (woken == team::pool_sleepers::nobody) {
        return false;
    }
    if (own != nullptr) {
        own->woke(woken);
    }
    return true;
}

void waker::notify_any(bool spare) noexcept {
    const scheduler* const own = m_team.here();
    if (own != nullptr && own->defers_notices()) {
        return; // this worker takes one task itself, and then notifies others: scheduler::hand_on()
    }
    if (wake_any(spare)) {
        return;
    }
    // Any worker may be inside a task that announces nothing. So all get a yield request, and the first one
    // that sees it takes the task.
    for (unsigned i = 0; i < m_team.size(); ++i) {
        auto& trip = m_team.at(i).deque.signal();
        if (!trip.has(signal_word<std_atom>::yield_request)) {
            trip.set(signal_word<std_atom>::yield_request);
        }
    }
}

bool waker::wake(unsigned i) noexcept {
    scheduler* const own = m_team.here();
    if (own != nullptr && own->defers_notices()) {
        return false;
    }
    std_atom::fence_sc(); // as in notify()
    if (!m_team.idle().wake(i, i)) {
        return false;
    }
    if (own != nullptr) {
        own->woke(i);
    }
    return true;
}

/// A task was put into the inbox of worker `i`: wakes that worker, or sets its yield request.
void waker::notify(unsigned i) noexcept {
    std_atom::fence_sc();
    if (!m_team.idle().wake(i, i) && !m_team.idle().unpark(i)) {
        m_team.at(i).deque.signal().set(signal_word<std_atom>::yield_request);
    } else if (scheduler* const own = m_team.here()) {
        own->woke(i);
    }
}

void waker::requeue(suspension* s) noexcept {
    if (m_team.settings().resume == resume::anywhere) {
        m_team.runnable.push(s);
        (void)wake_any();
    } else {
        m_team.at(s->home->index).inbox().push(s);
    }
}

void waker::send_elsewhere(suspension* s, unsigned not_here) noexcept {
    const unsigned n = m_team.active(); // retired workers have threads too, so any index is correct
    const unsigned others = not_here < n ? n - 1 : n;
    const unsigned k = others == 0 ? 0 : m_next.fetch_add(1, rlx) % others;
    send_to(s, others == 0 ? not_here : (not_here < n ? not_here + 1 + k : k) % n);
}

void waker::send_to(suspension* s, unsigned worker) noexcept {
    scheduler& there = m_team.at(worker);
    there.inbox().push(s);
    notify(worker); // pool.V2: fences
    if (!there.is_there()) {
        there.forward_inbox();
    }
}

scheduler& waker::in_turn() noexcept { return m_team.at(m_next.fetch_add(1, rlx) % m_team.active()); }

} // namespace detail
} // namespace v0
} // namespace pilfer
