// Jobs: what an arena that has tasks submits to the pool, so that workers come.
#include "scheduler.hpp"

#include <algorithm>

#include <pilfer/detail/base/atom.hpp>

namespace tbb::detail::r1 {

void arena::set_job_limit() noexcept {
    const unsigned absent = m_absent.load(std::memory_order_relaxed);
    m_job_limit.store(static_cast<int>(std::min(m_concurrency - m_reserved, workers::allowed() - 1) + absent),
                      std::memory_order_seq_cst);
}

void arena::ask_for_worker(bool force) noexcept {
    // Also if enough jobs are there: one of them runs the task.
    m_use.ask(arenas::of_threads);
    const int limit = std::max(m_job_limit.load(std::memory_order_relaxed), force ? 1 : 0);
    int jobs = m_jobs.load(std::memory_order_seq_cst);
    do {
        if (jobs >= limit) {
            return;
        }
    } while (!m_jobs.compare_exchange_weak(jobs, jobs + 1, std::memory_order_seq_cst));
    add_reference();
    if (!workers::submit(m_level, *this)) {
        drop_job(); // without a pool the threads that wait run all that was spawned
    }
}

void arena::drop_job() noexcept {
    m_jobs.fetch_sub(1, std::memory_order_seq_cst);
    remove_reference();
}

void arena::run_job(bool in_own_pool) noexcept {
    unsigned i = take_slot(true);
    const bool had_slot = i != none;
    if (had_slot) {
        thread_data& t = thread_data::take();
        const frames here(t);
        t.is_worker = true;
        t.is_own = in_own_pool;
        t.job = this;
        t.records = recording::of(*pilfer::detail::this_worker());
        t.limit_stack_of_task();
        while (i != none) {
            t.enter(*this, i, true);
            t.own().tasks.begin_own();
            t.run(nullptr, nullptr);
            t.leave();
            // Without the slot it ends, and looks for tasks once more.
            const unsigned wished = std::exchange(t.wished, none);
            i = wished != none && take(wished) ? wished : none;
        }
        t.job = nullptr;
        t.records = nullptr;
        t.is_worker = t.is_own = false;
        t.give();
    }
    end_job(had_slot);
}

void arena::end_job(bool had_slot) noexcept {
    m_jobs.fetch_sub(1, std::memory_order_seq_cst);
    // A task that was published before this has been seen, or its publisher sees that a job is missing.
    pilfer::detail::heavy_fence();
    // Dekker with give_slot(): it sees this, or its slot is seen here.
    if (!had_slot) {
        m_turned_away.store(true, std::memory_order_seq_cst);
    }
    bool is_room = had_slot;
    const bool all_reserved = m_concurrency <= m_reserved; // as in take_slot()
    const unsigned end = all_reserved ? m_slot_count : m_concurrency;
    for (unsigned i = all_reserved ? 0 : first_of_workers(); !is_room && i < end; ++i) {
        is_room = !m_slots[i].taken.load(std::memory_order_seq_cst);
    }
    // Without a free slot the next thread that leaves one looks.
    if (is_room && has_work()) {
        ask_for_worker(true);
    }
    remove_reference();
}

void arena::begin_absence(bool is_job, bool replaced) noexcept {
    if (is_job) {
        m_jobs.fetch_sub(1, std::memory_order_seq_cst);
    } else if (replaced) {
        m_absent.fetch_add(1, std::memory_order_relaxed);
        arenas::set_job_limit(*this);
    }
    pilfer::detail::heavy_fence(); // as in end_job()
    if ((is_job || replaced) && has_work()) {
        ask_for_worker(true);
    }
}

void arena::end_absence(bool is_job, bool replaced) noexcept {
    if (is_job) {
        m_jobs.fetch_add(1, std::memory_order_seq_cst);
    } else if (replaced) {
        m_absent.fetch_sub(1, std::memory_order_relaxed);
        arenas::set_job_limit(*this);
    }
}

} // namespace tbb::detail::r1
