// Members of an elastic run: the one coordinator, and workers that come and are counted.
#include "engines/elastic.hpp"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include <pilfer/cluster/error.hpp>

#include "engines/elastic_bytes.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

using cluster::archive_error;

namespace {
/// Of one session: stats() has an entry for each.
constexpr std::uint32_t most_workers = std::uint32_t{1} << 20;
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
    const hello h = read_hello(e.content);
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

} // namespace detail
} // namespace v0
} // namespace pilfer
