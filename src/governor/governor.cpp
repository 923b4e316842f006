#include "governor/governor.hpp"

#include <algorithm>
#include <cstdio>

#include "backend/helping.hpp"
#include "platform/cpus.hpp"
#include "platform/os.hpp"
#include "platform/pressure.hpp"
#include "pool/figures.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

bool pool_governor::start() noexcept {
    const auto entry = [](void* self) -> void* {
        static_cast<pool_governor*>(self)->run();
        return nullptr;
    };
    return os::thread_start(m_thread, entry, this) == 0;
}

void pool_governor::stop() noexcept {
    if (m_thread == 0) {
        return;
    }
    m_stop.store(1, rel);
    std_atom::fence_sc(); // before m_rests is read
    os::futex_wake(&m_stop, 1);
    m_rests.store(0, rlx);
    os::futex_wake(&m_rests, 1);
    os::thread_join(m_thread);
    m_thread = 0;
}

void pool_governor::work_begins(scheduler& /*w*/) noexcept {
    std_atom::fence_sc(); // governor.G1: the worker is awake before it reads m_rests
    if (m_rests.load(rlx) != 0) {
        m_rests.store(0, rlx);
        os::futex_wake(&m_rests, 1);
    }
}

void pool_governor::run() noexcept {
    const std::string& given = m_pool.settings().name;
    char name[16]; // cut
    std::snprintf(name, sizeof name, "%s/governor", given.empty() ? "pilfer" : given.c_str());
    os::thread_name(name);
    while (m_stop.load(acq) == 0) {
        m_rests.store(1, rlx);
        std_atom::fence_sc(); // governor.G1: m_rests is set before the workers are read
        if (everybody_rests(m_pool) && m_stop.load(acq) == 0) {
            os::futex_wait(m_rests, 1);
            m_last = 0; // the workers' waits during the rest do not belong to an interval of work
        }
        m_rests.store(0, rlx);
        if (m_last == 0) {
            see(os::now_ns());
        }
        os::futex_wait_for(m_stop, 0, each);
        if (m_stop.load(acq) != 0) {
            return;
        }
        try {
            look(os::now_ns());
        } catch (...) {
            // No memory for a file's name, or advice that throws: nothing changes.
        }
    }
}

/// The smallest limit of all sources except the rule.
unsigned pool_governor::most() const {
    unsigned n = UINT32_MAX;
    if (m_from.follows_quota) {
        n = os::granted_cpus();
    }
    if (m_from.advice) {
        // The end of the pool joins this thread. So the user's function must not shut the pool down.
        const helping here(m_pool);
        if (const unsigned advised = m_from.advice(); advised != 0) {
            n = std::min(n, advised);
        }
    }
    if (!m_from.advice_file.empty()) {
        if (const auto advised = os::number_in(m_from.advice_file); advised && *advised != 0) {
            n = std::min(n, *advised);
        }
    }
    return std::max(n, 1U);
}

/// Nanoseconds that the first `active` workers have waited for CPUs since the last look.
std::uint64_t pool_governor::waited_since(unsigned active) {
    m_seen.resize(m_pool.size());
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < active; ++i) {
        const std::uint64_t thread = m_pool.at(i).thread_id.load(rlx);
        const auto waited = thread != 0 ? os::waited_ns(m_from.root, thread) : std::nullopt;
        if (!waited) {
            continue;
        }
        if (m_seen[i].thread == thread && *waited > m_seen[i].waited) {
            sum += *waited - m_seen[i].waited;
        }
        m_seen[i] = {thread, *waited};
    }
    return sum;
}

/// Begins an interval: reads all counters as they are now.
void pool_governor::see(std::uint64_t now) noexcept {
    if (!m_from.measures) {
        return;
    }
    try {
        (void)waited_since(m_pool.active());
        m_stalled = os::stalled_ns(m_from.root);
        m_last = now;
    } catch (...) {
        m_last = 0; // no memory: the next look begins an interval
    }
}

void pool_governor::look(std::uint64_t now) {
    const unsigned active = m_pool.active();
    const unsigned wanted = m_pool.threads.wanted();
    const unsigned all = std::min(most(), wanted);
    unsigned granted = all;
    if (m_from.measures) {
        if (m_last == 0 || now <= m_last) {
            see(now);
            return;
        }
        governor::interval i{};
        i.ns = now - m_last;
        // While this thread had no CPU, time counts as work, but not as a long calm.
        i.calm_ns = std::min(i.ns, 2 * each);
        i.active = active;
        i.wanted = all;
        i.waited_ns = waited_since(active);
        const auto stalled = os::stalled_ns(m_from.root);
        if (stalled && m_stalled && *stalled >= *m_stalled) {
            i.stalled = static_cast<double>(*stalled - *m_stalled) / static_cast<double>(i.ns);
        }
        m_stalled = stalled;
        m_last = now;
        granted = m_rule.next(i);
    }
    // A pool that is granted all wanted workers is not limited: a resize() need not wait for the next look.
    const unsigned limit = granted >= wanted ? no_limit : granted;
    if (granted != active || limit != m_limit) {
        m_limit = limit;
        m_pool.threads.grant(limit);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
