#include "backend/top_runner.hpp"

#include <pilfer/detail/task/nested.hpp>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

top_runner::top_runner(scheduler& w, team& t) noexcept : m_worker(w), m_team(t) {}

bool top_runner::help_on_top() noexcept {
    // A worker that suspends its last context must be able to start another one, or have nothing left to
    // start. Otherwise its tasks would wait for a stack, and the stacks for its tasks.
    if (m_team.is_forked_child() || m_worker.reserve.has_context() || m_worker.reserve.takes_beyond()) {
        return false;
    }
    const task_word task = help_own();
    if (task != 0) {
        m_worker.count.run_own.add();
        m_worker.count.no_context.add();
        m_worker.log.note_run(trace::what::top_own, task);
        run_on_top(task);
        return true;
    }
    // This frame may have left a worker with tasks that it announced in that worker's deque. Perhaps no
    // worker has a stack to start them.
    for (unsigned k = 1; k < m_team.size(); ++k) {
        if (const task_word stolen = help_other((m_worker.index + k) % m_team.size())) {
            const unsigned victim = (m_worker.index + k) % m_team.size();
            m_worker.stole(victim, 1);
            m_worker.count.no_context.add();
            m_worker.log.note_run(trace::what::top_stolen, stolen, victim);
            run_on_top(stolen);
            return true;
        }
    }
    // Children that a task of another pool forked into this frame's scope are submissions. If the queue has
    // levels, they are at the highest one. Nothing below the level of this frame begins on top of it. The
    // call waits for a worker that holds the queue, so that it misses no task: perhaps no other worker has a
    // stack for it.
    const priority mine = m_worker.level();
    if (m_team.submissions.empty_from(mine)) {
        return false;
    }
    const auto [n, level] = m_team.submissions.insist_from(mine);
    if (n == nullptr) {
        return false;
    }
    m_team.took_submission();
    m_worker.count.run_submitted.add();
    m_worker.count.no_context.add();
    m_worker.log.note_slice(trace::what::top_submitted, trace::task::submission);
    spark* job = static_cast<submission*>(n);
    san::release(job);
    m_worker.set_level(level);
    run_on_top(reinterpret_cast<task_word>(job));
    scheduler::of(this_worker()).set_level(mine);
    return true;
}

/// Takes the oldest task of `victim`, or returns 0 if that is a continuation. A continuation needs no stack,
/// so any idle worker resumes it. The tasks after it are left to its frame.
task_word top_runner::help_other(unsigned victim) noexcept {
    return m_team.at(victim).deque.thief().steal_until_settled(
        [](task_word t) { return (t & kind_mask) != kind_continuation; },
        [this](steal_status status) {
            m_worker.count.steals_tried.add();
            if (status == steal_status::lost) {
                m_worker.count.steals_lost.add();
            } else if (status != steal_status::success) {
                m_worker.count.steals_failed.add();
            }
        },
        m_worker.marks.marking());
}

task_word top_runner::help_own() noexcept {
    auto own = m_worker.deque.owner();
    const task_word newest = own.peek();
    if (newest == 0 || (newest & kind_mask) == kind_continuation) {
        return 0;
    }
    return own.pop(1); // `newest`, or 0 if thieves were faster
}

void top_runner::run_on_top(task_word task) noexcept {
    nested_activation child(&m_worker, parent_of(task));
    m_worker.note_begin(parent_of(task));
    void* const beneath = m_worker.backend().task_leaves(nullptr);
    m_worker.backend().task_begins(m_worker, task);
    auto* job = reinterpret_cast<spark*>(task & ~kind_mask);
    if (suspension* next = std::atomic_ref(job->run).load(rlx)(job, &m_worker)) {
        make_runnable(next);
    }
    scheduler& here = scheduler::of(this_worker());
    m_worker.backend().task_ends();
    m_worker.backend().task_returns(here, beneath);
    here.log.note(trace::what::top_ended);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
