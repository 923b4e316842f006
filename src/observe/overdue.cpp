#include "observe/overdue.hpp"

#include <algorithm>
#include <cstdio>

#include "observe/stall.hpp"
#include "platform/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::uint64_t millisecond = 1'000'000;
constexpr std::uint64_t limit = 10 * millisecond;
// Far longer than the time between a push and the first step of follow_push().
constexpr std::uint64_t moved_on = millisecond / 10;
constexpr std::uint64_t longest_interval = 1'000 * millisecond;

} // namespace

std::uint64_t overdue_watch::look() noexcept {
    const std::uint64_t now = os::now_ns();
    const std::uint64_t passed = std::min(m_last == 0 || now < m_last ? 0 : now - m_last, most_of_a_look);
    m_last = now;
    if (m_pool.size() == 1 || m_pool.stopping()) {
        return 0;
    }
    if (m_pool.stacks.exhausted()) {
        m_owner = nullptr;
    } else if (m_owner != nullptr && still_there()) {
        if (counts()) {
            m_age += passed;
            if (m_age > limit) {
                report();
            }
        }
        return millisecond;
    } else if (found_something()) {
        return millisecond;
    }
    // Up to 50 sleepers together look a hundred times a second; while all sleep, each waits for as long as
    // that has lasted already.
    const std::uint64_t usual = std::min<std::uint64_t>(m_pool.size() * limit, longest_interval / 2);
    m_interval = m_pool.idle().everybody_asleep() ? std::max(m_interval * 2, usual) : usual;
    m_interval = std::min(m_interval, longest_interval);
    return m_interval;
}

bool overdue_watch::found_something() noexcept {
    for (unsigned i = 0; i < m_pool.size(); ++i) {
        scheduler& w = m_pool.at(i);
        const auto there = w.deque.thief().look();
        if (there.shared + there.own != 0) {
            m_owner = &w;
            m_oldest = there.oldest;
            m_owner_cpu = os::cpu_ns_of(w.thread_id.load(rlx));
            m_age = 0;
            return true;
        }
    }
    m_owner = nullptr;
    return false;
}

bool overdue_watch::still_there() noexcept {
    const auto there = m_owner->deque.thief().look();
    return there.shared + there.own != 0 && there.oldest == m_oldest;
}

bool overdue_watch::counts() noexcept {
    const std::uint64_t thread = m_owner->thread_id.load(rlx);
    const std::uint64_t cpu = os::cpu_ns_of(thread);
    const bool moved = cpu > m_owner_cpu + moved_on;
    m_owner_cpu = moved ? cpu : m_owner_cpu;
    if (!moved && !os::is_blocked(thread)) {
        return false; // the owner waits for a CPU, perhaps right after its push
    }
    // Blocked while it publishes: it has to wait for memory, say, which a thread without a CPU holds.
    return m_owner->current_activity.load(acq) != activity::publishing && !somebody_looks() &&
           still_there() && m_pool.idle().is_left_asleep(m_sleeper);
}

bool overdue_watch::somebody_looks() noexcept {
    for (unsigned i = 0; i < m_pool.size(); ++i) {
        const scheduler& w = m_pool.at(i);
        const bool rests = i == m_sleeper || (w.current_activity.load(acq) == activity::resting &&
                                              m_pool.idle().is_left_asleep(i));
        const bool inside = m_pool.idle().is_running(i) && w.current.load(rlx) != nullptr;
        if (!rests && !inside) {
            return true;
        }
    }
    return false;
}

void overdue_watch::report() noexcept {
    // Several sleepers may find this task at once: only one of them reports, and ends the process.
    static std::atomic<bool> told{false};
    if (told.exchange(true, rlx)) {
        for (std::atomic<std::uint32_t> nobody{0};;) {
            os::futex_wait(nobody, 0);
        }
    }
    const auto there = m_owner->deque.thief().look();
    write_dump(m_pool);
    char text[192];
    std::snprintf(
        text, sizeof text,
        "a ready task of worker %u (%lld shared, %lld private) lay there for %llu us while worker %u "
        "slept and nobody looked for work",
        m_owner->index, static_cast<long long>(there.shared), static_cast<long long>(there.own),
        static_cast<unsigned long long>(m_age / 1000), m_sleeper);
    check_failed(text);
}

overdue_watches::overdue_watches([[maybe_unused]] pool_core& p) {
    if constexpr (checked_build) {
        for (unsigned i = 0; i < p.size(); ++i) {
            m_watches.emplace_back(p, i);
        }
        p.add(*this);
    }
}

overdue_watches::~overdue_watches() = default;

void overdue_watches::plan_rest(scheduler& w, rest_plan& plan) noexcept {
    if (plan.retires || plan.has_work) {
        return;
    }
    overdue_watch& mine = m_watches[w.index];
    if (plan.begins) {
        mine.begin();
    }
    if (const std::uint64_t ns = mine.look(); ns != 0) {
        plan.limit_to(ns);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
