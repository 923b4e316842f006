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
        m_pool.idle().settle_token(m_worker.index); // the pool ends: no other look is due
    }
}

/// `likely` is the worker that may have more tasks, and its deque is checked first. Without this hint the
/// check reads a cache line of every deque before a sleeper is woken.
void sleeper::found_work(unsigned likely) noexcept {
    m_worker.leave_alarms();
    m_looks = 0;
    if (!m_token) {
        if (m_alert) {
            // idle.S6: a thread that queued something since the search began may have woken no worker,
            // because this one was alert.
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
    // A token is given for one task, and this worker may have found an older one. So it looks again, and
    // passes its hint on to the workers that it wakes. Each wakes up to two others, so a wave reaches all
    // workers in about log2 N steps.
    const unsigned victim = idle.hint(m_worker.index);
    const auto more = [&] { return m_pool.at(likely).deque.thief().has_any() || m_worker.anything_ready(); };
    for (unsigned woken = 0; woken < 2 && more(); ++woken) {
        const unsigned other = idle.wake_one(m_worker.index, victim);
        if (other == pool_core::pool_sleepers::nobody) {
            if (m_worker.anything_queued() || m_pool.left_tasks.any()) {
                // The thread that queued or left the task woke this worker, and so sent no yield request. The
                // task that this worker has found instead may never end.
                m_pool.notify_any();
            }
            return;
        }
        m_worker.woke(other);
    }
}

/// Shares all tasks of the own deque, settles every debt, and parks until this worker is called back.
void sleeper::retire() noexcept {
    // Settles the token, the alert and the watch over alarms.
    found_work(m_worker.index);
    // No worker sleeps beside the tasks of this deque (../idle), even after this worker has retired, so they
    // need no wake-up. Once they are shared, a thief takes them without forcing an exposure.
    m_worker.sharing.expose(m_worker.sharing.load_now().own);
    m_worker.switching.give_contexts();
    m_pool.worker_is_idle();
    // A context that yields is announced to a sleeper at most, because its own worker looks at the queue
    // next. This worker retires instead of looking, and the other workers may run tasks without a yield
    // request.
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
        // This worker may be the last one to park in a pool in which no task can continue.
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

/// Returns true for another search instead of a sleep: the pool is kept warm, or its workers spin for
/// latency. Serves alarms and waiting shutdowns, as a sleeper would. A token or an alert is kept. False:
/// sleep.
bool sleeper::looks_again() noexcept {
    const bool warm = m_pool.is_warm();
    const unsigned most = m_pool.settings().spin == idle::latency ? looks_for_latency : 0;
    // If stacks have run out the worker has to sleep, because a sleeper gives its free stacks to tasks that
    // lack one.
    if ((!warm && m_looks >= most) || m_pool.stacks.exhausted()) {
        m_looks = 0;
        return false;
    }
    m_looks = warm ? 0 : m_looks + 1;
    m_pool.worker_is_idle();
    // This worker stays awake and so watches over no alarms; perhaps no other worker does.
    m_worker.look_at_all_alarms();
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
            // Another worker lacks a stack, so this one keeps none while it sleeps.
            m_worker.switching.give_contexts();
        } else if (m_worker.anything_ready()) {
            // The search has found no task that this worker can start, and no scan follows. So the token goes
            // to another worker, which may have a stack. A `token` left in the seat would silence publishers
            // while this worker runs a task.
            found_work(m_worker.index);
            // Some tasks may lack nothing but a stack. A sleeper may hold one, so a sleeper is woken. A
            // worker that frees a stack runs such a task itself. This worker looks again soon.
            if (const unsigned woken = m_pool.idle().wake_one(m_worker.index, m_worker.index);
                woken != sleepers_type::nobody) {
                m_worker.woke(woken);
            } else if (m_worker.anything_queued() || m_pool.left_tasks.any()) {
                m_pool.notify_any(); // its publisher woke this worker, and so sent no yield request
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
        // The last worker to lie down looks for contexts that no thread may ever resume.
        std::uint64_t ns = m_pool.stall().look(m_pool, m_worker.index, when);
        when = stall_watch::when::lying;
        const instant due = m_worker.watch_alarms();
        if (due < any_time) {
            const instant t = now();
            if (due <= t) {
                // The worker wakes itself with a token, as a waker would, and has to settle it: there is work
                // after the alarm.
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
        // The scan also covers a retirement (idle.S7), and a pool that is kept warm counts as queued work
        // (idle.S2).
        m_worker.index, tell_all,
        [this] {
            return m_worker.retires() || m_pool.is_warm() || m_worker.anything_ready() ||
                   m_worker.guest.is_stirred();
        },
        rest);
    m_worker.log.note(trace::what::awake);
    // A token outlives a scan that found something: only found_work() settles it.
    m_token = m_token || how == sleepers_type::outcome::woken;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
