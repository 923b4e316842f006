#include "worker/thief.hpp"

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

thief::thief(scheduler& w, pool_core& p, unsigned number)
    : m_worker(w), m_pool(p), m_random(number + 1 + PILFER_CHAOS_START(std::uint64_t)),
      m_chooser(p.settings().balance.victim, number, p.size()) {}

void thief::pool_has_started(std::span<const balance::group> near) noexcept {
    m_chooser = balance::chooser(m_pool.settings().balance.victim, m_worker.index, m_pool.size(), near);
}

/// How many tasks one theft takes from `victim`. What goes beyond the first one lands in this worker's deque,
/// so it has to be empty: then whoever takes the oldest there finds them in the order in which the victim
/// announced them. And without a stack only a continuation can be taken, and what lies behind it might be a
/// spark that this worker cannot start: it stays where it is.
std::int64_t thief::amount_of(unsigned victim) noexcept {
    const steal_amount rule = m_pool.settings().balance.steal;
    if (rule.what == steal_amount::rule::one || m_worker.deque.owner().peek() != 0) {
        return 1;
    }
    return static_cast<std::int64_t>(m_batch.size(rule, m_pool.at(victim).deque.thief().scales()));
}

std::int64_t thief::force_expose(unsigned victim, std::int64_t most) noexcept {
    const std::int64_t reached = m_pool.at(victim).deque.thief().force_expose(most, m_worker.marks.marking());
    if (reached > 0) {
        m_worker.count.reaches.add();
        m_worker.log.note(trace::what::force_expose, victim);
    }
    return reached;
}

bool thief::try_steal(unsigned victim, bool may_reach) noexcept {
    scheduler& v = m_pool.at(victim);
    auto other = v.deque.thief();
    m_worker.count.steals_tried.add();
    const bool sparks = m_worker.switching.has_context();
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
    // The owner exposes at its next announcement. Losing this request is harmless: whoever goes to sleep
    // asks again, with fences, and reaches.
    if (other.has_any() && !v.deque.signal().has(signal_word<std_atom>::expose)) {
        if (m_pool.settings().balance.steal.what == steal_amount::rule::adaptive) {
            v.requested.store(m_batch.next(),
                              rlx); // another thief's wish is as good: this one reaches what lacks
        }
        v.deque.signal().set(signal_word<std_atom>::expose);
    }
    return false;
}

/// The rest of a theft whose first task is in hand: a row of single steals, each pushed here at once and so
/// published like any other announcement. Those that others take meanwhile are theirs.
std::int64_t thief::take_more(unsigned victim, std::int64_t more) noexcept {
    auto other = m_pool.at(victim).deque.thief();
    auto own = m_worker.deque.owner();
    const auto there = other.look();
    if (there.shared < more && there.own > 0) {
        // Exposed by another rule than this thief's: what was not would be cut off its amount.
        (void)force_expose(victim, more - there.shared);
    }
    std::int64_t taken = 0;
    // Room first: what has been claimed has to lie somewhere.
    while (taken < more && (own.has_room() || own.make_room() || m_worker.sharing.grow_ring())) {
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

/// The surplus lies in the deque already, so that the look behind a token finds it.
void thief::run_theft(task_word task, unsigned victim, std::int64_t tasks) noexcept {
    m_chooser.succeeded(victim);
    m_worker.set_level(m_pool.at(victim).level());
    m_worker.resting.found_work(victim);
    m_worker.count.run_stolen.add();
    m_worker.count.tasks_stolen.add(static_cast<std::uint64_t>(tasks));
    m_worker.log.note_run(trace::what::run_stolen, task, victim, static_cast<std::uint32_t>(tasks));
    if (m_pool.settings().balance.steal.what == steal_amount::rule::adaptive &&
        m_worker.deque.owner().has_room()) {
        m_mark = m_worker.deque.owner().mark();
    }
    m_worker.execute(task);
}

/// Back from the last theft and from what came with it: did it announce anything? Only the first one is
/// asked, at no cost to what it ran; a frame that moved announces elsewhere and counts as barren.
void thief::judge_last_theft() noexcept {
    if (m_mark.has_value()) {
        m_batch.spent(m_worker.deque.owner().pushed_since(*m_mark));
        m_mark.reset();
    }
}

bool thief::search() noexcept {
    const unsigned n = m_pool.size();
    if (n == 1) {
        return false;
    }
    judge_last_theft();
    m_worker.resting.search_begins(); // before the first look
    if (m_worker.resting.has_token()) {
        const unsigned hint = m_pool.idle().hint(m_worker.index);
        if (hint < n && hint != m_worker.index && try_steal(hint, false)) {
            return true;
        }
    }
    const auto length = [this](unsigned i) { return m_pool.at(i).deque.thief().scales().weight(); };
    // Spinning is bounded: about 50 us where every worker has a CPU and a pause takes 28 ns, a few times what
    // a sleep and a wake-up cost, and what a reach waits for; next to nothing where spinning takes the CPU
    // from those that work.
    const unsigned rounds = m_pool.settings().spin == idle::battery ? 0 : m_pool.oversubscribed() ? 4 : 200;
    for (unsigned round = 0; round < rounds; ++round) {
        const unsigned victim = m_chooser.next(m_random, length);
        if (try_steal(victim, false)) {
            return true;
        }
        m_chooser.failed(victim);
        // Local work and submissions win over a search that goes on.
        if (m_worker.anything_queued() && (m_worker.resume_one() || m_worker.run_submission())) {
            return true; // otherwise it lacks a stack, which a continuation elsewhere does not
        }
        for (unsigned i = 0; i < 8; ++i) {
            cpu_relax();
        }
    }
    // Everybody, whatever the rule: the sleeping rests on it.
    return steal_from_all();
}

/// At one of 64 ends, whatever work this worker has: it may find some at each look, without end, and so may
/// all others but the one whose task neither announces nor ends. With reach, since that one answers nobody.
bool thief::steal_in_turn() noexcept {
    const unsigned n = m_pool.size();
    const instant t = now();
    if (n == 1 || t - m_last_in_turn < between_turns) {
        return false;
    }
    m_last_in_turn = t;
    judge_last_theft();
    // Each time behind the last victim: one that always has something keeps the others from nobody.
    for (unsigned k = 0; k < n; ++k) {
        const unsigned victim = m_next_in_turn < n ? m_next_in_turn : 0;
        m_next_in_turn = victim + 1;
        if (victim != m_worker.index && m_pool.at(victim).deque.thief().has_any() &&
            try_steal(victim, true)) {
            return true;
        }
    }
    return false;
}

/// With reach. A thief of the ring starts at its victim.
bool thief::steal_from_all() noexcept {
    const unsigned n = m_pool.size();
    if (n == 1) {
        return false;
    }
    const unsigned first = PILFER_CHAOS_BELOW(n - 1);
    const unsigned step = m_pool.settings().balance.victim == victim::ring ? n - 1 : 1;
    for (unsigned k = 0; k < n - 1; ++k) {
        if (try_steal((m_worker.index + step * (1 + (first + k) % (n - 1))) % n, true)) {
            return true;
        }
    }
    return false;
}

bool thief::steal_from_retired() noexcept {
    for (unsigned i = 0; i < m_pool.size(); ++i) {
        if (i != m_worker.index && m_pool.has_left(i) && try_steal(i, true)) {
            return true;
        }
    }
    return false;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
