#include "worker/thief.hpp"

#include "deque/rings.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

thief::thief(scheduler& w, team& t, unsigned number)
    : m_worker(w), m_team(t), m_random(number + 1 + PILFER_CHAOS_START(std::uint64_t)),
      m_chooser(t.settings().balance.victim, number, t.size()) {}

void thief::pool_has_started(std::span<const balance::group> near) noexcept {
    m_chooser = balance::chooser(m_team.settings().balance.victim, m_worker.index, m_team.size(), near);
}

/// Returns how many tasks one theft takes from `victim`. The tasks after the first one go into this worker's
/// deque, which has to be empty for that. Thieves of this worker then find them in the order in which the
/// victim announced them.
///
/// Not called by a worker without a stack, which can take only a continuation. The entry after it might be a
/// spark that the worker cannot start, so that entry stays with the victim.
std::int64_t thief::amount_of(unsigned victim) noexcept {
    const steal_amount rule = m_team.settings().balance.steal;
    if (rule.what == steal_amount::rule::one || m_worker.deque.owner().peek() != 0) {
        return 1;
    }
    return static_cast<std::int64_t>(m_batch.size(rule, m_team.at(victim).deque.thief().scales()));
}

std::int64_t thief::force_expose(unsigned victim, std::int64_t most) noexcept {
    const std::int64_t reached = m_team.at(victim).deque.thief().force_expose(most, m_worker.marks.marking());
    if (reached > 0) {
        m_worker.count.reaches.add();
        m_worker.log.note(trace::what::force_expose, victim);
    }
    return reached;
}

bool thief::try_steal(unsigned victim, bool may_reach) noexcept {
    scheduler& v = m_team.at(victim);
    auto other = v.deque.thief();
    m_worker.count.steals_tried.add();
    const bool sparks = m_worker.reserve.has_context();
    const std::int64_t amount = sparks ? amount_of(victim) : 1;
    const auto accept = [sparks](task_word t) { return sparks || (t & kind_mask) == kind_continuation; };
    steal_result got = other.steal(accept);
    if (got.status == steal_status::empty && may_reach && other.has_any() &&
        force_expose(victim, amount) > 0) {
        got = other.steal(accept);
    }
    if (got.status == steal_status::success) {
        run_theft(got.task, victim, amount == 1 ? 1 : 1 + take_more(victim, amount - 1));
        return true;
    }
    if (got.status == steal_status::lost) {
        m_worker.count.steals_lost.add();
        return false;
    }
    m_worker.count.steals_failed.add();
    // The owner exposes at its next announcement. A lost request is harmless: a worker that goes to sleep
    // asks again, with fences, and forces exposures.
    if (other.has_any() && !v.deque.signal().has(signal_word<std_atom>::expose)) {
        if (m_team.settings().balance.steal.what == steal_amount::rule::adaptive) {
            // Another thief may overwrite this amount; then this thief forces the exposure of the rest.
            v.requested.store(m_batch.next(), rlx);
        }
        v.deque.signal().set(signal_word<std_atom>::expose);
    }
    return false;
}

/// Takes up to `more` further tasks after the first one of a theft. Each is a single steal, pushed here at
/// once and so published like any other announcement. Tasks that other thieves take meanwhile stay with them.
std::int64_t thief::take_more(unsigned victim, std::int64_t more) noexcept {
    auto other = m_team.at(victim).deque.thief();
    auto own = m_worker.deque.owner();
    const auto there = other.look();
    if (there.shared < more && there.own > 0) {
        // The owner may have exposed fewer tasks than this thief's rule takes. Without this call the theft
        // would be cut short by the difference.
        (void)force_expose(victim, more - there.shared);
    }
    std::int64_t taken = 0;
    // Room is made before the steal, because a claimed task needs a slot.
    while (taken < more && (own.has_room() || own.make_room() || grow_ring(own))) {
        const steal_result got = other.steal([](task_word) { return true; });
        if (got.status == steal_status::empty) {
            break;
        }
        if (got.status == steal_status::success) {
            m_worker.sharing.insert(got.task, got.weight);
            ++taken;
        }
    }
    return taken;
}

