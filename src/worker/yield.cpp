// Checks for work that waits for a worker, and lets it run before the running task.
#include <thread>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

bool scheduler::anything_queued(priority lowest) noexcept {
    // Submissions before runnable contexts: a worker that yields pushes its context and takes a submission
    // afterwards, so one of the two is seen.
    return !m_inbox.empty() || !m_team.submissions.empty_from(lowest) || !m_team.runnable.empty();
}

bool scheduler::anything_ready() noexcept {
    if (m_team.stopping() || anything_queued()) {
        return true;
    }
    for (unsigned k = 0; k < m_team.size(); ++k) {
        if (m_team.at((index + k) % m_team.size()).deque.thief().has_any()) {
            return true;
        }
    }
    return false;
}

/// True if a deque whose owner is gone holds a task. A frame elsewhere may wait for that task, and busy
/// workers do not steal.
bool scheduler::anything_left() noexcept {
    const auto look = [this] {
        for (unsigned i = 0; i < m_team.size(); ++i) {
            if (m_team.has_left(i) && m_team.at(i).deque.thief().has_any()) {
                return true;
            }
        }
        return false;
    };
    return m_team.left_tasks.look_for(look, [this] { m_team.wakes.notify_any(); });
}

void scheduler::forward_inbox() noexcept {
    for (unsigned round = 0; !m_inbox.empty(); ++round) {
        if (auto* n = m_inbox.pop()) {
            m_team.runnable.push(n);
            m_team.wakes.notify_any();
        } else {
            std_atom::relax(round);
        }
    }
}

/// Queues the running context after all other work that waits for this worker.
void scheduler::yield_here() noexcept {
    suspension s;
    s.publish = [](suspension& self) noexcept {
        scheduler::of(self.home).crew().wakes.requeue(&self);
        return true;
    };
    log.note(trace::what::yield);
    m_submissions_first = true;
    m_yielded_for = static_cast<priority>(m_level);
    switching.suspend_here(s);
}

void scheduler::let_others_first() noexcept {
    if (m_team.is_forked_child()) {
        std::this_thread::yield(); // the frame cannot leave its stack, nor anything run on top of it
        return;
    }
    m_own_first = true;
    yield_here();
}

void scheduler::go_to(unsigned there) noexcept {
    struct going : suspension {
        unsigned there;
    };
    going s;
    s.there = there;
    s.publish = [](suspension& self) noexcept {
        scheduler::of(self.home).crew().wakes.send_to(&self, static_cast<going&>(self).there);
        return true;
    };
    switching.suspend_here(s);
}

void scheduler::go_elsewhere() noexcept {
    suspension s;
    s.publish = [](suspension& self) noexcept {
        scheduler::of(self.home).crew().wakes.send_elsewhere(&self, self.home->index);
        return true;
    };
    switching.suspend_here(s);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
