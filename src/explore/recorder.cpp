#include "explore/recorder.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <new>

#include "search/recorded.hpp"
#include "task/own_child.hpp"
#include "task/recorded_limit.hpp"
#include "worker/scheduler.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// A longer text is of no use to a person, and takes too long to repeat.
constexpr std::size_t longest_recording = std::size_t{64} << 20;

[[nodiscard]] std::string one_line(std::string_view text) {
    std::string line(text);
    std::replace(line.begin(), line.end(), '\n', ' ');
    return line;
}

/// A line of numbers, without memory.
class line_of_numbers {
public:
    line_of_numbers& text(std::string_view t) noexcept {
        m_end = std::copy(t.begin(), t.end(), m_end);
        return *this;
    }
    line_of_numbers& number(std::uint64_t n, int base = 10) noexcept {
        m_end = std::to_chars(m_end, m_line.data() + m_line.size(), n, base).ptr;
        return *this;
    }
    [[nodiscard]] std::string_view all() const noexcept {
        return {m_line.data(), static_cast<std::size_t>(m_end - m_line.data())};
    }

private:
    std::array<char, 64> m_line; // NOLINT(cppcoreguidelines-pro-type-member-init): filled up to m_end
    char* m_end = m_line.data();
};

/// The identity of the calling task, if `r` records it.
[[nodiscard]] test_identity* identity_in(const recorder& r) noexcept {
    const worker* const w = this_worker();
    const activation* const a = w != nullptr && w->pool == r.pool() ? w->current.load(rlx) : nullptr;
    return a != nullptr ? &a->ctx->test : nullptr;
}

bool recorded_point(const char* what, const void*, bool changes) noexcept {
    recorder& r = *running_recorder.load(acq);
    test_identity* const self = r.is_of_this_process() ? identity_in(r) : nullptr;
    if (self == nullptr) {
        if (changes) {
            r.cannot_repeat("an operation of a thread that is no worker of the recorded pool");
        }
        return false;
    }
    if (self->steps() == 0) {
        r.lock();
    }
    self->set_steps(self->steps() + 1);
    r.operation(self->name(), what);
    return true;
}

void recorded_end() noexcept {
    recorder& r = *running_recorder.load(acq);
    test_identity* const self = identity_in(r);
    self->set_steps(self->steps() - 1);
    if (self->steps() == 0) {
        r.unlock();
    }
}

void cannot_repeat_task(const char* why) noexcept { running_recorder.load(acq)->cannot_repeat(why); }

bool no_fault(fault_kind, const char*, const void*) noexcept { return false; }

bool no_wait(const void*) noexcept { return false; }

void no_notice(const void*, bool) noexcept {}

} // namespace

std::atomic<recorder*> running_recorder{nullptr};

const test_hooks recording_hooks{&recorded_point, &recorded_end, &cannot_repeat_task, &no_fault, &no_wait,
                                 &no_notice,      true};

/// After the recording another pool may have the address of its pool.
recorder* recorder_of_task() noexcept {
    recorder* const r = test_points.load(rlx) == &recording_hooks ? running_recorder.load(acq) : nullptr;
    return r != nullptr && identity_in(*r) != nullptr ? r : nullptr;
}

bool may_run_child_itself(spark& child) noexcept {
    const test_identity* const self = recorded_task();
    return self == nullptr || self->has_just_forked(child.test_origin());
}

namespace {

/// The recording of that pool; null: there is none.
[[nodiscard]] recorder* recorder_of(const pool_core* p) noexcept {
    recorder* const r = test_points.load(rlx) == &recording_hooks ? running_recorder.load(acq) : nullptr;
    return r != nullptr && r->pool() == p ? r : nullptr;
}

} // namespace

void periodic_timer_begins(const pool_core* p) noexcept {
    if (recorder* const r = recorder_of(p)) {
        r->periodic_timer_begins();
    }
}

void periodic_timer_ends(const pool_core* p) noexcept {
    if (recorder* const r = recorder_of(p)) {
        r->periodic_timer_ends();
    }
}