/// Runs the first task of a theft. The surplus is in the deque already, so that the look after a token finds
/// it.
void thief::run_theft(task_word task, unsigned victim, std::int64_t tasks) noexcept {
    m_chooser.succeeded(victim);
    m_worker.set_level(m_team.at(victim).level());
    m_worker.looking.found_work(victim);
    m_worker.stole(victim, tasks);
    m_worker.log.note_run(trace::what::run_stolen, task, victim, static_cast<std::uint32_t>(tasks));
    if (m_team.settings().balance.steal.what == steal_amount::rule::adaptive &&
        m_worker.deque.owner().has_room()) {
        m_mark = m_worker.deque.owner().mark();
    }
    m_worker.execute(task);
}

/// Called after the last theft and the tasks that came with it: reports to the adaptive rule whether it
/// announced anything. Only the first task is asked, at no cost to it. A frame that moved announces on
/// another worker, and counts as barren.
void thief::judge_last_theft() noexcept {
    if (m_mark.has_value()) {
        m_batch.spent(m_worker.deque.owner().pushed_since(*m_mark));
        m_mark.reset();
    }
}

bool thief::search() noexcept {
    const unsigned n = m_team.size();
    if (n == 1) {
        return false;
    }
    judge_last_theft();
    m_worker.looking.search_begins(); // before the first look
    if (m_worker.looking.has_token()) {
        const unsigned hint = m_team.idle().hint(m_worker.index);
        if (hint < n && hint != m_worker.index && try_steal(hint, false)) {
            return true;
        }
    }
    const auto length = [this](unsigned i) { return m_team.at(i).deque.thief().scales().weight(); };
    // Spinning is bounded. If every worker has a CPU and a pause takes 28 ns, it lasts about 50 us. That is a
    // few times the cost of a sleep and a wake-up, or of the wait for a forced exposure. If workers outnumber
    // the CPUs it is next to nothing, because it takes the CPU from workers with tasks.
    const unsigned rounds = m_team.settings().spin == idle::battery ? 0 : m_team.oversubscribed() ? 4 : 200;
    for (unsigned round = 0; round < rounds; ++round) {
        const unsigned victim = m_chooser.next(m_random, length);
        if (try_steal(victim, false)) {
            return true;
        }
        m_chooser.failed(victim);
        // Local work and submissions have precedence over the rest of the search.
        if (m_worker.anything_queued() && (m_worker.resume_one() || m_worker.run_submission())) {
            return true; // otherwise it lacks a stack, but a stolen continuation needs none
        }
        for (unsigned i = 0; i < 8; ++i) {
            cpu_relax();
        }
    }
    // All deques, whatever the victim rule, because the sleep protocol relies on it.
    return steal_from_all();
}

/// Steals from one other worker, even if this worker has work. Called after one of 64 task ends. Otherwise
/// every worker might find its own work at each look, without end, and no worker would steal from one whose
/// task neither announces nor ends. Forces exposures, since that worker answers no requests.
bool thief::steal_in_turn() noexcept {
    const unsigned n = m_team.size();
    const instant t = now();
    if (n == 1 || t - m_last_in_turn < between_turns) {
        return false;
    }
    m_last_in_turn = t;
    judge_last_theft();
    // Each call starts after the last victim, so that a victim that always has tasks does not exclude the
    // others.
    for (unsigned k = 0; k < n; ++k) {
        const unsigned victim = m_next_in_turn < n ? m_next_in_turn : 0;
        m_next_in_turn = victim + 1;
        if (victim != m_worker.index && m_team.at(victim).deque.thief().has_any() &&
            try_steal(victim, true)) {
            return true;
        }
    }
    return false;
}

/// Tries each other worker once, and forces exposures. Under the ring rule the order starts at the usual
/// victim.
bool thief::steal_from_all() noexcept {
    const unsigned n = m_team.size();
    if (n == 1) {
        return false;
    }
    const unsigned first = PILFER_CHAOS_BELOW(n - 1);
    const unsigned step = m_team.settings().balance.victim == victim::ring ? n - 1 : 1;
    for (unsigned k = 0; k < n - 1; ++k) {
        if (try_steal((m_worker.index + step * (1 + (first + k) % (n - 1))) % n, true)) {
            return true;
        }
    }
    return false;
}

bool thief::steal_from_retired() noexcept {
    for (unsigned i = 0; i < m_team.size(); ++i) {
        if (i != m_worker.index && m_team.has_left(i) && try_steal(i, true)) {
            return true;
        }
    }
    return false;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
