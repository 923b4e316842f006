#include "worker/sleeper.hpp"

#include "base/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

sleeper::sleeper(scheduler& w, pool_core& p) noexcept : m_worker(w), m_pool(p) {}

void sleeper::search_begins() noexcept {
    if (!m_token) {
        m_alert = true;
        m_pool.idle().be_alert(m_worker.index);
    }
}

void sleeper::settle() noexcept {
    if (m_token || m_alert) {
        m_pool.idle().settle_token(m_worker.index); // it was for the end: no worker is owed another look
    }
}

/// `likely`: the worker that may have more, which is asked first: without it the look goes from deque to
/// deque, a line each, before anybody is woken.
void sleeper::found_work(unsigned likely) noexcept {
    m_worker.leave_alarms();
    m_looks = 0;
    if (!m_token) {
        if (m_alert) {
            // idle.S6: whoever queued something since the search began may have told nobody.
            m_alert = false;
            m_pool.idle().settle_alert(m_worker.index);
            if (m_worker.anything_queued()) {
                m_pool.notify_any();
            }
        }
        return;
    }
    m_alert = false;
    m_token = false;
    PILFER_CHAOS_POINT(token);
    auto& idle = m_pool.idle();
    idle.settle_token(m_worker.index);
    m_pool.keep_watch();
    // The token must not be spent on an older task than the one it was given for; and a wave that wakes
    // two at a time reaches everybody in about log2 N steps.
    const unsigned victim = idle.hint(m_worker.index);
    const auto more = [&] { return m_pool.at(likely).deque.thief().has_any() || m_worker.anything_ready(); };
    for (unsigned woken = 0; woken < 2 && more(); ++woken) {
        const unsigned other = idle.wake_one(m_worker.index, victim);
        if (other == pool_core::pool_sleepers::nobody) {
            if (m_worker.anything_queued() || m_pool.left_tasks.any()) {
                // Whoever queued or left it woke this worker, and so summoned nobody; what this worker has
                // found instead may never end.
                m_pool.notify_any();
            }
            return;
        }
        m_worker.woke(other);
    }
}

/// Others get what lies here, and nobody counts on this worker any more.
void sleeper::retire() noexcept {
    found_work(m_worker.index); // settles what it owes: a token, a look, the watch over alarms
    // Nobody sleeps beside what lies here (../idle), whatever becomes of this worker: it need wake nobody.
    // Shared it is taken without a reach.
    m_worker.sharing.expose(m_worker.sharing.load_now().own);
    m_worker.switching.give_contexts();
    m_pool.worker_is_idle();
    // Who makes way wakes a sleeper at most, for it looks itself; this worker does not, and others may be
    // inside tasks that nobody summons.
    const bool leaves_tasks = m_worker.deque.thief().has_any();
    if (leaves_tasks) {
        m_pool.left_tasks.leave(); // idle.S9
    }
    std_atom::fence_sc();
    if (leaves_tasks || m_worker.anything_queued()) {
        m_pool.notify_any();
    }
    m_worker.count.sleeps.add();
    m_worker.log.note_slice(trace::what::sleep);
    auto when = stall_watch::when::lying_down;
    const auto called = [this] {
        return m_pool.stopping() || !m_worker.retires() || !m_worker.inbox().empty();
    };
    const auto rest = [&](std::atomic<std::uint32_t>& state) {
        const in_activity resting(m_worker.current_activity, activity::resting);
        // It may be the last one to lie down in a pool where nobody can go on.
        const std::uint64_t ns = m_pool.stall().look(m_pool, m_worker.index, when);
        when = stall_watch::when::lying;
        if (ns == 0) {
            os::futex_wait(state, pool_core::pool_sleepers::asleep);
        } else {
            os::futex_wait_for(state, pool_core::pool_sleepers::asleep, ns);
        }
    };
    const auto how = m_pool.idle().park(m_worker.index, called, rest);
    m_worker.log.note(trace::what::awake);
    m_token = m_token || how == pool_core::pool_sleepers::outcome::woken;
}

/// In place of a sleep, where the pool is kept warm or its workers are to be quick: another look, with all
/// that a sleeper would have seen to. What is owed stays owed. False: sleep.
bool sleeper::looks_again() noexcept {
    const bool warm = m_pool.is_warm();
    const unsigned most = m_pool.settings().spin == idle::latency ? looks_for_latency : 0;
    // A sleeper gives its stack to those that lack one.
    if ((!warm && m_looks >= most) || m_pool.stacks.exhausted()) {
        m_looks = 0;
        return false;
    }
    m_looks = warm ? 0 : m_looks + 1;
    m_pool.worker_is_idle();
    m_worker.look_at_all_alarms(); // nobody may watch over them: whoever would is here
    os::give_way();
    return true;
}

