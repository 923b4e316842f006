#include "inspect/hidden.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

// A look that comes late counts for no more than this: whoever kept this thread from a CPU kept others too.
constexpr std::uint64_t most_of_a_look = 1'500'000;

[[nodiscard]] std::uint64_t steady_ns() {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

/// Processor time of a thread of this process; 0 if it cannot be read. The clock's number is the one that
/// pthread_getcpuclockid() would give, which needs a handle in place of the system's number.
[[nodiscard]] std::uint64_t cpu_ns(std::uint64_t thread) {
    timespec t{};
    const auto clock = static_cast<clockid_t>((~static_cast<std::uint32_t>(thread) << 3) | 6U);
    if (thread == 0 || clock_gettime(clock, &t) != 0) {
        return 0;
    }
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

/// Blocked in the kernel, neither running nor waiting for a CPU.
[[nodiscard]] bool is_blocked(std::uint64_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;
    std::getline(file, line);
    const std::size_t end = line.rfind(')'); // a name may hold any character
    return end != std::string::npos && end + 2 < line.size() && line[end + 2] == 'S';
}

[[nodiscard]] std::uint64_t sleeps_of(pool_core& p, unsigned worker) {
    return p.at(worker).count.sleeps.get();
}

[[nodiscard]] bool somebody_looks_for_work(pool_core& p) {
    for (unsigned i = 0; i < p.size(); ++i) {
        if (p.idle().is_searching(i) ||
            (p.idle().is_running(i) && p.at(i).current.load(std::memory_order_relaxed) == nullptr)) {
            return true;
        }
    }
    return false;
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
    const std::uint64_t now = steady_ns();
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
    s.owner_cpu = cpu_ns(owner.thread_id.load(std::memory_order_relaxed));
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
    const std::uint64_t cpu = cpu_ns(thread);
    const bool moved = cpu > s.owner_cpu + 100'000; // far more than there is between a push and its wake-up
    s.owner_cpu = moved ? cpu : s.owner_cpu;
    return (moved || is_blocked(thread)) &&
           is_blocked(p.at(s.sleeper).thread_id.load(std::memory_order_relaxed));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
