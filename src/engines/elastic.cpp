// An elastic run.
#include "engines/elastic.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <pilfer/cluster/error.hpp>
#include <pilfer/detail/cluster/bound_word.hpp>

#include "cluster/tasks.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

using cluster::archive;
using cluster::archive_error;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint32_t guest = UINT32_MAX; // the origin of a task that came as a job
constexpr wire_limits any_rank{.ranks = UINT32_MAX, .tasks = 0};
/// Tasks of a process that wait in the queue. One is there while another is on its way to a worker.
constexpr unsigned most_unfetched = 2;
/// Of one session: stats() has an entry for each.
constexpr std::uint32_t most_workers = std::uint32_t{1} << 20;

[[nodiscard]] std::uint64_t now_ns() noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}
[[nodiscard]] message decode_here(std::span<const std::byte> bytes) {
    wire_limits limits = any_rank;
    limits.tasks = static_cast<std::uint32_t>(cluster_tasks().size());
    limits.bounds = static_cast<std::uint32_t>(cluster_bounds().size());
    return decode(bytes, limits);
}

template <class T>
[[nodiscard]] std::vector<std::byte> bytes_of(const T& value) {
    archive out;
    out.put(value);
    return std::move(out.bytes());
}
/// Throws archive_error.
template <class T>
[[nodiscard]] T read_as(std::span<const std::byte> bytes) {
    archive in(bytes);
    T value = in.take<T>();
    in.end();
    return value;
}
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
/// The end of a run, for workers.
[[nodiscard]] std::vector<std::byte> encoded_end(const cluster_task& type, const parcel_result& end) {
    const message m{.kind = message_kind::done, .task = type.number, .results = {end}};
    return bytes_of(reply{.bounds = encoded_bounds(), .end = encode(m)});
}

} // namespace

elastic::elastic(const queue_address& where, bool is_worker, unsigned patience)
    : m_prefix("pilfer/" + where.name + "/"), m_patience(patience == 0 ? UINT64_MAX : patience * second),
      m_queue(connect_to_gearman(where)) {
    if (is_worker) {
        greet();
        return;
    }
    m_control = connect_to_gearman(where);
    std::random_device random;
    // The server counts in the order in which it is asked: of several that begin at once, each one that comes
    // after the first sees another one. If all do, all withdraw and begin again, at different times.
    const std::string greeting = m_prefix + "hello";
    for (;; sleep(random() % (second / 10))) {
        if (servers_now(greeting) != 0) {
            throw usage_error(("pilfer::cluster: a coordinator of the name " + where.name +
                               " is at this job queue already; another name is the path of the URL, as in "
                               "gearman://host/name")
                                  .c_str());
        }
        m_control->serve(greeting, true);
        if (servers_now(greeting) == 1) {
            break;
        }
        m_control->serve(greeting, false);
    }
    m_control->forget(m_prefix + "runs/", true); // of coordinators that were killed
    m_session = m_prefix + "runs/" + std::to_string(std::uint64_t{random()} << 32 | random()) + "/";
    m_control->serve(m_session + "calls", true);
    m_control->fetch(true);
}

elastic::~elastic() {
    if (m_control == nullptr) {
        return;
    }
    try {
        m_queue.reset();
        m_alarm.watch(0, -1, false);
        const std::string here = m_prefix + "here";
        const std::uint64_t begin = m_asked = now_ns();
        bool greets = true;
        for (;;) {
            while (servers_now(here) + m_control->servers(m_jobs) != 0 && now_ns() - m_asked <= m_patience) {
                // Workers that are started again and again would keep it here for ever.
                if (now_ns() - begin > m_patience && std::exchange(greets, false)) {
                    m_control->serve(m_prefix + "hello", false);
                }
                sleep(second / 50);
            }
            if (!std::exchange(greets, false)) {
                break;
            }
            // Workers that begin now wait for the next coordinator. One that was greeted before has a round
            // more.
            m_control->serve(m_prefix + "hello", false);
        }
        m_control->serve(m_session + "calls", false);
        for (int round = 0; round < 2; ++round) { // jobs of lost processes first, then their queues
            (void)servers_now(here);
            m_control->forget(m_prefix + "runs/", true);
        }
        (void)servers_now(here);      // until it is done
    } catch (const std::exception&) { // without the queue there is nothing to answer
    }
}

/// How many connections serve a queue, after all that the coordinator has done so far.
unsigned elastic::servers_now(const std::string& queue) {
    const std::uint64_t answers = m_control->answers();
    m_control->ask_servers();
    while (serve_control(), m_control->answers() == answers) {
        check(*m_control);
        sleep(second);
    }
    return m_control->servers(queue);
}

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

