// What a scheduler does between two tasks, beside looking for one: whether more work waits, what its
// neighbours learn, and how a task begins.
#include "base/probe.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

// ---- what waits ---------------------------------------------------------------------------------

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

bool scheduler::retires() const noexcept { return m_team.is_retired(index); }

// ---- what others learn --------------------------------------------------------------------------

void scheduler::hand_on() noexcept {
    if (m_team.expects()) [[unlikely]] {
        m_team.watch().found_work(*this);
    }
    if (m_owes_notice) [[unlikely]] {
        m_owes_notice = false;
        if (!looking.has_token() && anything_queued()) {
            m_team.wakes.notify_any();
        }
    }
}

/// Called before a context is entered, which may never return. Queued work must not wait for it, unless it is
/// of a lower level: the worker gets a yield request. A worker that retires gets one too, because it is back
/// only for frames that can resume on no other worker.
void scheduler::remind(priority level) noexcept {
    if ((anything_queued(level) || m_team.left_tasks.any() ||
         (retires() && m_team.settings().resume == resume::anywhere)) &&
        !deque.signal().has(signal_word<std_atom>::yield_request)) {
        deque.signal().set(signal_word<std_atom>::yield_request);
    }
}

void scheduler::woke(unsigned i) noexcept {
    count.wakes.add();
    log.note(trace::what::wake, i);
    PILFER_PROBE2(wake, index, i);
}

void scheduler::stole(unsigned victim, std::int64_t tasks) noexcept {
    count.run_stolen.add();
    count.tasks_stolen.add(static_cast<std::uint64_t>(tasks));
    PILFER_PROBE3(steal, index, victim, tasks);
}

// ---- the task begins ----------------------------------------------------------------------------

void scheduler::note_begin_cold(scope_node* parent) noexcept {
    m_team.each_service([this, parent](service& one) { one.task_begins(*this, parent); });
}

void scheduler::execute(task_word task) noexcept {
    m_ends = m_ends + 1;
    if ((task & kind_mask) != kind_continuation) {
        switching.start(task);
        return;
    }
    auto* const s = reinterpret_cast<scope_node*>(task & ~kind_mask);
    remind(m_level);
    m_backend.task_begins(*this, task);
    switching.continue_rest(*s);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
