// News for all processes of an elastic run: better bounds, parts of journals, tasks whose results are not
// wanted any longer, the end.
#include "engines/elastic.hpp"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include <pilfer/cluster/error.hpp>
#include <pilfer/detail/cluster/bound_word.hpp>

#include "engines/elastic_bytes.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

using cluster::archive_error;

namespace {

/// A message with all bounds that are better than at the start of a run.
[[nodiscard]] std::vector<std::byte> encoded_bounds() {
    message m{.kind = message_kind::bounds};
    for (std::size_t i = 0; i < cluster_bounds().size(); ++i) {
        const bound_word& b = *cluster_bounds()[i];
        if (const std::uint64_t bits = b.bits(); bits != b.worst()) {
            parcel_result& r = m.results.emplace_back();
            r.ticket = i;
            r.bytes.resize(bound_bytes);
            std::memcpy(r.bytes.data(), &bits, bound_bytes);
        }
    }
    return encode(m);
}
/// The results in a message of this kind. Throws archive_error for another one.
[[nodiscard]] std::vector<parcel_result> results_of(message_kind kind, std::span<const std::byte> bytes) {
    message m = decode_here(bytes);
    if (m.kind != kind) {
        throw archive_error("news of another kind");
    }
    return std::move(m.results);
}

} // namespace

void elastic::answer(const job_event& e) {
    const auto c = read_as<call>(e.content);
    if (!c.news.empty()) {
        heed(c);
        m_control->ack(e.job, {});
    } else if (c.run < m_ends.size()) {
        m_control->ack(e.job, m_ends[c.run]);
    } else if (c.run > m_ends.size()) {
        throw archive_error("a run that no process can be in");
    } else if (c.drops > m_told_drops) {
        throw archive_error("more drops than a process can have heard of");
    } else if (c.version < m_told || c.drops < m_told_drops) {
        m_control->ack(e.job, news_since(c.drops));
    } else { // this run; or the next one, while this process has not begun it
        m_callers.push_back(e.job);
    }
}

/// Coordinator: takes what a worker has found. After the end of a run it is of no use.
void elastic::heed(const call& c) {
    if (c.run > m_ends.size() || (c.run == m_ends.size() && m_work == nullptr)) {
        throw archive_error("news of a run that no process can be in");
    }
    for (const std::vector<std::byte>& bytes : c.news) {
        message m = decode_here(bytes);
        if (m.kind != message_kind::bounds && m.kind != message_kind::parts && m.kind != message_kind::drop) {
            throw archive_error("other news than bounds, parts of a journal and drops");
        }
        if (c.run != m_ends.size()) {
            continue;
        }
        if (m.kind == message_kind::drop) {
            drop(m.results);
            continue;
        }
        for (parcel_result& r : m.results) {
            if (m.kind == message_kind::bounds) {
                m_work->learn_bound(r);
                ++m_version;
            } else {
                m_work->keep_part(std::move(r));
            }
        }
    }
}

/// Worker: asks for better bounds, more drops, and the end of the run.
void elastic::ask() {
    const call c{.run = m_run, .version = m_version, .drops = m_unwanted.size()};
    m_call = m_queue->submit(m_session + "calls", bytes_of(c));
}

/// Worker: the answer to ask().
void elastic::hear(rank_work& work, job_event&& e) {
    if (e.what == job_event::kind::failed) {
        throw cluster::mismatch_error("pilfer::cluster: the coordinator refuses the call of this worker");
    }
    if (e.what != job_event::kind::done) {
        return;
    }
    const auto r = read_as<reply>(e.content);
    if (!r.end.empty()) {
        end(std::move(e.content));
        return;
    }
    for (const parcel_result& b : results_of(message_kind::bounds, r.bounds)) {
        work.learn_bound(b);
    }
    drop(results_of(message_kind::drop, r.drops));
    m_version = r.version;
    ask();
}

/// Ends tasks whose results are not wanted any longer: at once, or when they come here.
void elastic::drop(const std::vector<parcel_result>& drops) {
    for (const parcel_result& d : drops) {
        const task_name task{d.rank, d.ticket};
        if (!m_unwanted.insert(task).second) {
            continue;
        }
        if (m_control != nullptr) {
            m_drops.push_back(task);
            ++m_version;
        }
        for (const auto& [number, v] : m_visits) {
            if (v.task == task || (task.second == each_task && v.task.first == task.first)) {
                m_work->drop(guest, number);
            }
        }
    }
}

/// True for a task that came, or comes, after it was dropped.
bool elastic::is_unwanted(const task_name& task) const {
    return m_unwanted.contains(task) || m_unwanted.contains({task.first, each_task}) ||
           m_disowned.contains(task);
}