void elastic::greet() {
    const std::string who = name_of_process();
    m_queue->serve(m_prefix + "here", true); // no jobs are there: a coordinator that ends counts it
    const std::uint64_t mine = m_queue->submit(m_prefix + "hello", bytes_of(hello{facts_of_program(), who}));
    bool has_said_so = false;
    const std::uint64_t begin = now_ns();
    for (job_event e;;) {
        if (!m_queue->next(e)) {
            check(*m_queue);
            if (now_ns() - begin > 2 * second && !has_said_so) {
                has_said_so = true;
                std::fprintf(stderr, "pilfer::cluster: the worker %s waits for a coordinator at %s\n",
                             who.c_str(), m_prefix.c_str());
            }
            m_queue->ask_servers();
            sleep(second);
            continue;
        }
        if (e.job != mine || e.what == job_event::kind::lives) {
            continue;
        }
        consent c;
        if (e.what == job_event::kind::done) {
            c = read_as<consent>(e.content);
        } else {
            c.refusal = "a message that it cannot read";
        }
        if (!c.refusal.empty()) {
            throw cluster::mismatch_error("pilfer::cluster: the coordinator refuses this worker, " + who +
                                          ", because it has " + c.refusal);
        }
        if (c.rank == 0 || c.rank > most_workers) {
            throw archive_error("a rank that no worker can have");
        }
        m_session = c.session;
        m_rank = c.rank;
        m_size = m_rank + 1;
        return;
    }
}

void elastic::welcome(const job_event& e) {
    const hello h = read_as<hello>(e.content);
    consent c;
    c.refusal = difference(facts_of_program(), h.facts);
    if (c.refusal.empty()) {
        c.session = m_session;
        c.rank = m_size++;
    } else {
        std::fprintf(stderr, "pilfer::cluster: the worker %s is refused, because it has %s\n", h.who.c_str(),
                     c.refusal.c_str());
    }
    m_control->ack(e.job, bytes_of(c));
}

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

/// Coordinator: the run has ended so. A process that asks from now on is in the next run, which has no news
/// yet.
void elastic::leave_run(std::vector<std::byte> end) {
    m_ends.push_back(std::move(end));
    m_told = m_told_drops = 0;
    tell(m_ends.back());
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

std::vector<cluster::rank_stats> elastic::stats() const {
    std::vector<cluster::rank_stats> all(m_size);
    all[m_rank] = m_stats;
    return all;
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

parcel_result elastic::run(pool& p, cluster_task& type, std::function<void(archive&)> root) {
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
            constexpr std::string_view text = "the coordinator has left the run by an exception";
            const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
            const parcel_result end{.failed = 1, .bytes = {bytes, bytes + text.size()}};
            leave_run(encoded_end(type, end));
        }
        ++m_run;
        try {
            send_all();
        } catch (const cluster::queue_error&) { // no process can be answered then
        }
        throw;
    }
}

parcel_result elastic::run(rank_work& work, cluster_task& type, std::function<void(archive&)> root) {
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
            end(encoded_end(type, work.root()));
            leave_run(m_end);
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
    while (m_unfetched < most_unfetched && work.available() != 0) {
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
        moved = true;
    }
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
        return;
    }
    if (m_control == nullptr && e.job == m_call) {
        if (e.what == job_event::kind::failed) {
            throw cluster::mismatch_error("pilfer::cluster: the coordinator refuses the call of this worker");
        }
        if (e.what == job_event::kind::done) {
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
        return;
    }
    if (m_report != 0 && e.job == m_report) {
        if (e.what == job_event::kind::failed) {
            throw cluster::mismatch_error("pilfer::cluster: the coordinator refuses the news of this worker");
        }
        if (e.what == job_event::kind::done) {
            m_report = 0;
            for (local_work::finished& f : std::exchange(m_held, {})) {
                finish(std::move(f));
            }
        }
        return;
    }
    const auto name = m_by_job.find(e.job);
    const auto at = name == m_by_job.end() ? m_shipments.end() : m_shipments.find(name->second.shipment);
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
    parcel_result r;
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
        r = std::move(m.results.front());
    } catch (const archive_error& error) {
        const auto* text = reinterpret_cast<const std::byte*>(error.what());
        r.failed = 1;
        r.rank = m_rank;
        r.bytes.assign(text, text + std::char_traits<char>::length(error.what()));
    }
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
