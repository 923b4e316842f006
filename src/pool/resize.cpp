// More and fewer workers while a pool runs. Protocol: README.md, "Fewer workers, and more".
#include <algorithm>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <pilfer/error.hpp>

#include "base/cpus.hpp"
#include "base/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

// ---- the pool ---------------------------------------------------------------------------------

unsigned pool_core::resize(unsigned n) {
    check_here();
    if (n < 1 || n > m_options.max_workers) {
        throw std::invalid_argument("pilfer: a pool is resized to 1 to " +
                                    std::to_string(m_options.max_workers) +
                                    " workers (options.max_workers), not to " + std::to_string(n));
    }
    if (is_closed()) {
        throw pool_closed();
    }
    const std::lock_guard lock(m_resize_mutex);
    m_wanted.store(n, rlx);
    follow_limits();
    return active();
}

void pool_core::grant(unsigned n) noexcept {
    const std::lock_guard lock(m_resize_mutex);
    m_granted = std::max(n, 1U);
    follow_limits();
}

/// Called before the workers' threads are made, because they read m_governor. The governor's own thread
/// starts after them.
void pool_core::make_governor(const char* advice_file, unsigned workers_asked) {
    pool_governor::sources from;
    from.measures = m_options.governor == governing::on;
    // PILFER_WORKERS is read once: getenv() must not run concurrently with the program's setenv().
    from.follows_quota =
        from.measures && workers_asked == 0 && !os::workers_from(std::getenv("PILFER_WORKERS"));
    from.advice = m_options.advice;
    from.advice_file = advice_file != nullptr ? advice_file : "";
    if (!m_backend->can_resize() || !(from.measures || from.advice || !from.advice_file.empty())) {
        m_options.governor = governing::off;
        return;
    }
    m_follows_quota = from.follows_quota;
    m_governor = std::make_unique<pool_governor>(*this, std::move(from));
}

/// Under the mutex.
void pool_core::follow_limits() noexcept {
    if (!m_backend->can_resize() || m_resized_no_more) {
        return;
    }
    const unsigned wanted = std::min(m_wanted.load(rlx), m_granted);
    // One try for each, as in start_threads().
    for (unsigned tries = m_threads; tries < wanted; ++tries) {
        m_idle->seat_empty(m_threads, false);
        if (start_thread(m_threads) != 0) {
            m_idle->seat_empty(m_threads, true);
        } else {
            ++m_threads;
        }
    }
    const unsigned now = std::min(wanted, m_threads);
    const unsigned before = m_active.exchange(now, rlx);
    m_oversubscribed.store(now > m_cpus, rlx);
    std_atom::fence_sc(); // idle.S7: the new count is published before the looks at retired workers
    for (unsigned i = before; i < now; ++i) {
        (void)m_idle->unpark(i);
    }
    for (unsigned i = now; i < std::max(before, now); ++i) {
        // A sleeping worker wakes and retires. A busy worker yields at one of its next announcements.
        if (!m_idle->wake(i, i)) {
            at(i).deque.signal().set(signal_word<std_atom>::yield_request);
        }
    }
}

// ---- the worker -------------------------------------------------------------------------------

bool scheduler::retires() const noexcept { return m_pool.is_retired(index); }

/// Resumes a context that must run on this worker.
bool scheduler::resume_here() noexcept {
    auto* n = m_inbox.pop();
    if (n == nullptr) {
        return false;
    }
    resume_found(n, trace::what::resume_here);
    return true;
}

/// True if a deque whose owner is gone holds a task. A frame elsewhere may wait for that task, and busy
/// workers do not steal.
bool scheduler::anything_left() noexcept {
    const auto look = [this] {
        for (unsigned i = 0; i < m_pool.size(); ++i) {
            if (m_pool.has_left(i) && m_pool.at(i).deque.thief().has_any()) {
                return true;
            }
        }
        return false;
    };
    return m_pool.left_tasks.look_for(look, [this] { m_pool.notify_any(); });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
