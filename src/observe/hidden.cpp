#include "observe/hidden.hpp"

#include <algorithm>

#include "observe/overdue.hpp"
#include "observe/stall.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] std::uint64_t sleeps_of(pool_core& p, unsigned worker) {
    return p.at(worker).count.sleeps.get();
}

[[nodiscard]] bool somebody_looks_for_work(pool_core& p) {
    for (unsigned i = 0; i < p.size(); ++i) {
        if (p.idle().is_searching(i) || p.idle().is_alert(i) ||
            (p.idle().is_running(i) && p.at(i).current.load(std::memory_order_relaxed) == nullptr)) {
            return true;
        }
    }
    return false;
}

/// True if every thread in the map of sleepers is blocked. One that is not blocked may still scan, or may
/// still have to look because of a token.
[[nodiscard]] bool all_sleepers_are_blocked(pool_core& p) {
    for (unsigned i = 0; i < p.size(); ++i) {
        if (p.idle().is_asleep(i) && !os::is_blocked(p.at(i).thread_id.load(std::memory_order_relaxed))) {
            return false;
        }
    }
    return true;
}

[[nodiscard]] unsigned anyone_left_asleep(pool_core& p, unsigned nobody) {
    for (unsigned i = 0; i < p.size(); ++i) {
        if (p.idle().is_left_asleep(i)) {
            return i;
        }
    }
    return nobody;
}

} // namespace

std::string hidden_task::text() const {
    return "pool " + std::to_string(pool) + ": a task of worker " + std::to_string(owner) +
           " lay there for " + std::to_string(microseconds) + " us while worker " + std::to_string(sleeper) +
           " slept and nobody looked for work";
}

std::optional<hidden_task> hidden_watch::look() {
    ++m_looks;
    const std::uint64_t now = os::now_ns();
    const std::uint64_t passed = std::min(m_last == 0 ? 0 : now - m_last, most_of_a_look);
    m_last = now;
    std::optional<hidden_task> found;
    std::map<std::uint64_t, std::vector<sight>> alive;
    const registry::all_pools pools;
    for (const pool_entry* e = pools.first(); e != nullptr; e = e->next) {
        auto& deques = alive[e->number] = std::move(m_pools[e->number]);
        if (const auto one = look_at(*e->pool, e->number, deques, passed); one && !found) {
            found = one;
        }
    }
    m_pools = std::move(alive);
    return found;
}

void hidden_watch::begin(pool_core& p, scheduler& owner, sight& s, std::int64_t oldest) {
    s.oldest = oldest;
    s.any = true;
    s.age = 0;
    s.sleeper = anyone_left_asleep(p, nobody);
    s.sleeps = s.sleeper == nobody ? 0 : sleeps_of(p, s.sleeper);
    s.owner_cpu = os::cpu_ns_of(owner.thread_id.load(std::memory_order_relaxed));
}

std::optional<hidden_task> hidden_watch::look_at(pool_core& p, std::uint64_t number,
                                                 std::vector<sight>& deques, std::uint64_t passed) {
    deques.resize(p.size());
    if (p.joined() || p.stopping() || p.stacks.exhausted()) {
        std::fill(deques.begin(), deques.end(), sight{});
        return {};
    }
    std::optional<hidden_task> found;
    const bool nobody_looks = !somebody_looks_for_work(p);
    for (unsigned i = 0; i < p.size(); ++i) {
        sight& s = deques[i];
        const auto now = p.at(i).deque.thief().look();
        if (now.shared + now.own == 0) {
            s.any = false;
        } else if (!s.any || s.oldest != now.oldest || s.sleeper == nobody ||
                   !p.idle().is_left_asleep(s.sleeper) || sleeps_of(p, s.sleeper) != s.sleeps) {
            begin(p, p.at(i), s, now.oldest);
        } else if (nobody_looks && counts(p, i, s)) {
            s.age += passed;
            m_longest = std::max(m_longest, s.age / 1000);
            if (s.age / 1000 > m_limit && !found) {
                found = hidden_task{number, i, s.sleeper, s.age / 1000};
            }
        }
    }
    return found;
}

bool hidden_watch::counts(pool_core& p, unsigned owner, sight& s) {
    const std::uint64_t thread = p.at(owner).thread_id.load(std::memory_order_relaxed);
    const std::uint64_t cpu = os::cpu_ns_of(thread);
    const bool moved = cpu > s.owner_cpu + 100'000; // far more than the time between a push and its wake-up
    s.owner_cpu = moved ? cpu : s.owner_cpu;
    return (moved || os::is_blocked(thread)) && all_sleepers_are_blocked(p);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
