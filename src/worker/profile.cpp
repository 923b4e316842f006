// A pool that records: how its one worker leaves every task to its scheduler, and what is written at the end.
//
// Its deque is pinned, so every push comes to announce_signalled() and every pop to reclaim_slow(). The
// latter answers that the task is gone and leaves it where it is: the scheduler takes it, newest first, which
// is the serial order, and it is run as a stolen one is. So its begin, its end, its parent's wait and return
// are all seen, in functions that are slow anyway.
#include <ostream>
#include <string>

#include <pilfer/profile.hpp>

#include "worker/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

bool scheduler::announce_recorded(task_word task, way may) noexcept {
    m_recorder->pause();
    const bool announced = signalled(task, may);
    // It asks loops to come and ask (attend_recorded); taken by every announcement.
    deque.signal().set(signal_word<std_atom>::yield_request);
    if (!announced) {
        m_recorder->go_on();
    } else if ((task & kind_mask) == kind_continuation) {
        m_recorder->spawned(task);
    } else {
        m_recorder->forked(task & ~kind_mask);
    }
    return announced;
}

/// Nobody else is there to want a part of a loop. So that it is split as for others that always do, but not
/// into less than a piece, this stands for their request.
void scheduler::attend_recorded() noexcept {
    using trip = signal_word<std_atom>;
    m_recorder->pause();
    attend();
    deque.signal().set(m_recorder->may_split() ? trip::yield_request | trip::expose : trip::yield_request);
}

worker* scheduler::leave_to_scheduler() noexcept {
    m_recorder->pause();
    const task_word got = deque.owner().pop_slow(1);
    // The caller has lowered the bottom. There was room for it a moment ago, and nobody sleeps.
    if (got != 0) {
        (void)deque.owner().push(got);
    }
    return nullptr;
}

void scheduler::record_begin(task_word task) noexcept {
    if (m_recorder != nullptr) [[unlikely]] {
        const bool rest = (task & kind_mask) == kind_continuation;
        deque.signal().set(signal_word<std_atom>::yield_request);
        m_recorder->begun(rest ? task : task & ~kind_mask);
    }
}

void scheduler::record_end() noexcept {
    if (m_recorder != nullptr) [[unlikely]] {
        m_recorder->ended();
    }
}

profile::recorder::task* scheduler::record_leave() noexcept {
    return m_recorder != nullptr ? m_recorder->leave() : nullptr;
}

void scheduler::record_enter(profile::recorder::task* t) noexcept {
    if (m_recorder != nullptr) [[unlikely]] {
        deque.signal().set(signal_word<std_atom>::yield_request);
        m_recorder->enter(t);
    }
}

void pool_core::write_profile(std::ostream& out) const {
    const work_span f = m_recorder->figures();
    const auto number = [&out](const char* name, std::uint64_t n) {
        out << std::string("  \"") + name + "\": " + std::to_string(n) + ",\n"; // no locale
    };
    out << "{\n  \"format\": \"pilfer-profile 1\",\n";
    number("workers_asked", m_workers_asked);
    number("work_ns", f.work_ns);
    number("span_ns", f.span_ns);
    number("burdened_span_ns", f.burdened_span_ns);
    number("theft_ns", f.theft_ns);
    number("resume_ns", f.resume_ns);
    number("tasks", f.tasks);
    number("span_tasks", f.span_tasks);
    number("strands", f.strands);
    number("span_strands", f.span_strands);
    out << "  \"complete\": " << (f.complete ? "true" : "false") << "\n}\n";
}

} // namespace detail
} // namespace v0
} // namespace pilfer
