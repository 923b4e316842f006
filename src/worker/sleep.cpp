// A worker that has found nothing: when it sleeps, on what, and what it looks at before.
#include "base/os.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

void scheduler::sleep() noexcept {
    using sleepers_type = pool_core::pool_sleepers;
    ensure([this] { return current.load(rlx) == nullptr; },
           "a worker sleeps beside the context that it runs");
    m_pool.worker_is_idle();
    if (m_pool.stacks.exhausted()) {
        if (has_context()) {
            // Somebody lacks what would sleep here.
            give_contexts();
        } else if (anything_ready()) {
            // No successful end of a search, but no scan either: the token goes to somebody who may have a
            // stack. Kept as `token` in the seat it would silence publishers while this worker runs a task.
            found_work(index);
            // There may be tasks that only lack a stack: a sleeper may hold one, and whoever frees one
            // goes on with them. Look again soon.
            if (const unsigned woken = m_pool.idle().wake_one(index, index); woken != sleepers_type::nobody) {
                woke(woken);
            } else if (anything_queued() || m_pool.left_tasks.any()) {
                m_pool.notify_any(); // whoever queued or left it woke this worker, and so summoned nobody
            }
            m_pool.stall().look(m_pool, index, stall_watch::when::napping);
            note_slice(trace::what::nap);
            std::atomic<std::uint32_t> nobody{0};
            os::futex_wait_for(nobody, 0, 500'000);
            note(trace::what::awake);
            return;
        }
    }
    const auto tell_all = [this] {
        for (unsigned k = 1; k < m_pool.size(); ++k) {
            auto& trip = m_pool.at((index + k) % m_pool.size()).deque.signal();
            if (!trip.has(signal_word<std_atom>::wanted)) {
                trip.set(signal_word<std_atom>::wanted);
            }
        }
    };
    count.sleeps.add();
    note_slice(trace::what::sleep);
    auto when = stall_watch::when::lying_down;
    overdue_watch overdue(m_pool, index);
    const auto rest = [&](std::atomic<std::uint32_t>& state) {
        const in_activity resting(current_activity, activity::resting);
        // Whoever lies down last keeps an eye on contexts that nobody may ever wake.
        std::uint64_t ns = m_pool.stall().look(m_pool, index, when);
        when = stall_watch::when::lying;
        const instant due = watch_alarms();
        if (due < any_time) {
            const instant t = now();
            if (due <= t) {
                // As a token, which is owed like any other: behind the alarm there is work.
                m_all_alarms = true;
                if (!m_pool.idle().wake(index, index)) {
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
        if (m_guest != nullptr) {
            rest_as_guest(state, ns, io);
        } else if (io != nullptr) {
            sleep_at_descriptors(*io, ns);
        } else if (ns == 0) {
            os::futex_wait(state, sleepers_type::asleep);
        } else {
            os::futex_wait_for(state, sleepers_type::asleep, ns);
        }
    };
    const auto how = m_pool.idle().sleep(
        // Sent away meanwhile (idle.S7), or kept warm: to be seen as what is queued is (idle.S2).
        index, tell_all, [this] { return retires() || m_pool.is_warm() || anything_ready() || is_stirred(); },
        rest);
    note(trace::what::awake);
    // A token outlives a scan that found something: only found_work() pays what it owes.
    m_token = m_token || how == sleepers_type::outcome::woken;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
