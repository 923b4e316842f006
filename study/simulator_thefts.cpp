// A simulated worker without a task: looking, robbing, lying down. And the duties of busy workers to it:
// exposing, waking.
#include <algorithm>

#include "simulation.hpp"

namespace study::simulated {

// ---- looking for work: scheduler::step(), search(), sleep() ----------------------------------------

void simulation::look(unsigned i) {
    worker& w = m_workers[i];
    if (m_how.attend_between) {
        answer(i);
    }
    if (!w.deque.empty()) {
        const entry e = w.deque.newest();
        pop_newest(i);
        found_work(i);
        enter(i, e);
        touched(i);
        resume_at(i, phase::running);
        return;
    }
    if (w.robbed) {
        w.steal_batch.spent(w.fruitful);
        w.robbed = false;
    }
    w.round = 0;
    if (m_how.workers == 1) {
        m_sleepers.put(i, true);
        w.now = phase::asleep;
        m_events.set(i, never);
        return;
    }
    resume_at(i, phase::searching);
}

void simulation::search(unsigned i) {
    worker& w = m_workers[i];
    if (!w.deque.empty()) { // an arrival
        look(i);
        return;
    }
    unsigned victim = w.hint;
    if (w.round > 0 || !w.token || !m_how.name_victim || victim >= m_how.workers || victim == i) {
        victim = w.chooser.next(w.random, [this](unsigned v) { return m_workers[v].deque.size(); });
        if (m_how.policy.victim == pilfer::victim::longest) {
            m_spent += m_price.remote_line * (m_how.workers - 1);
        }
    }
    if (attempt(i, victim, false)) {
        w.chooser.succeeded(victim);
        return;
    }
    w.chooser.failed(victim);
    m_spent += m_price.steal_miss;
    if (++w.round < m_how.rounds) {
        resume_at(i, phase::searching);
    } else {
        w.round = 0;
        resume_at(i, phase::scanning);
    }
}

/// With reach. Those that have nothing are passed in one step, a line each.
void simulation::scan(unsigned i) {
    worker& w = m_workers[i];
    const unsigned n = m_how.workers;
    if (!m_how.last_look) {
        const unsigned victim =
            w.chooser.next(w.random, [this](unsigned v) { return m_workers[v].deque.size(); });
        if (!attempt(i, victim, true)) {
            // Nothing here wakes it again, so it must not lie down beside work that it may not take. Time
            // must pass, even if nothing costs anything.
            m_spent += std::max(m_price.steal_miss, from_ns(1));
            resume_at(i, m_ready.empty() ? phase::lying_down : phase::searching);
        }
        return;
    }
    // Forwards, or for a thief of the ring backwards. i + 1 + round is next; i itself is n - 1 steps further.
    const bool forwards = m_how.policy.victim != pilfer::victim::ring;
    const unsigned from = (forwards ? i + 1 + w.round : i + n + n - 1 - w.round) % n;
    const unsigned victim = forwards ? m_ready.next(from) : m_ready.previous(from);
    const unsigned steps = victim == worker_set::nobody ? n
                           : forwards                   ? m_ready.steps(from, victim)
                                                        : m_ready.steps(victim, from);
    if (w.round + 1 + steps >= n) {
        m_spent += m_price.remote_line * (n - 1 - std::min(w.round, n - 1));
        resume_at(i, phase::lying_down);
        return;
    }
    m_spent += m_price.remote_line * (steps + 1);
    w.round += steps + 1;
    if (attempt(i, victim, true)) {
        w.chooser.succeeded(victim);
    } else {
        resume_at(i, phase::scanning);
    }
}

void simulation::lie_down(unsigned i) {
    worker& w = m_workers[i];
    if (!m_ready.empty()) {
        w.round = 0;
        resume_at(i, phase::searching); // the token, if there is one, is still owed
        return;
    }
    w.token = false;
    w.now = phase::asleep;
    ++m_result.sleeps;
    m_sleepers.put(i, true);
    m_events.set(i, never);
}

/// try_steal(), take_more(): the amount of the policy, of all tasks of the victim. Private tasks come with
/// `force_expose`, or when something is shared, so that no exposure cuts an amount down.
bool simulation::attempt(unsigned thief, unsigned victim, bool reach) {
    worker& w = m_workers[thief];
    worker& v = m_workers[victim];
    const auto load = v.deque.load();
    const std::uint64_t wanted =
        v.deque.empty() ? 0 : w.steal_batch.size(m_how.policy.steal, load.shared + load.own);
    if (wanted == 0 || (load.shared == 0 && !reach)) {
        if (wanted != 0) {
            v.asked_by = thief;
        }
        ++m_result.misses;
        return false;
    }
    if (wanted > load.shared) {
        v.deque.expose(wanted - load.shared);
        m_spent += m_price.reach;
        ++m_result.reaches;
    }
    // Thieves of one victim take turns: each needs the line of its oldest task for itself.
    const moment start = std::max(m_now + m_spent, v.line_free);
    v.line_free = start + m_price.remote_line;
    m_spent = start - m_now + m_price.steal_hit;
    w.in_hand = v.deque.take_oldest();
    w.victim = victim;
    w.more = wanted - 1;
    ++m_result.steals;
    ++m_result.stolen;
    touched(victim);
    if (m_how.wake_before_haul) {
        found_work(thief);
    }
    steal_batch(thief);
    return true;
}

/// Task by task, and others may take some of them meanwhile. A few tasks are one event: they share a line.
void simulation::steal_batch(unsigned thief) {
    worker& w = m_workers[thief];
    worker& v = m_workers[w.victim];
    constexpr unsigned in_a_line = 8;
    for (unsigned k = 0; w.more > 0 && k < in_a_line; ++k) {
        if (v.deque.load().shared == 0) {
            w.more = 0;
            break;
        }
        --w.more;
        ++m_result.stolen;
        m_spent += m_price.steal_more;
        v.line_free = std::max(v.line_free, m_now + m_spent);
        w.deque.push(v.deque.take_oldest());
        after_push(thief);
    }
    touched(w.victim);
    touched(thief);
    if (w.more > 0) {
        resume_at(thief, phase::hauling);
        return;
    }
    w.robbed = true;
    w.fruitful = false;
    found_work(thief);
    enter(thief, w.in_hand);
    touched(thief);
    resume_at(thief, phase::running);
}

// ---- exposing and waking: announcer::answer(), found_work(), sleepers ------------------------------

void simulation::expose(unsigned i, std::uint64_t n) {
    if (n > 0) {
        m_workers[i].deque.expose(n);
        ++m_result.exposures;
    }
}

/// Answers if a thief asks or a worker sleeps.
void simulation::answer(unsigned i) {
    worker& w = m_workers[i];
    if (w.asked_by == worker_set::nobody && m_sleepers.empty()) {
        return;
    }
    // expose_some(): for the asking thief, with its present steal_batch; for a sleeper, with its steal_batch
    // of before it lay down.
    unsigned thief = w.asked_by;
    if (thief == worker_set::nobody) {
        thief = m_sleepers.next((i + 1) % m_how.workers);
    }
    w.asked_by = worker_set::nobody;
    m_spent += m_price.remote_line; // The wish, which the thief has written.
    const auto load = w.deque.load();
    if (m_how.policy.steal.what == pilfer::steal_amount::rule::one &&
        m_how.policy.exposure == pilfer::exposure::on_demand) {
        expose(i, load.shared > 0 ? 0 : std::min(load.own, std::clamp<std::uint64_t>(load.own / 8, 1, 64)));
    } else {
        expose(i, balance::exposer::for_thief(m_workers[thief].steal_batch, m_how.policy.steal, load));
    }
    if (m_sleepers.empty() || w.deque.empty()) {
        return;
    }
    // sleepers::publish(): one at a time.
    if (w.last_woken != worker_set::nobody && m_workers[w.last_woken].token) {
        return;
    }
    const unsigned woken = m_sleepers.next((i + 1) % m_how.workers);
    if (wake_one(i, i, i)) {
        w.last_woken = woken;
    }
}

/// Wakes the first sleeper after `from`. The waker pays for the call; the latency begins with it.
bool simulation::wake_one(unsigned waker, unsigned from, unsigned hint) {
    const unsigned woken = m_sleepers.next((from + 1) % m_how.workers);
    if (woken == worker_set::nobody) {
        return false;
    }
    m_sleepers.put(woken, false);
    worker& w = m_workers[woken];
    w.token = true;
    w.hint = hint;
    w.round = 0;
    w.now = phase::looking;
    m_events.set(woken, m_now + m_spent + m_price.wake_latency);
    m_spent += m_price.wake_call;
    ++m_result.wakes;
    if (!w.ever_woken) {
        w.ever_woken = true;
        w.depth = m_workers[waker].depth + 1;
        m_result.wake_depth = std::max(m_result.wake_depth, w.depth);
    }
    return true;
}

/// The token's holder wakes up to two others before it runs its first task, and names its own victim.
void simulation::found_work(unsigned i) {
    worker& w = m_workers[i];
    if (!w.token) {
        return;
    }
    w.token = false;
    for (unsigned woken = 0; woken < 2; ++woken) {
        const unsigned ready = m_ready.next(i);
        if (ready == worker_set::nobody) {
            return;
        }
        const bool at_victim = m_how.look_at_victim && ready != i && m_ready.has(w.victim);
        m_spent += m_price.remote_line * (at_victim ? 1 : m_ready.steps(i, ready)); // from deque to deque
        if (!wake_one(i, i, m_how.name_itself ? i : w.hint)) {
            return;
        }
    }
}

} // namespace study::simulated
