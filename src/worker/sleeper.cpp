#include "worker/sleeper.hpp"

#include "base/probe.hpp"
#include "platform/os.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

sleeper::sleeper(scheduler& w, team& t) noexcept : m_worker(w), m_team(t) {}

/// Asks the services, before each rest.
void sleeper::make(rest_plan& plan) noexcept {
    plan.has_work = false;
    plan.limit = 0;
    plan.place = nullptr;
    m_team.each_service([this, &plan](service& s) { s.plan_rest(m_worker, plan); });
}

/// `ns`: the longest rest; 0: no limit.
void sleeper::rest_on(std::atomic<std::uint32_t>& state, std::uint64_t ns) noexcept {
    if (ns == 0) {
        os::futex_wait(state, team::pool_sleepers::asleep);
    } else {
        os::futex_wait_for(state, team::pool_sleepers::asleep, ns);
    }
}

void sleeper::search_begins() noexcept {
    if (!m_token) {
        m_alert = true;
        m_team.idle().be_alert(m_worker.index);
    }
}

void sleeper::settle() noexcept {
    if (m_token || m_alert) {
        m_team.idle().settle_token(m_worker.index); // the pool ends: no other look is due
    }
}

/// `likely` is the worker that may have more tasks, and its deque is checked first. Without this hint the
/// check reads a cache line of every deque before a sleeper is woken.
void sleeper::found_work(unsigned likely) noexcept {
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

template <class Called>
void sleeper::park(Called called) noexcept {
    note_park();
    rest_plan plan;
    plan.retires = true;
    const auto rest = [&](std::atomic<std::uint32_t>& state) {
        const in_activity resting(m_worker.current_activity, activity::resting);
        make(plan);
        rest_on(state, plan.limit);
        plan.begins = false;
    };
    const auto how = m_team.idle().park(m_worker.index, called, rest);
    note_unpark();
    m_token = m_token || how == team::pool_sleepers::outcome::woken;
}

/// Shares all tasks of the own deque, settles every debt, and parks until this worker is called back.
void sleeper::retire() noexcept {
    // Settles the token, the alert and the watch over alarms.
    found_work(m_worker.index);
    // No worker sleeps beside the tasks of this deque (../idle), even after this worker has retired, so they
    // need no wake-up. Once they are shared, a thief takes them without forcing an exposure.
    m_worker.sharing.expose(m_worker.sharing.load_now().own);
    m_worker.switching.give_contexts();
    m_team.life.worker_is_idle();
    // A context that yields is announced to a sleeper at most, because its own worker looks at the queue
    // next. This worker retires instead of looking, and the other workers may run tasks without a yield
    // request.
    const bool leaves_tasks = m_worker.deque.thief().has_any();
    if (leaves_tasks) {
        m_team.left_tasks.leave(); // idle.S9
    }
    std_atom::fence_sc();
    if (leaves_tasks || m_worker.anything_queued()) {
        m_team.wakes.notify_any();
    }
    park([this] { return m_team.stopping() || !m_worker.retires() || !m_worker.inbox().empty(); });
}

void sleeper::wait_for_inbox() noexcept {
    const auto called = [this] { return !m_worker.inbox().empty(); };
    // A resize may call this worker for nothing.
    while (!called()) {
        found_work(m_worker.index); // this worker looks for nothing while it waits
        park(called);
    }
}

/// Returns true for another search instead of a sleep: the pool is kept warm, or its workers spin for
/// latency. Serves alarms and waiting shutdowns, as a sleeper would. A token or an alert is kept. False:
/// sleep.
bool sleeper::looks_again() noexcept {
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

void sleeper::note_park() noexcept {
    m_worker.count.sleeps.add();
    m_worker.log.note_slice(trace::what::sleep);
    PILFER_PROBE1(park, m_worker.index);
}

void sleeper::note_unpark() noexcept {
    m_worker.log.note(trace::what::awake);
    PILFER_PROBE1(unpark, m_worker.index);
}

void sleeper::sleep() noexcept {
    using sleepers_type = team::pool_sleepers;
    ensure([this] { return m_worker.current.load(rlx) == nullptr; },
           "a worker sleeps beside the context that it runs");
    m_team.life.worker_is_idle();
    if (m_team.stacks.exhausted()) {
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
            if (const unsigned woken = m_team.idle().wake_one(m_worker.index, m_worker.index);
                woken != sleepers_type::nobody) {
                m_worker.woke(woken);
            } else if (m_worker.anything_queued() || m_team.left_tasks.any()) {
                m_team.wakes.notify_any(); // its publisher woke this worker, and so sent no yield request
            }
            m_team.each_service([this](service& s) { s.naps(m_worker); });
            m_worker.log.note_slice(trace::what::nap);
            std::atomic<std::uint32_t> nobody{0};
            os::futex_wait_for(nobody, 0, 500'000);
            m_worker.log.note(trace::what::awake);
            return;
        }
    }
    const auto tell_all = [this] {
        for (unsigned k = 1; k < m_team.size(); ++k) {
            auto& trip = m_team.at((m_worker.index + k) % m_team.size()).deque.signal();
            if (!trip.has(signal_word<std_atom>::wanted)) {
                trip.set(signal_word<std_atom>::wanted);
            }
        }
    };
    note_park();
    rest_plan plan;
    const auto rest = [&](std::atomic<std::uint32_t>& state) {
        const in_activity resting(m_worker.current_activity, activity::resting);
        make(plan);
        if (plan.has_work) {
            // The worker wakes itself with a token, as a waker would, and has to settle it.
            if (!m_team.idle().wake(m_worker.index, m_worker.index)) {
                os::futex_wait(state, sleepers_type::asleep); // a waker was faster: its token comes
            }
        } else if (occupant* const guest = m_worker.guest) {
            guest->rest(state, plan);
        } else if (plan.place != nullptr) {
            plan.place->sleep(m_worker, plan.limit);
        } else {
            rest_on(state, plan.limit);
        }
        plan.begins = false;
    };
    const auto how = m_team.idle().sleep(
        // The scan also covers a retirement (idle.S7), and a pool that is kept warm counts as queued work
        // (idle.S2).
        m_worker.index, tell_all,
        [this] {
            occupant* const guest = m_worker.guest;
            return m_worker.retires() || m_team.is_warm() || m_worker.anything_ready() ||
                   (guest != nullptr && guest->is_stirred());
        },
        rest);
    note_unpark();
    // A token outlives a scan that found something: only found_work() settles it.
    m_token = m_token || how == sleepers_type::outcome::woken;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
