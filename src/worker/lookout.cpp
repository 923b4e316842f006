#include "worker/lookout.hpp"

#include "platform/os.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

lookout::lookout(scheduler& w, team& t) noexcept : m_worker(w), m_team(t) {}

void lookout::search_begins() noexcept {
    if (!m_token) {
        m_alert = true;
        m_team.idle().be_alert(m_worker.index);
    }
}

/// `likely` is the worker that may have more tasks, and its deque is checked first. Without this hint the
/// check reads a cache line of every deque before a sleeper is woken.
void lookout::found_work(unsigned likely) noexcept {
    m_worker.hand_on();
    m_looks = 0;
    if (!m_token) {
        if (m_alert) {
            // idle.S6: a thread that queued something since the search began may have woken no worker,
            // because this one was alert.
            m_alert = false;
            m_team.idle().settle_alert(m_worker.index);
            if (m_worker.anything_queued()) {
                m_team.wakes.notify_any();
            }
        }
        return;
    }
    m_alert = false;
    m_token = false;
    PILFER_CHAOS_POINT(token);
    auto& idle = m_team.idle();
    idle.settle_token(m_worker.index);
    if (m_team.expects()) [[unlikely]] {
        m_team.watch().settled_token(m_worker);
    }
    // A token is given for one task, and this worker may have found an older one. So it looks again, and
    // passes its hint on to the workers that it wakes. Each wakes up to two others, so a wave reaches all
    // workers in about log2 N steps.
    const unsigned victim = idle.hint(m_worker.index);
    const auto more = [&] { return m_team.at(likely).deque.thief().has_any() || m_worker.anything_ready(); };
    for (unsigned woken = 0; woken < 2 && more(); ++woken) {
        const unsigned other = idle.wake_one(m_worker.index, victim);
        if (other == team::pool_sleepers::nobody) {
            if (m_worker.anything_queued() || m_team.left_tasks.any()) {
                // The thread that queued or left the task woke this worker, and so sent no yield request. The
                // task that this worker has found instead may never end.
                m_team.wakes.notify_any();
            }
            return;
        }
        m_worker.woke(other);
    }
}

/// Returns true for another search instead of a sleep: the pool is kept warm, or its workers spin for
/// latency. Serves alarms and waiting shutdowns, as a sleeper would. A token or an alert is kept. False:
/// sleep.
bool lookout::looks_again() noexcept {
    const bool warm = m_team.is_warm();
    const unsigned most = m_team.settings().spin == idle::latency ? looks_for_latency : 0;
    // If stacks have run out the worker has to sleep, because a sleeper gives its free stacks to tasks that
    // lack one.
    if ((!warm && m_looks >= most) || m_team.stacks.exhausted()) {
        m_looks = 0;
        return false;
    }
    m_looks = warm ? 0 : m_looks + 1;
    m_team.life.worker_is_idle();
    m_team.watch().stays_awake(m_worker);
    os::give_way();
    return true;
}

void lookout::settle() noexcept {
    if (m_token || m_alert) {
        m_team.idle().settle_token(m_worker.index); // the pool ends: no other look is due
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
