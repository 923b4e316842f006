// Checks for work that waits for a worker, and lets it run before the running task.
#include <thread>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct handing_on : suspension {
    pool_core* pool;
};

struct travelling : handing_on {
    unsigned to;
};

} // namespace

bool scheduler::anything_queued(priority lowest) noexcept {
    // Submissions before runnable contexts: a worker that yields pushes its context and takes a submission
    // afterwards, so one of the two is seen.
    return !m_inbox.empty() || !m_pool.submissions.empty_from(lowest) || !m_pool.runnable.empty();
}

bool scheduler::anything_ready() noexcept {
    if (m_pool.stopping() || anything_queued()) {
        return true;
    }
    for (unsigned k = 0; k < m_pool.size(); ++k) {
        if (m_pool.at((index + k) % m_pool.size()).deque.thief().has_any()) {
            return true;
        }
    }
    return false;
}

/// Queues the running context after all other work that waits for this worker.
void scheduler::yield_here() noexcept {
    handing_on s;
    s.pool = &m_pool;
    s.publish = [](suspension& self) noexcept {
        static_cast<handing_on&>(self).pool->requeue(&self);
        return true;
    };
    log.note(trace::what::yield);
    m_submissions_first = true;
    m_yielded_for = static_cast<priority>(m_level);
    switching.suspend_here(s);
}

void scheduler::let_others_first() noexcept {
    if (m_pool.is_forked_child()) {
        std::this_thread::yield(); // the frame cannot leave its stack, nor anything run on top of it
        return;
    }
    m_own_first = true;
    yield_here();
}

void scheduler::go_elsewhere() noexcept {
    handing_on s;
    s.pool = &m_pool;
    s.publish = [](suspension& self) noexcept {
        static_cast<handing_on&>(self).pool->send_elsewhere(&self, self.home->index);
        return true;
    };
    switching.suspend_here(s);
}

void scheduler::go_to(unsigned number) noexcept {
    travelling s;
    s.pool = &m_pool;
    s.to = number;
    s.publish = [](suspension& self) noexcept {
        auto& frame = static_cast<travelling&>(self);
        frame.pool->send_to(&frame, frame.to);
        return true;
    };
    switching.suspend_here(s);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
