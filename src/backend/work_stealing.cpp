#include "backend/work_stealing.hpp"

#include <new>

#include <pilfer/detail/backend/blocking_job.hpp>
#include <pilfer/detail/wait/wait.hpp>

#include "backend/top_runner.hpp"
#include "idle/audit.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind blocking_kind{"the system, in blocking()",
                                  [](const suspension&, wait_facts&) noexcept {}};

} // namespace

work_stealing::work_stealing(team& t) : m_team(t) {
    if (!m_team.stacks.stock_one()) {
        throw std::bad_alloc(); // no task could ever start: run() would wait for good
    }
}

bool work_stealing::announce(scheduler& w, task_word task, way may) noexcept {
    return w.sharing.signalled(task, may);
}

bool work_stealing::announce_weighted(scheduler& w, task_word task, std::uint64_t weight, way may) noexcept {
    return w.sharing.announce_weighted(task, weight, may);
}

void work_stealing::attend(scheduler& w) noexcept { w.sharing.attend(); }

worker* work_stealing::reclaim(scheduler& w, task_word task) noexcept { return w.sharing.reclaim_slow(task); }

void work_stealing::suspend(scheduler& w, suspension& s) noexcept { w.switching.suspend_here(s); }

void work_stealing::make_runnable(suspension& s) noexcept {
    if (m_team.settings().resume == resume::anywhere) {
        const unsigned home = s.home->index;
        const bool at_home = s.share_deferred; // after the push it may be gone
        m_team.runnable.push(&s);
        if (!at_home || !m_team.wakes.wake(home)) {
            m_team.wakes.notify_any();
        }
    } else if (m_team.settings().resume == resume::elsewhere && m_team.active() > 1) {
        m_team.wakes.send_elsewhere(&s, s.home->index);
    } else {
        m_team.wakes.send_to(&s, s.home->index);
    }
}

std::uintptr_t work_stealing::refill_contexts(scheduler& w) noexcept { return w.reserve.refill_contexts(); }

bool work_stealing::help_on_top(scheduler& w) noexcept { return top_runner(w, m_team).help_on_top(); }

void work_stealing::yield(scheduler& w) noexcept { w.let_others_first(); }

void run_in_place(scheduler& w, blocking_job& job) noexcept {
    team& t = w.crew();
    t.in_place().fetch_add(1, rlx);
    t.each_service([&w](service& s) { s.blocks(w); });
    job.run(job);
    t.in_place().fetch_sub(1, rlx);
}

void work_stealing::run_blocking(scheduler& w, blocking_job& job) noexcept {
    // A frame that gets no stack for other tasks helps none of them. In a child of fork() no thread would
    // come.
    bool taken = false;
    if (!m_team.is_forked_child() && w.reserve.has_context()) {
        m_team.each_service([&](service& s) { taken = taken || s.take(job); });
    }
    if (!taken) {
        run_in_place(w, job);
        return;
    }
    waiters none;
    wait_in(none, job.done, never, blocking_kind, nullptr);
}

void work_stealing::queue(submission& s, priority level, origin) noexcept {
    PILFER_CHAOS_POINT(accept);
    // A searching worker is relied on only if the submission before was fetched. If that worker was preempted
    // it fetches nothing, and a whole stream of submissions would wait for it.
    const bool kept_up = m_team.submissions.push(&s, level);
    PILFER_CHAOS_POINT(accept);
    m_team.wakes.notify_any(kept_up);
}

bool work_stealing::run_prompt(scheduler& w, submission& s) noexcept {
    w.add_prompt(s);
    return true;
}

void work_stealing::run(scheduler& w) noexcept { w.work(); }

void work_stealing::end_threads(unsigned threads) noexcept {
    auto& idle = m_team.idle();
    for (unsigned i = 0; i < threads; ++i) {
        if (!idle.wake(i, i)) {
            (void)idle.unpark(i);
        }
    }
    for (unsigned i = m_team.first_spare(); i < m_team.size(); ++i) {
        (void)idle.wake(i, i); // guests leave
    }
    for (unsigned i = 0; i < threads; ++i) {
        os::thread_join(m_team.at(i).thread);
    }
}

void work_stealing::check_end(audit& a, const counters& c, std::uint64_t submitted, unsigned) noexcept {
    a.equal("announced, taken", c.announced, c.run_inline + c.run_own + c.run_stolen);
    a.equal("accepted submissions, those run or dropped", submitted, c.run_submitted);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
