// The simulator's loop: the next event, arrivals, and calls of the observer.
#include "simulator.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "simulation.hpp"

namespace study {
namespace simulated {

result simulation::run() {
    m_program.begin(m_how.workers, [this](unsigned i, std::uint64_t task) {
        m_workers[i].deque.push({task, no_frame});
        ++m_open;
        ++m_result.announced;
    });
    for (unsigned i = 0; i < m_how.workers; ++i) {
        worker& w = m_workers[i];
        touched(i);
        if (w.deque.empty() && m_how.asleep) {
            m_sleepers.put(i, true);
        }
    }
    for (unsigned i = 0; i < m_how.workers; ++i) {
        m_spent = 0;
        if (!m_workers[i].deque.empty()) {
            m_workers[i].ever_woken = true;
            after_push(i); // of the last of them
        }
        if (!m_sleepers.has(i)) {
            m_workers[i].now = phase::looking;
            m_events.set(i, std::min(m_events.when(i), m_spent));
        }
    }
    m_spent = 0;
    m_next_arrival = m_program.arrives(0, m_how.workers);
    m_events.set(m_how.workers, m_next_arrival.when);
    while (m_open > 0 || m_next_arrival.when != never) {
        const unsigned i = m_events.first();
        m_now = m_events.when(i);
        if (m_now == never) {
            throw std::runtime_error("all workers sleep with work left: the program waits for itself, as "
                                     "tasks do that take two locks "
                                     "in different orders");
        }
        if (m_now >= m_how.until) {
            break;
        }
        ++m_result.events;
        m_spent = 0;
        if (i == m_how.workers) {
            arrive();
        } else {
            act(i);
        }
    }
    m_result.makespan = m_now;
    return m_result;
}

void simulation::act(unsigned i) {
    switch (m_workers[i].now) {
    case phase::running:
        run_frame(i);
        break;
    case phase::looking:
        look(i);
        break;
    case phase::searching:
        search(i);
        break;
    case phase::scanning:
        scan(i);
        break;
    case phase::lying_down:
        lie_down(i);
        break;
    case phase::hauling:
        steal_batch(i);
        break;
    case phase::asleep:
        break;
    }
}

/// As if the worker that it reaches had announced it at this moment.
void simulation::arrive() {
    const unsigned i = m_next_arrival.worker;
    m_workers[i].deque.push({m_next_arrival.when, no_frame});
    ++m_open;
    ++m_result.announced;
    touched(i);
    expose(i, m_workers[i].exposer.after_push(m_workers[i].deque.load(), !m_sleepers.empty()));
    if (m_sleepers.has(i)) {
        (void)wake_one(i, (i + m_how.workers - 1) % m_how.workers, i);
    } else {
        answer(i);
    }
    m_next_arrival = m_program.arrives(++m_arrivals, m_how.workers);
    m_events.set(m_how.workers, m_next_arrival.when);
}

void simulation::busy(unsigned i, bool now) {
    worker& w = m_workers[i];
    if (w.busy == now) {
        return;
    }
    w.busy = now;
    m_busy += now ? 1U : ~0U;
    if (now && !w.begun) {
        w.begun = true;
        if (++m_begun == m_how.workers) {
            m_result.all_reached = m_now;
        }
    }
    if (m_busy == m_how.workers && m_result.all_busy == never) {
        m_result.all_busy = m_now;
    }
    if (m_watcher != nullptr) {
        m_watcher->busy(m_now, i, now);
        show(i);
    }
}

void simulation::show(unsigned i) {
    const worker& w = m_workers[i];
    m_watcher->holds(m_now, i, w.deque.size() + (w.current != no_frame ? 1 : 0));
}

} // namespace simulated

result simulate(const setup& how, const workload& program, observer* watcher) {
    if (how.workers < 1 || how.workers > 4'096) {
        throw std::invalid_argument("the simulator has 1 to 4096 workers, not " +
                                    std::to_string(how.workers));
    }
    if (how.policy.steal.what == pilfer::steal_amount::rule::automatic ||
        how.policy.victim == pilfer::victim::automatic ||
        how.policy.exposure == pilfer::exposure::automatic) {
        throw std::invalid_argument("a simulation needs an amount, a victim and an exposure");
    }
    return simulated::simulation(how, program, watcher).run();
}

} // namespace study
