// What threads of a one-lock pool do in place of everything else in this room: look, run, rest, block.
// The lists and the argument: src/onelock.
#include "onelock/one_lock.hpp"

#include <algorithm>

#include "base/os.hpp"
#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

using found = pool_core::one_lock::found;

} // namespace

void scheduler::run_by_one_lock() noexcept {
    // Its tasks run on the thread's own stack, all of them: there is one context, and it never changes hands.
    context here;
    here.self.ctx = &here;
    here.pool = &m_pool;
    here.change(context_state::pooled, context_state::running);
    auto& one = *m_pool.by_one_lock();
    for (;;) {
        fire_by_one_lock();
        pool_core::one_lock::node* task = nullptr;
        const found what = one.look(index, task);
        switch (what) {
        case found::nothing:
            m_pool.worker_is_idle();
            count.sleeps.add();
            rest_by_one_lock(never);
            continue;
        case found::over:
            m_pool.worker_is_idle();
            return;
        case found::own:
            count.run_own.add();
            break;
        case found::submitted:
            count.run_submitted.add();
            break;
        case found::others:
            count.steals_tried.add();
            count.tasks_stolen.add();
            count.run_stolen.add();
            break;
        }
        run_queued(static_cast<submission*>(task), here);
    }
}

void scheduler::run_queued(submission* s, context& here) noexcept {
    spark* const job = s;
    san::acquire(job);
    here.self.innermost.store(job->within(), rlx); // a coroutine that goes on stands in scopes
    here.self.locks = 0;
    current.store(&here.self, rlx);
    (void)stopped_here(this); // see start()
    if (suspension* const next = std::atomic_ref(job->run).load(rlx)(job, this)) {
        make_runnable(next);
    }
    current.store(nullptr, rlx);
}

/// What is due in any heap of the pool.
void scheduler::fire_by_one_lock() noexcept {
    const instant due = m_pool.first_alarm();
    if (due == never) {
        return;
    }
    const instant t = now();
    for (unsigned k = 0; due <= t && k < m_pool.schedulers(); ++k) {
        while (fire_due_of(m_pool.at(k), t) != 0) {
        }
    }
}

/// Behind a look without success, until somebody calls, the next alarm of the pool is due, or `until`. All
/// who rest see to alarms, whatever they wait for.
void scheduler::rest_by_one_lock(instant until) noexcept {
    activation* const task = current.load(rlx);
    current.store(nullptr, rlx); // what fires does so as on the stack of a scheduler
    fire_by_one_lock();
    const instant due = std::min(until, m_pool.first_alarm());
    m_pool.by_one_lock()->rest(index, [due](std::atomic<std::uint32_t>& word) {
        if (due == never) {
            os::futex_wait(word, 0);
            return;
        }
        if (const instant t = now(); t < due) {
            os::futex_wait_for(word, 0, due - t);
        }
    });
    current.store(task, rlx);
}

void scheduler::block_by_one_lock(suspension& s) noexcept {
    auto& one = *m_pool.by_one_lock();
    s.act = current.load(rlx);
    check_locks(s);
    s.home = this;
    count.suspends.add();
    if (s.publish(s)) { // from here on it may be released, but it goes on here and nowhere else
        m_pool.start_temporary(one.block(index));
        instant look = m_pool.next_stuck_look();
        while (!one.may_go_on(index)) {
            rest_by_one_lock(look);
            if (look != never && look <= now()) {
                m_pool.tell_if_stuck();
                look = m_pool.next_stuck_look();
            }
        }
    }
    count.resumes.add();
}

void scheduler::block_in_place(blocking_job& job) noexcept {
    auto& one = *m_pool.by_one_lock();
    m_pool.start_temporary(one.block(index));
    m_pool.in_place().fetch_add(1, rlx);
    // As on a thread beside the workers, which blocking() promises: a wait in there is that of a thread
    // outside, or this one would be counted as blocked twice.
    disappear();
    {
        const blocking_threads::helping here(m_pool);
        job.run(job);
    }
    appear();
    m_pool.in_place().fetch_sub(1, rlx);
    one.release(index);
    (void)one.may_go_on(index);
}

bool scheduler::queue_by_one_lock(task_word task, way may) noexcept {
    // Branches of joins, children and rests of scopes are calls. What is announced with way::keep and is a
    // spark is a submission by its type: see `way`.
    if (may != way::keep || (task & kind_mask) != kind_spark) {
        return false;
    }
    if (m_count_all) {
        count.announced.add();
    }
    auto* const s = static_cast<submission*>(reinterpret_cast<spark*>(task));
    m_pool.start_temporary(m_pool.by_one_lock()->push(index, *s));
    return true;
}

bool scheduler::dequeue(submission& s) noexcept {
    if (!m_pool.by_one_lock()->dequeue(s)) {
        return false;
    }
    if (m_count_all) {
        count.run_inline.add();
    }
    san::acquire(static_cast<spark*>(&s));
    return true;
}

// ---- threads ----------------------------------------------------------------------------------

void pool_core::start_temporary(one_lock::seat* seat) noexcept {
    if (seat == nullptr) {
        return;
    }
    scheduler& w = at(m_one_lock->number_of(*seat));
    // Its thread may end, and the place be wanted again, before the number of the thread is written.
    const std::lock_guard lock(m_starting);
    if (w.thread != 0) {
        os::thread_join(w.thread); // it has given up its place: only its last instructions are left
        w.thread = 0;
    }
    const auto entry = [](void* self) -> void* {
        static_cast<scheduler*>(self)->run();
        return nullptr;
    };
    if (os::thread_start(w.thread, entry, &w) != 0) {
        w.thread = 0;
        m_one_lock->not_started(*seat);
    }
}

instant pool_core::next_stuck_look() const noexcept {
    // Twice in the interval, so that a report comes within one and a half of it.
    return m_options.debug.stall_report == 0 ? never
                                             : now() + std::uint64_t{m_options.debug.stall_report} * 500'000;
}

/// Where all threads block and tasks are ready: tries once more to make a temporary one. If nothing has moved
/// for options.debug.stall_report, then there may be no more of them, or none can be made.
void pool_core::tell_if_stuck() noexcept {
    const std::unique_lock lock(m_stuck_mutex, std::try_to_lock);
    if (!lock.owns_lock()) {
        return; // another one looks
    }
    start_temporary(m_one_lock->help());
    const auto f = m_one_lock->now();
    std::uint64_t moves = progress();
    for (const auto& w : m_workers) {
        moves += w->count.resumes.get();
    }
    const instant t = now();
    if (moves != m_stuck.moves || f.ready == 0 || f.blocked != f.threads || first_alarm() != never ||
        m_in_place.load(rlx) != 0) {
        m_stuck = {moves, t, false};
        return;
    }
    const std::uint64_t interval = std::uint64_t{m_options.debug.stall_report} * 1'000'000;
    if (!m_stuck.told && t - m_stuck.since >= interval) {
        m_stuck.told = true;
        write_stuck_report(*this, f.threads, f.ready, t - m_stuck.since);
    }
}

void pool_core::end_threads_by_one_lock() noexcept {
    m_one_lock->end();
    for (unsigned i = 0; i < m_size; ++i) {
        os::thread_join(m_workers[i]->thread);
    }
    wait_for_guests(); // one may be about to start a temporary thread
    for (unsigned i = m_size; i < schedulers(); ++i) {
        if (m_workers[i]->thread != 0) {
            os::thread_join(m_workers[i]->thread);
            m_workers[i]->thread = 0;
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
