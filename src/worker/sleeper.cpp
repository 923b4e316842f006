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
    if (how == team::pool_sleepers::outcome::woken) {
        m_worker.looking.takes_token();
    }
}

/// Shares all tasks of the own deque, settles every debt, and parks until this worker is called back.
void sleeper::retire() noexcept {
    // Settles the token, the alert and the watch over alarms.
    m_worker.looking.found_work(m_worker.index);
    // No worker sleeps beside the tasks of this deque (../idle), even after this worker has retired, so they
    // need no wake-up. Once they are shared, a thief takes them without forcing an exposure.
    m_worker.sharing.expose(m_worker.sharing.load_now().own);
    m_worker.reserve.give_contexts();
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
        m_worker.looking.found_work(m_worker.index); // this worker looks for nothing while it waits
        park(called);
    }
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
        if (m_worker.reserve.has_context()) {
            // Another worker lacks a stack, so this one keeps none while it sleeps.
            m_worker.reserve.give_contexts();
        } else if (m_worker.anything_ready()) {
            // The search has found no task that this worker can start, and no scan follows. So the token goes
            // to another worker, which may have a stack. A `token` left in the seat would silence publishers
            // while this worker runs a task.
            m_worker.looking.found_work(m_worker.index);
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
    if (how == sleepers_type::outcome::woken) {
        m_worker.looking.takes_token();
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
