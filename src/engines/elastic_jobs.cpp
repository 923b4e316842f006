// Tasks of an elastic run as jobs of the queue: out to any worker, in from any process, and again if a worker
// is lost.
#include "engines/elastic.hpp"

#include <cstdint>
#include <tuple>
#include <utility>

#include <pilfer/cluster/error.hpp>

#include "engines/elastic_bytes.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

using cluster::archive_error;

/// Puts the oldest tasks into the queue while fewer than `most_unfetched` wait there. True if it has put one.
bool elastic::offer(rank_work& work) {
    bool moved = false;
    for (; m_unfetched < most_unfetched && work.available() != 0; moved = true) {
        std::vector<parcel> one = work.take_oldest(1);
        if (one.empty()) {
            break;
        }
        parcel& p = one.front();
        const std::uint32_t origin = p.origin;
        const std::uint64_t ticket = p.ticket;
        ++m_stats.tasks_out;
        if (origin == guest) {
            std::tie(p.origin, p.ticket) = m_visits.at(ticket).task;
        }
        submit(origin, ticket, encode({.kind = message_kind::give, .parcels = std::move(one)}));
    }
    return moved;
}

void elastic::submit(std::uint32_t origin, std::uint64_t ticket, std::vector<std::byte> description) {
    const std::uint64_t job = m_queue->submit(m_jobs, description);
    ++m_stats.messages;
    m_stats.bytes += description.size();
    m_by_job.emplace(job, copy{++m_last_shipment});
    m_shipments.emplace(m_last_shipment, shipment{origin, ticket, std::move(description), now_ns()});
    ++m_unfetched;
}

void elastic::handle(rank_work& work, job_event&& e) {
    if (e.what == job_event::kind::fetched) {
        admit(work, e);
    } else if (m_control == nullptr && e.job == m_call) {
        hear(work, std::move(e));
    } else if (m_report != 0 && e.job == m_report) {
        release_held(e);
    } else if (const auto at = m_by_job.find(e.job); at != m_by_job.end()) {
        follow(work, at, e);
    }
}

/// A job has come here: its task begins.
void elastic::admit(rank_work& work, const job_event& e) {
    try {
        if (e.queue != m_jobs) {
            throw archive_error("a job of another run");
        }
        message m = decode_here(e.content);
        if (m.kind != message_kind::give || m.parcels.size() != 1) {
            throw archive_error("not one task");
        }
        parcel& p = m.parcels.front();
        const task_name task{p.origin, p.ticket};
        m_visits.emplace(++m_last_visit, visit{e.job, task});
        m_queue->extend(e.job, m_rank); // its submitter may put another one into the queue
        p.origin = guest;
        p.ticket = m_last_visit;
        ++m_stats.thefts;
        ++m_stats.tasks_in;
        if (m_has_end || is_unwanted(task)) {
            work.drop(guest, m_last_visit); // start() ends it
        }
        work.start(std::move(p));
    } catch (const archive_error&) {
        m_queue->fail(e.job);
    }
}

/// Something has happened to a job that this process has put into the queue.
void elastic::follow(rank_work& work, job_name name, const job_event& e) {
    const auto at = m_shipments.find(name->second.shipment);
    if (at == m_shipments.end()) {
        return; // the result of another copy was used
    }
    shipment& s = at->second;
    m_unfetched -= std::exchange(s.is_fetched, true) ? 0 : 1;
    s.heard = now_ns();
    if (e.what == job_event::kind::lives) {
        // The server has given the job to another one: the first one has lost its connection, or the run.
        if (const std::uint32_t before = std::exchange(name->second.worker, e.worker);
            before != UINT32_MAX && before != e.worker) {
            m_gone.push_back({.ticket = each_task, .rank = before});
        }
        return;
    }
    if (e.what == job_event::kind::failed && --s.copies != 0) { // another copy may still end well
        m_by_job.erase(name);
        return;
    }
    parcel_result r = result_of(e);
    r.ticket = s.ticket;
    const std::uint32_t origin = s.origin;
    m_shipments.erase(at);
    m_by_job.erase(name);
    if (origin == guest) {
        finish({.origin = guest, .result = std::move(r)});
    } else {
        work.complete(std::move(r));
    }
}

/// The result in a job that has ended, or an error instead.
parcel_result elastic::result_of(const job_event& e) const {
    try {
        if (e.what == job_event::kind::failed) {
            throw archive_error(
                "no worker could run a task: a job queue gives one up that has killed too many "
                "workers, and a worker refuses one that it cannot read");
        }
        message m = decode_here(e.content);
        if (m.kind != message_kind::results || m.results.size() != 1) {
            throw archive_error("a worker sent another message than one result");
        }
        return std::move(m.results.front());
    } catch (const archive_error& error) {
        return {.rank = m_rank, .failed = 1, .bytes = text_bytes(error.what())};
    }
}

/// The result of a job that was here, or was passed on.
void elastic::finish(local_work::finished&& f) {
    const auto at = m_visits.find(f.result.ticket);
    if (at == m_visits.end()) {
        throw balance_error("the result of a job that is not here");
    }
    const std::uint64_t job = at->second.job;
    m_work->forget_drop(guest, at->first); // of a job that was passed on, or had its result already
    m_visits.erase(at);
    const std::vector<std::byte> bytes =
        encode({.kind = message_kind::results, .results = {std::move(f.result)}});
    ++m_stats.messages;
    m_stats.bytes += bytes.size();
    m_queue->ack(job, bytes);
}

/// Each second: says that this process lives, and looks who does not.
void elastic::watch() {
    const bool sends = m_queue->is_sending();
    for (const auto& [number, v] : m_visits) {
        m_queue->extend(v.job, m_rank);
    }
    check(*m_queue);
    if (m_control != nullptr) {
        check(*m_control);
        m_control->forget(m_prefix + "runs/", false);
        m_control->ask_servers();
    } else if (m_queue->answers() > m_old_answers + 1 && m_queue->servers(m_session + "calls") == 0 &&
               !m_has_end) {
        throw cluster::queue_error("pilfer::cluster: the coordinator has ended");
    }
    m_queue->ask_servers();
    const std::uint64_t now = now_ns();
    const bool none_waits = m_queue->answers() > m_old_answers + 1 && m_queue->waiting(m_jobs) == 0;
    for (auto& [number, s] : m_shipments) {
        // A long description travels: 100 ns for a byte are 10 MB a second.
        if (now - s.heard > m_patience + 100 * s.description.size() && (s.is_fetched || none_waits) &&
            !sends) {
            // Its worker is cut off or stopped. The first result of the copies is used.
            m_unfetched += std::exchange(s.is_fetched, false) ? 1 : 0;
            s.heard = now;
            m_by_job.emplace(m_queue->submit(m_jobs, s.description), copy{number});
            ++s.copies;
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
