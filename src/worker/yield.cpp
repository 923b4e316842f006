// Frames that leave their worker to other work, or go to another worker.
#include <pilfer/yield.hpp>

#include <thread>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

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
void yield() noexcept {
    if (detail::worker* w = detail::this_worker()) {
        detail::backend_of(w).yield(*static_cast<detail::scheduler*>(w));
    } else {
        std::this_thread::yield();
    }
}

} // namespace v0
} // namespace pilfer
