// A schedule that is the order of a recording. Between two operations each task goes on as it can, because
// what it does there concerns no other task.
#include "explore/interleaving.hpp"

#if defined(PILFER_TEST)

#include <algorithm>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// After so many alarms in a row tasks do more than the recording has: one of them may sleep until another
/// one does.
constexpr unsigned most_alarms = 1'000;

[[nodiscard]] bool is_word(std::string_view word, std::string_view what) noexcept {
    return std::equal(word.begin(), word.end(), what.begin(), what.end(),
                      [](char w, char c) { return w == (c == '\n' ? ' ' : c); });
}

[[nodiscard]] std::uint64_t name_of(task_word task) noexcept {
    return test_identity::name_of(reinterpret_cast<spark*>(task & ~kind_mask)->test_origin());
}

} // namespace

std::string interleaving::recorded_name(std::uint64_t task) const {
    const auto at = std::find(m_order->tasks.begin(), m_order->tasks.end(), task);
    return at == m_order->tasks.end() ? "a task that it does not have"
                                      : "task " + std::to_string(at - m_order->tasks.begin() + 1);
}

/// The next operation of the recording.
std::string interleaving::expected() const {
    return "operation " + std::to_string(m_followed + 1) + " of " +
           std::to_string(m_order->operations.size()) + " is \"" + m_order->text_of(m_followed) + '"';
}

void interleaving::does_not_fit(std::string why) {
    m_report.abandoned = true;
    fails(verdict::misfit, std::move(why));
}

void interleaving::follow(const char* what, const void* object) noexcept {
    const std::uint64_t self = m_here->current.load(rlx)->ctx->test.name();
    while (!has_followed_all()) {
        const auto [task, word] = m_order->operations[m_followed];
        if (m_order->tasks[task] != self) {
            preempt(none, 0, has_no_end() ? nullptr : what);
            continue;
        }
        if (is_word(m_order->words[word], what)) {
            ++m_followed;
            note(what, object);
            return;
        }
        {
            const bookkeeping now(*this);
            does_not_fit(expected() + ", and the task comes to \"" + what + '"');
        }
        preempt(none); // for good
    }
    if (m_order->has_ended && m_order->failure.empty()) {
        {
            const bookkeeping now(*this);
            does_not_fit("it ends here, and " + recorded_name(self) + " comes to \"" + what + '"');
        }
        preempt(none); // for good
    }
    // No task came to more operations before the recorded run failed or was cut, so what leads there comes
    // first.
    if (!m_goes_beyond) {
        preempt(none, 0, what);
    }
    note(what, object);
}

bool interleaving::may_run(const ready& r) const noexcept {
    if (has_followed_all()) {
        return r.held_at == nullptr || m_goes_beyond;
    }
    if (r.task != 0) {
        return (r.task & kind_mask) == kind_continuation || m_order->begun.contains(name_of(r.task));
    }
    return r.held_at == nullptr ||
           r.frame->act->ctx->test.name() == m_order->tasks[m_order->operations[m_followed].task];
}

/// False: an alarm has fired, or nothing can run before the next operation.
bool interleaving::finds_next_followed() noexcept {
    m_next = none;
    for (std::size_t i = 0; i < m_ready.size() && m_next == none; ++i) {
        if (may_run(m_ready[i])) {
            m_next = i;
        }
    }
    if (m_next != none) {
        return true;
    }
    m_alarms_beyond += has_followed_all() ? 1 : 0;
    if (m_alarms_beyond == most_alarms || !fire_next_alarm()) {
        m_goes_beyond = has_followed_all();
        check_all_followed();
    }
    return false;
}

bool interleaving::begins_elsewhere(task_word task, const context* by) const noexcept {
    return follows() && (task & kind_mask) != kind_continuation && m_ready.has(task, by) &&
           !has_followed_all() && m_order->begun.contains(name_of(task));
}

spark* interleaving::take_own_child(scope_node* scope) noexcept {
    for (std::size_t i = m_ready.size(); follows() && !has_followed_all() && i-- != 0;) {
        const task_word task = m_ready[i].task;
        auto* const child = reinterpret_cast<spark*>(task & ~kind_mask);
        if ((task & kind_mask) == kind_forked && child->parent() == scope &&
            !m_order->begun.contains(name_of(task))) {
            (void)m_ready.take(i);
            return child;
        }
    }
    return nullptr;
}

void interleaving::check_all_followed() {
    if (!follows() || has_followed_all() || m_report.how != verdict::passed) {
        return;
    }
    const bookkeeping now(*this);
    std::string why = expected() + ", and no task comes to it";
    for (std::size_t i = 0; i < m_ready.size(); ++i) {
        if (m_ready[i].held_at != nullptr) {
            why += "; " + recorded_name(m_ready[i].frame->act->ctx->test.name()) + " comes to \"" +
                   m_ready[i].held_at + '"';
        }
    }
    does_not_fit(std::move(why));
}

void interleaving::check_failed_too() {
    if (follows() && m_report.how == verdict::passed && !m_order->failure.empty()) {
        const bookkeeping now(*this);
        fails(verdict::misfit, "the recorded run has failed, and this one has not: " + m_order->failure);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