void sleeper::sleep() noexcept {
    using sleepers_type = pool_core::pool_sleepers;
    ensure([this] { return m_worker.current.load(rlx) == nullptr; },
           "a worker sleeps beside the context that it runs");
    m_pool.worker_is_idle();
    if (m_pool.stacks.exhausted()) {
        if (m_worker.switching.has_context()) {
            // Somebody lacks what would sleep here.
            m_worker.switching.give_contexts();
        } else if (m_worker.anything_ready()) {
            // No successful end of a search, but no scan either: the token goes to somebody who may have a
            // stack. Kept as `token` in the seat it would silence publishers while this worker runs a task.
            found_work(m_worker.index);
            // There may be tasks that only lack a stack: a sleeper may hold one, and whoever frees one
            // goes on with them. Look again soon.
            if (const unsigned woken = m_pool.idle().wake_one(m_worker.index, m_worker.index);
                woken != sleepers_type::nobody) {
                m_worker.woke(woken);
            } else if (m_worker.anything_queued() || m_pool.left_tasks.any()) {
                m_pool.notify_any(); // whoever queued or left it woke this worker, and so summoned nobody
            }
            m_pool.stall().look(m_pool, m_worker.index, stall_watch::when::napping);
            m_worker.log.note_slice(trace::what::nap);
            std::atomic<std::uint32_t> nobody{0};
            os::futex_wait_for(nobody, 0, 500'000);
            m_worker.log.note(trace::what::awake);
            return;
        }
    }
    const auto tell_all = [this] {
        for (unsigned k = 1; k < m_pool.size(); ++k) {
            auto& trip = m_pool.at((m_worker.index + k) % m_pool.size()).deque.signal();
            if (!trip.has(signal_word<std_atom>::wanted)) {
                trip.set(signal_word<std_atom>::wanted);
            }
        }
    };
    m_worker.count.sleeps.add();
    m_worker.log.note_slice(trace::what::sleep);
    auto when = stall_watch::when::lying_down;
    overdue_watch overdue(m_pool, m_worker.index);
    const auto rest = [&](std::atomic<std::uint32_t>& state) {
        const in_activity resting(m_worker.current_activity, activity::resting);
        // Whoever lies down last keeps an eye on contexts that nobody may ever wake.
        std::uint64_t ns = m_pool.stall().look(m_pool, m_worker.index, when);
        when = stall_watch::when::lying;
        const instant due = m_worker.watch_alarms();
        if (due < any_time) {
            const instant t = now();
            if (due <= t) {
                // As a token, which is owed like any other: behind the alarm there is work.
                m_worker.look_at_all_alarms();
                if (!m_pool.idle().wake(m_worker.index, m_worker.index)) {
                    os::futex_wait(state, sleepers_type::asleep); // a waker was faster: its token comes
                }
                return;
            }
            ns = ns == 0 || due - t < ns ? due - t : ns;
        }
        if constexpr (checked_build) {
            const std::uint64_t soon = overdue.look();
            ns = ns == 0 || (soon != 0 && soon < ns) ? soon : ns;
        }
        readiness* const io = due != never ? m_pool.io_if_made() : nullptr;
        if (m_worker.guest.is_taken()) {
            m_worker.guest.rest_as_guest(state, ns, io);
        } else if (io != nullptr) {
            m_worker.sleep_at_descriptors(*io, ns);
        } else if (ns == 0) {
            os::futex_wait(state, sleepers_type::asleep);
        } else {
            os::futex_wait_for(state, sleepers_type::asleep, ns);
        }
    };
    const auto how = m_pool.idle().sleep(
        // Sent away meanwhile (idle.S7), or kept warm: to be seen as what is queued is (idle.S2).
        m_worker.index, tell_all,
        [this] {
            return m_worker.retires() || m_pool.is_warm() || m_worker.anything_ready() ||
                   m_worker.guest.is_stirred();
        },
        rest);
    m_worker.log.note(trace::what::awake);
    // A token outlives a scan that found something: only found_work() pays what it owes.
    m_token = m_token || how == sleepers_type::outcome::woken;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
