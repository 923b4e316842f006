#include "backend/one_lock.hpp"

#include <algorithm>
#include <thread>

#include <pilfer/detail/backend/blocking_job.hpp>
#include <pilfer/detail/context/held_lock.hpp>

#include "backend/helping.hpp"
#include "base/forks.hpp"
#include "idle/audit.hpp"
#include "platform/os.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

one_lock::one_lock(team& t, pool_core& p, unsigned temporary)
    : m_team(t), m_pool(p), m_seats(std::make_unique<lists::seat[]>(t.size() + temporary)),
      m_queue(m_seats.get(), t.size(), temporary) {}

// ---- a thread ---------------------------------------------------------------------------------

void one_lock::run(scheduler& w) noexcept {
    // All tasks run on the thread's own stack: there is one context, and it never changes hands.
    context here;
    here.self.ctx = &here;
    here.pool = &m_pool;
    here.change(context_state::pooled, context_state::running);
    for (;;) {
        fire();
        lists::node* task = nullptr;
        switch (m_queue.look(w.index, task)) {
        case lists::found::nothing:
            m_team.life.worker_is_idle();
            w.count.sleeps.add();
            rest(w, never);
            continue;
        case lists::found::over:
            m_team.life.worker_is_idle();
            return;
        case lists::found::own:
            w.count.run_own.add();
            break;
        case lists::found::submitted:
            w.count.run_submitted.add();
            break;
        case lists::found::others:
            w.count.steals_tried.add();
            w.count.tasks_stolen.add();
            w.count.run_stolen.add();
            break;
        }
        run_queued(w, static_cast<submission*>(task), here);
    }
}

void one_lock::run_queued(scheduler& w, submission* s, context& here) noexcept {
    spark* const job = s;
    san::acquire(job);
    here.self.node.store(job->parent(), rlx); // of a coroutine that resumes
    here.self.locks = 0;
    w.current.store(&here.self, rlx);
    w.note_begin(job->parent());
    if (suspension* const next = std::atomic_ref(job->run).load(rlx)(job, &w)) {
        make_runnable(*next);
    }
    w.current.store(nullptr, rlx);
}

/// Fires what is due in any heap of the pool.
void one_lock::fire() noexcept {
    const instant due = m_team.first_due();
    if (due == never) {
        return;
    }
    if (const instant t = now(); due <= t) {
        m_team.each_service([t](service& s) { s.fire_due(t); });
    }
}

/// After a look without success, until another thread calls this one, the next alarm of the pool is due, or
/// `until`. Each resting thread fires alarms, whatever it waits for.
void one_lock::rest(scheduler& w, instant until) noexcept {
    activation* const task = w.current.load(rlx);
    w.current.store(nullptr, rlx); // alarms fire as on the stack of a scheduler
    fire();
    const instant due = std::min(until, m_team.first_due());
    m_queue.rest(w.index, [due](std::atomic<std::uint32_t>& word) {
        if (due == never) {
            os::futex_wait(word, 0);
            return;
        }
        if (const instant t = now(); t < due) {
            os::futex_wait_for(word, 0, due - t);
        }
    });
    w.current.store(task, rlx);
}

// ---- waits ------------------------------------------------------------------------------------

void one_lock::suspend(scheduler& w, suspension& s) noexcept {
    if (m_team.is_forked_child()) [[unlikely]] {
        forks::no_way_back();
    }
    s.act = w.current.load(rlx);
    check_locks(*s.act->ctx, s.why != nullptr ? s.why->what : "its turn");
    s.home = &w;
    w.count.suspends.add();
    if (s.publish(s)) { // from here on it may be released, but it resumes only here
        start_temporary(m_queue.block(w.index));
        instant look = next_stuck_look();
        while (!m_queue.may_go_on(w.index)) {
            rest(w, look);
            if (look != never && look <= now()) {
                report_if_stuck();
                look = next_stuck_look();
            }
        }
    }
    w.count.resumes.add();
}

void one_lock::make_runnable(suspension& s) noexcept { m_queue.release(s.home->index); }

void one_lock::yield(scheduler&) noexcept {
    std::this_thread::yield(); // the frame cannot leave its stack, and nothing runs on top of it
}

void one_lock::run_blocking(scheduler& w, blocking_job& job) noexcept {
    start_temporary(m_queue.block(w.index));
    m_team.in_place().fetch_add(1, rlx);
    // As on a thread beside the workers, which blocking() promises: a wait in the job is that of a thread
    // outside. Otherwise this thread would be counted as blocked twice.
    w.disappear();
    {
        const helping here(m_pool);
        job.run(job);
    }
    w.appear();
    m_team.in_place().fetch_sub(1, rlx);
    m_queue.release(w.index);
    (void)m_queue.may_go_on(w.index);
}

// ---- tasks ------------------------------------------------------------------------------------

bool one_lock::announce(scheduler& w, task_word task, way may) noexcept {
    // All pushes come here, because the deque is pinned, and none stays there.
    [[maybe_unused]] const task_word back = w.deque.owner().pop(1);
    ensure([back, task] { return back == task; }, "the deque of a one-lock pool was not empty");
    return push(w, task, may);
}

bool one_lock::announce_weighted(scheduler& w, task_word task, std::uint64_t, way may) noexcept {
    return push(w, task, may);
}

