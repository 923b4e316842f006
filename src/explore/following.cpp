// A schedule that is the order of a recording. Between two operations each task goes on as it can, because
// what it does there concerns no other task.
#include "explore/interleaving.hpp"

#if defined(PILFER_TEST)

#include <algorithm>

#include "task/recorded_limit.hpp"
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
    if (ends_limit(false)) {
        return false;
    }
    for (std::size_t i = 0; i < m_ready.size() && m_next == none; ++i) {
        if (may_run(m_ready[i])) {
            m_next = i;
        }
    }
    if (m_next != none) {
        return true;
    }
    m_alarms_beyond += has_followed_all() ? 1 : 0;
    if (m_alarms_beyond == most_alarms || (!fire_next_alarm() && !ends_limit(true))) {
        m_goes_beyond = has_followed_all();
        check_all_followed();
    }
    return false;
}

/// True if the next operation is this one, of the running task or of that one.
bool interleaving::expects(std::string_view what, std::uint64_t task) const noexcept {
    if (has_followed_all()) {
        return false;
    }
    const auto [number, word] = m_order->operations[m_followed];
    return m_order->tasks[number] == task && m_order->words[word] == what;
}

bool interleaving::time_is_over(bool is_over) noexcept {
    const std::uint64_t self = m_here->current.load(rlx)->ctx->test.name();
    if (!follows() || m_here->current.load(rlx)->ctx->test.steps() == 0) {
        return is_over;
    }
    if (has_followed_all()) {
        return is_over;
    }
    if (!expects(limit_is_over, self)) {
        return false;
    }
    ++m_followed;
    note(limit_is_over.data());
    return true;
}

bool interleaving::wait_as_recorded(limited_wait& wait) noexcept {
    const test_identity& self = m_here->current.load(rlx)->ctx->test;
    if (!follows() || has_followed_all() || self.steps() == 0) {
        return false;
    }
    {
        const bookkeeping now(*this);
        m_limits.push_back({self.name(), &wait});
    }
    wait.wait();
    std::erase_if(m_limits, [&](const limit& l) { return l.wait == &wait; });
    return true;
}

/// `any`: the recording has no more operations, and nothing else can run.
bool interleaving::ends_limit(bool any) noexcept {
    if (!follows()) {
        return false;
    }
    const auto at = std::find_if(m_limits.begin(), m_limits.end(), [&](const limit& l) {
        return any ? has_followed_all() : expects(limit_ends, l.task);
    });
    if (at == m_limits.end()) {
        return false;
    }
    limited_wait& wait = *at->wait;
    m_limits.erase(at);
    activation* const task = m_here->current.load(rlx);
    m_here->current.store(nullptr, rlx); // as fire_next_alarm()
    const bool mine = wait.withdraw();
    if (mine) {
        m_followed += any ? 0 : 1;
        note("ends a wait by its time limit", nullptr, 0, "", false);
        wait.resume();
    }
    m_here->current.store(task, rlx);
    return mine;
}

bool interleaving::begins_elsewhere(task_word task, const context* by) const noexcept {
    return follows() && (task & kind_mask) != kind_continuation && m_ready.has(task, by) &&
           !has_followed_all() && m_order->begun.contains(name_of(task));
}

spark* interleaving::take_own_child(scope_node* scope) noexcept {
    const test_identity& self = m_here->current.load(rlx)->ctx->test;
    for (std::size_t i = m_ready.size(); follows() && !has_followed_all() && i-- != 0;) {
        const task_word task = m_ready[i].task;
        auto* const child = reinterpret_cast<spark*>(task & ~kind_mask);
        if ((task & kind_mask) == kind_forked && child->parent() == scope &&
            self.has_forked(child->test_origin()) && !m_order->begun.contains(name_of(task))) {
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
