// One certain task out of another worker's deque: for a frame without a stack (W4), and for what a holder of
// a lock waits for (W5).
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Accept>
task_word scheduler::insist_on(unsigned victim, Accept accept) noexcept {
    return m_pool.at(victim).deque.thief().insist(
        accept,
        [this](steal_status status) {
            count.steals_tried.add();
            if (status == steal_status::lost) {
                count.steals_lost.add();
            } else if (status != steal_status::success) {
                count.steals_failed.add();
            }
        },
        marking());
}

/// A continuation needs no stack: where one is the oldest, any idle worker goes on with it, and whatever lies
/// behind it is that frame's affair.
task_word scheduler::help_other(unsigned victim) noexcept {
    return insist_on(victim, [](task_word t) { return (t & kind_mask) != kind_continuation; });
}

/// The look at the oldest comes first: to insist on what is not there would reach, a heavy fence for each
/// worker, at each wait of a holder.
bool scheduler::take_back(awaited_by_holders::word awaited) noexcept {
    const auto is_awaited = [awaited](task_word t) { return awaited_by_holders::name_of(t) == awaited; };
    for (unsigned k = 1; k < m_pool.size(); ++k) {
        const unsigned victim = (index + k) % m_pool.size();
        if (!is_awaited(m_pool.at(victim).deque.thief().look_at_oldest())) {
            continue;
        }
        if (const task_word task = insist_on(victim, is_awaited)) {
            count.run_stolen.add();
            count.tasks_stolen.add();
            note_run(trace::what::top_awaited, task, victim);
            run_on_top(task);
            return true;
        }
    }
    return false;
}

/// An idle worker: what a suspended holder of a lock waits for, before anything else that could be stolen.
/// With reach: until it has run nobody else has the lock.
bool scheduler::rob_for_holders() noexcept {
    if (!has_context()) {
        return false;
    }
    const auto is_awaited = [&all = m_pool.for_holders()](task_word t) {
        return all.has(awaited_by_holders::name_of(t));
    };
    for (unsigned k = 1; k < m_pool.size(); ++k) {
        const unsigned victim = (index + k) % m_pool.size();
        if (!is_awaited(m_pool.at(victim).deque.thief().look_at_oldest())) {
            continue;
        }
        if (const task_word task = insist_on(victim, is_awaited)) {
            run_theft(task, victim, 1);
            return true;
        }
    }
    return false;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
