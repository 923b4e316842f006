// The loop of an elastic run, and the sockets that it listens to. Members, news and jobs are in files of
// their own.
#include "engines/elastic.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include <pilfer/cluster/error.hpp>

#include "engines/elastic_bytes.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

using cluster::archive_error;

void elastic::watch_sockets() {
    if (m_queue != nullptr) {
        m_queue->watch(m_alarm, 0);
    }
    if (m_control != nullptr) {
        m_control->watch(m_alarm, 1);
    }
}

/// Waits until something comes from the server.
void elastic::sleep(std::uint64_t ns) {
    watch_sockets();
    m_alarm.wait(ns);
}

void elastic::check(const job_queue& q) const {
    if (q.silence() > m_patience) {
        throw cluster::queue_error("pilfer::cluster: the server of the job queue has been silent for " +
                                   std::to_string(q.silence() / second) + " s");
    }
}

std::vector<cluster::rank_stats> elastic::stats() const {
    std::vector<cluster::rank_stats> all(m_size);
    all[m_rank] = m_stats;
    return all;
}

/// Coordinator: answers what workers have asked.
void elastic::serve_control() {
    for (job_event e; m_control->next(e);) {
        if (e.what != job_event::kind::fetched) {
            continue;
        }
        m_asked = now_ns();
        try {
            e.queue == m_prefix + "hello" ? welcome(e) : answer(e);
        } catch (const archive_error&) {
            m_control->fail(e.job);
        } catch (const balance_error&) { // a part of a journal that is not written
            m_control->fail(e.job);
        }
        m_control->fetch(true);
    }
}

parcel_result elastic::run(pool& p, cluster_task& type, std::function<void(cluster::archive&)> root) {
    rank_work work(p, m_rank, &m_alarm, true);
    m_work = &work;
    try {
        parcel_result end = run(work, type, std::move(root));
        m_work = nullptr;
        ++m_run;
        return end;
    } catch (const std::exception& e) {
        m_work = nullptr;
        work.give_up(e.what());        // tasks still use `work`, and without the queue no result comes
        m_queue->serve(m_jobs, false); // jobs that were fetched go back
        m_queue->fetch(false);
        m_visits.clear();
        m_shipments.clear();
        m_by_job.clear();
        m_unfetched = 0;
        m_alarm.watch(0, -1, false); // a closed socket would end each sleep at once
        m_alarm.watch(1, -1, false);
        while (!work.is_quiet()) {
            work.sleep(work.events(), second / 1000);
        }
        if (m_control != nullptr && m_ends.size() == m_run) { // else workers would take the next end for it
            leave_run(type,
                      {.failed = 1, .bytes = text_bytes("the coordinator has left the run by an exception")});
        }
        ++m_run;
        try {
            send_all();
        } catch (const cluster::queue_error&) { // no process can be answered then
        }
        throw;
    }
}

parcel_result elastic::run(rank_work& work, cluster_task& type, std::function<void(cluster::archive&)> root) {
    m_has_end = false;
    m_version = m_told = m_report = m_told_drops = 0;
    m_drops.clear();
    m_unwanted.clear();
    m_disowned.clear();
    m_gone.clear();
    m_held.clear();
    m_old_answers = m_queue->answers();
    m_jobs = m_session + std::to_string(m_run);
    if (m_control == nullptr) {
        ask();
    } else {
        work.start_root(std::move(root));
    }
    m_queue->serve(m_jobs, true);
    for (std::uint64_t last_move = now_ns();;) {
        const std::uint32_t seen = work.events();
        const bool moved = step(work);
        if (m_control != nullptr && !m_has_end && work.is_root_done()) {
            end(leave_run(type, work.root()));
        }
        // Jobs of workers that have died may still be here. They end first.
        if (m_has_end && work.is_quiet() && m_visits.empty() && work.has_no_branches()) {
            break;
        }
        if (moved) {
            last_move = now_ns();
            continue;
        }
        watch_sockets();
        const bool offers = work.available() != 0 && m_unfetched < most_unfetched;
        // A fork does not ring. It often follows soon after a result.
        work.sleep(seen, std::clamp(offers ? 0 : now_ns() - last_move, second / 10'000, second / 500));
    }
    m_queue->serve(m_jobs, false); // a job that came too late, or comes later, goes back
    m_queue->fetch(false);
    send_all();
    return end_of(m_end, type);
}

/// After a run: sends what is left, and drops what has come.
void elastic::send_all() {
    job_event none;
    while (m_queue->next(none)) {
    }
    if (m_control != nullptr) {
        serve_control();
    }
}

/// Handles what has come and does what is due. True if something has moved.
bool elastic::step(rank_work& work) {
    bool moved = false;
    if (m_control != nullptr) {
        serve_control();
    }
    for (job_event e; m_queue->next(e); moved = true) {
        handle(work, std::move(e));
    }
    // Before share(): an idle worker may have left a join and disowned a branch, which must not be fetched
    // unseen.
    const bool wants = work.hungry();
    moved |= share(work);
    moved |= offer(work);
    m_queue->fetch(wants);
    if (const std::uint64_t now = now_ns(); now >= m_next_watch) {
        m_next_watch = now + second;
        watch();
    }
    job_event none;
    if (m_queue->next(none)) { // sends all of this
        handle(work, std::move(none));
        moved = true;
    }
    return moved;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