/// An async comes into the thread's list, not into the deque. False: the caller runs it as a plain call.
bool one_lock::push(scheduler& w, task_word task, way may) noexcept {
    // Branches of joins, children and rests of scopes are calls. What is announced with way::keep and is a
    // spark is a submission by its type: see `way`.
    if (may != way::keep || (task & kind_mask) != kind_spark) {
        return false;
    }
    if (m_team.settings().debug.count_all) {
        w.count.announced.add();
    }
    start_temporary(m_queue.push(w.index, *static_cast<submission*>(reinterpret_cast<spark*>(task))));
    return true;
}

void one_lock::attend(scheduler& w) noexcept { w.sharing.attend(); }

worker* one_lock::reclaim(scheduler& w, task_word task) noexcept { return w.sharing.reclaim_slow(task); }

bool one_lock::dequeue(scheduler& w, submission& s) noexcept {
    if (!m_queue.dequeue(s)) {
        return false;
    }
    if (m_team.settings().debug.count_all) {
        w.count.run_inline.add();
    }
    san::acquire(static_cast<spark*>(&s));
    return true;
}

void one_lock::queue(submission& s, priority, origin) noexcept { start_temporary(m_queue.submit(s)); }

void one_lock::alarm_is_armed() noexcept { m_queue.tell_all(); }

// ---- threads ----------------------------------------------------------------------------------

/// A thread is wanted for `seat`; null: none.
void one_lock::start_temporary(lists::seat* seat) noexcept {
    if (seat == nullptr) {
        return;
    }
    scheduler& w = m_team.at(m_queue.number_of(*seat));
    // Its thread may end, and the place be wanted again, before the number of the thread is written.
    const std::lock_guard lock(m_starting);
    if (w.thread != 0) {
        os::thread_join(w.thread); // it has given up its place: only its last instructions are left
        w.thread = 0;
    }
    if (m_team.start_thread(w.index) != 0) {
        w.thread = 0;
        m_queue.not_started(*seat);
    }
}

/// Returns when a thread that blocks next checks whether it blocks for good; never: the option is off.
instant one_lock::next_stuck_look() const noexcept {
    // Twice in the interval, so that a report comes within one and a half of it.
    const auto interval = std::uint64_t{m_team.settings().debug.stall_report};
    return interval == 0 ? never : now() + interval * 500'000;
}

/// If all threads block and tasks are ready: tries once more to make a temporary one. If nothing has moved
/// for options.debug.stall_report, then there may be no more of them, or none can be made.
void one_lock::report_if_stuck() noexcept {
    const std::unique_lock lock(m_stuck_mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
        return; // another thread looks
    }
    start_temporary(m_queue.help());
    const auto f = m_queue.now();
    std::uint64_t moves = 0;
    for (unsigned i = 0; i < m_team.schedulers(); ++i) {
        const tally& c = m_team.at(i).count;
        moves += c.run_own.get() + c.run_submitted.get() + c.run_stolen.get() + c.resumes.get();
    }
    const instant t = now();
    if (moves != m_stuck.moves || f.ready == 0 || f.blocked != f.threads || m_team.first_due() != never ||
        m_team.in_place().load(rlx) != 0) {
        m_stuck = {moves, t, false};
        return;
    }
    const std::uint64_t interval = std::uint64_t{m_team.settings().debug.stall_report} * 1'000'000;
    if (!m_stuck.reported && t - m_stuck.since >= interval) {
        m_stuck.reported = true;
        m_team.each_service([&](service& s) { s.threads_are_stuck(f.threads, f.ready, t - m_stuck.since); });
    }
}

void one_lock::end_threads(unsigned) noexcept {
    m_queue.end();
    for (unsigned i = 0; i < m_team.size(); ++i) {
        os::thread_join(m_team.at(i).thread);
    }
    m_team.wait_for_pins(); // one may be about to start a temporary thread
    for (unsigned i = m_team.size(); i < m_team.schedulers(); ++i) {
        scheduler& w = m_team.at(i);
        if (w.thread != 0) {
            os::thread_join(w.thread);
            w.thread = 0;
        }
    }
}

// ---- reports and checks -----------------------------------------------------------------------

std::optional<thread_figures> one_lock::threads_now() noexcept {
    const auto f = m_queue.now();
    return thread_figures{f.threads, f.blocked, f.ready};
}

thread_state one_lock::state_of(unsigned i) noexcept {
    switch (m_queue.state_of(i)) {
    case lists::state::running:
        return thread_state::runs;
    case lists::state::idle:
        return thread_state::asleep;
    case lists::state::blocked:
        return thread_state::blocked;
    case lists::state::spare:
        break;
    }
    return thread_state::absent;
}

void one_lock::check_end(audit& a, const counters& c, std::uint64_t submitted, unsigned threads) noexcept {
    // A waiter dequeues its task from whatever list that is in.
    a.equal("queued, taken", c.announced + submitted,
            c.run_inline + c.run_own + c.run_stolen + c.run_submitted);
    const auto left = m_queue.now();
    a.equal("tasks left under the one lock", left.ready, 0);
    a.equal("threads that block", left.blocked, 0);
    a.equal("threads without the temporary ones", left.threads, threads);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