test_identity* recorded_task() noexcept {
    const recorder* const r = recorder_of_task();
    return r != nullptr && r->is_of_this_process() ? identity_in(*r) : nullptr;
}

test_identity* recorded_in_operation() noexcept {
    test_identity* const self = recorded_task();
    return self != nullptr && self->steps() != 0 ? self : nullptr;
}

/// The thread may have the lock itself: it looks after alarms while a task runs.
bool lock_operations(const std::atomic<bool>& has_left, bool& is_own) noexcept {
    recorder& r = *running_recorder.load(acq);
    is_own = recorded_in_operation() == nullptr;
    for (unsigned round = 0; is_own && !r.try_lock(); ++round) {
        if (has_left.load(acq)) {
            return false;
        }
        std_atom::relax(round);
    }
    return true;
}

void unlock_operations(const test_identity& task, bool is_own, const char* what) noexcept {
    recorder& r = *running_recorder.load(acq);
    if (what != nullptr) {
        r.operation(task.name(), what);
    }
    if (is_own) {
        r.unlock();
    }
}

recorder::recorder(const std::string& file, bool of_main) : m_text(file, longest_recording) {
    add(of_main ? recording_of_main_begins : recording_begins);
}

recorder::~recorder() = default;

/// A recording is no reason for a program to fail.
template <class F>
void recorder::locked(F f) noexcept {
    if (!is_of_this_process()) {
        return; // another thread of the parent may hold the lock
    }
    const std::lock_guard lock(m_words_lock);
    try {
        f();
    } catch (const std::bad_alloc&) {
        if (!m_is_over) {
            stop("n no memory for the rest of it\ne\n");
        }
    }
}

/// Does nothing after the end.
template <class F>
void recorder::record(F f) noexcept {
    locked([&] {
        if (!m_is_over) {
            f();
        }
    });
}

/// The last lines.
void recorder::stop(std::string_view last) noexcept {
    m_text.append_last(last);
    m_text.close();
    m_is_over = true;
}

void recorder::add(std::string_view line) {
    if (m_is_over || m_text.append(line)) {
        return;
    }
    const bool is_long = m_text.is_full(line.size());
    stop(is_long ? "n its length\ne\n" : "n no room in its file for the rest of it\ne\n");
}

std::uint32_t recorder::number_of(std::uint64_t task) {
    const auto [at, is_new] = m_tasks.try_emplace(task, static_cast<std::uint32_t>(m_tasks.size()));
    if (is_new) {
        add(line_of_numbers().text("t ").number(task, 16).text("\n").all());
    }
    return at->second;
}

void recorder::operation(std::uint64_t task, const char* what) noexcept {
    record([&] {
        const auto [at, is_new] = m_words.try_emplace(what, static_cast<std::uint32_t>(m_words.size()));
        if (is_new) {
            add("w " + one_line(what) + '\n');
        }
        const std::uint32_t self = number_of(task);
        add(line_of_numbers().number(self).text(" ").number(at->second).text("\n").all());
    });
}

void recorder::begins(std::uint64_t task) noexcept {
    record([&] { (void)number_of(task); });
}

void recorder::cannot_repeat(const char* why) noexcept {
    record([&] {
        if (m_reasons.insert(why).second) {
            add("n " + one_line(why) + '\n');
        }
    });
}

bool recorder::has_reasons() noexcept {
    const std::lock_guard lock(m_words_lock);
    return !m_reasons.empty();
}

void recorder::ends(std::string_view failure) noexcept {
    locked([&] {
        const bool is_first = !m_has_failed && !failure.empty();
        m_has_failed |= is_first;
        if (!m_is_over) {
            const std::string first = first_line(failure);
            add(first.empty() ? "e\n" : "e " + first + '\n');
            stop("");
        }
        if (is_first) {
            m_failure = failure;
        }
    });
}

void recorder::is_cut() noexcept {
    record([&] { stop(""); });
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