/// The end of the run. Tasks that are left over were of processes that have died.
void elastic::end(std::vector<std::byte> bytes) {
    m_end = std::move(bytes);
    m_has_end = true;
    for (const auto& [number, v] : m_visits) {
        m_work->drop(guest, number);
    }
}

/// Coordinator: the answer to a worker that has heard of so many drops.
std::vector<std::byte> elastic::news_since(std::uint64_t drops) const {
    message m{.kind = message_kind::drop};
    for (std::uint64_t i = drops; i < m_told_drops; ++i) {
        m.results.push_back({.ticket = m_drops[i].second, .rank = m_drops[i].first});
    }
    return bytes_of(reply{.version = m_told, .bounds = encoded_bounds(), .drops = encode(m)});
}

/// Coordinator: answers all workers that wait.
void elastic::tell(const std::vector<std::byte>& bytes) {
    for (const std::uint64_t job : std::exchange(m_callers, {})) {
        m_control->ack(job, bytes);
    }
}

/// Coordinator: the run has ended so. Returns the bytes for all workers. A process that asks from now on is
/// in the next run, which has no news yet.
const std::vector<std::byte>& elastic::leave_run(const cluster_task& type, const parcel_result& end) {
    const message m{.kind = message_kind::done, .task = type.number, .results = {end}};
    m_ends.push_back(bytes_of(reply{.bounds = encoded_bounds(), .end = encode(m)}));
    m_told = m_told_drops = 0;
    tell(m_ends.back());
    return m_ends.back();
}

/// Passes on drops, and results, and before them the bounds and parts that their tasks have found: a run must
/// not end without these. True if something has moved.
bool elastic::share(rank_work& work) {
    if (m_report != 0 && !m_has_end) {
        return false; // the next results wait, too
    }
    std::vector<local_work::finished> fresh = work.take_finished(); // before what they have found
    const message bounds{.kind = message_kind::bounds, .results = work.take_bounds()};
    std::vector<parcel_result> unwanted = work.take_unwanted();
    for (parcel_result& d : unwanted) {
        d.rank = m_rank;
        m_disowned.insert({d.rank, d.ticket});
    }
    std::ranges::move(std::exchange(m_gone, {}), std::back_inserter(unwanted));
    const message drops{.kind = message_kind::drop, .results = std::move(unwanted)};
    if (m_has_end) {
        // Bounds and parts of tasks that are left over are of no use.
    } else if (m_control != nullptr) {
        m_version += bounds.results.empty() ? 0 : 1;
        drop(drops.results);
        if (std::exchange(m_told, m_version) != m_version) {
            const std::uint64_t heard = std::exchange(m_told_drops, m_drops.size());
            tell(news_since(heard));
        }
    } else {
        const message parts{.kind = message_kind::parts, .results = work.take_parts()};
        call c{.run = m_run};
        for (const message* m : {&bounds, &parts, &drops}) {
            if (!m->results.empty()) {
                c.news.push_back(encode(*m));
            }
        }
        if (!c.news.empty()) {
            m_report = m_queue->submit(m_session + "calls", bytes_of(c));
            m_held = std::move(fresh);
            return true;
        }
    }
    const bool moved = !fresh.empty() || !m_held.empty();
    for (auto* results : {&m_held, &fresh}) {
        for (local_work::finished& f : std::exchange(*results, {})) {
            finish(std::move(f));
        }
    }
    return moved;
}

/// Worker: the coordinator has what share() reported, so results may follow that waited for it.
void elastic::release_held(const job_event& e) {
    if (e.what == job_event::kind::failed) {
        throw cluster::mismatch_error("pilfer::cluster: the coordinator refuses the news of this worker");
    }
    if (e.what != job_event::kind::done) {
        return;
    }
    m_report = 0;
    for (local_work::finished& f : std::exchange(m_held, {})) {
        finish(std::move(f));
    }
}

parcel_result elastic::end_of(const std::vector<std::byte>& bytes, const cluster_task& type) const {
    const auto last = read_as<reply>(bytes);
    message m = decode_here(last.end);
    if (m.kind != message_kind::done) {
        throw archive_error("another message than the end of a run");
    }
    if (m.task != type.number) {
        throw cluster::mismatch_error("pilfer::cluster: the coordinator and this worker are not in the same "
                                      "call: each process has to make the same calls of its session in the "
                                      "same order");
    }
    // The bounds of the coordinator, also where a task whose result was not used has found another one.
    const std::vector<parcel_result> bounds = results_of(message_kind::bounds, last.bounds);
    for (bound_word* b : cluster_bounds()) {
        b->reset();
    }
    for (const parcel_result& r : bounds) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, r.bytes.data(), bound_bytes);
        (void)cluster_bounds()[r.ticket]->learn(bits);
    }
    return std::move(m.results.front());
}

} // namespace detail
} // namespace v0
} // namespace pilfer
