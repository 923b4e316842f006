#include "explore/recorder.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <system_error>

#include "search/recorded.hpp"
#include "task/own_child.hpp"
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

[[nodiscard]] std::string hexadecimal(std::uint64_t n) {
    char digits[17];
    return {digits, std::to_chars(digits, digits + sizeof digits, n, 16).ptr};
}

/// The identity of the calling task, if `r` records it.
[[nodiscard]] test_identity* identity_in(const recorder& r) noexcept {
    const worker* const w = this_worker();
    const activation* const a = w != nullptr && w->pool == r.pool() ? w->current.load(rlx) : nullptr;
    return a != nullptr ? &a->ctx->test : nullptr;
}

bool recorded_point(const char* what, const void*, bool changes) noexcept {
    recorder& r = *running_recorder.load(acq);
    test_identity* const self = identity_in(r);
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

recorder* recorder_of_task() noexcept {
    recorder* const r = running_recorder.load(acq);
    return r != nullptr && identity_in(*r) != nullptr ? r : nullptr;
}

void runs_child_itself(spark& child) noexcept {
    recorder* const r = recorder_of_task();
    if (r != nullptr && !identity_in(*r)->has_forked(child.test_origin())) {
        r->cannot_repeat("a child that another task has forked into the same scope");
    }
}

recorder::recorder(const std::string& file) {
    if (!file.empty()) {
        m_file.open(file, std::ios::trunc);
        if (!m_file) {
            throw std::system_error(errno, std::generic_category(), "pilfer: " + file);
        }
    }
    add(std::string(recording_begins));
}

recorder::~recorder() = default;

/// Written at once, so that the file has all that happened before a program dies.
void recorder::add(const std::string& line) {
    m_text += line;
    if (m_file.is_open()) {
        m_file << line << std::flush;
    }
}

std::uint32_t recorder::number_of(std::uint64_t task) {
    const auto [at, is_new] = m_tasks.try_emplace(task, static_cast<std::uint32_t>(m_tasks.size()));
    if (is_new) {
        add("t " + hexadecimal(task) + '\n');
    }
    return at->second;
}

void recorder::operation(std::uint64_t task, const char* what) noexcept {
    const std::lock_guard lock(m_words_lock);
    if (m_is_over) {
        return;
    }
    const auto [at, is_new] = m_words.try_emplace(what, static_cast<std::uint32_t>(m_words.size()));
    if (is_new) {
        add("w " + one_line(what) + '\n');
    }
    std::string line = std::to_string(number_of(task));
    line += ' ';
    line += std::to_string(at->second);
    line += '\n';
    add(line);
    if (m_text.size() > longest_recording) {
        add("n its length\ne\n");
        m_is_over = true;
    }
}

void recorder::begins(std::uint64_t task) noexcept {
    const std::lock_guard lock(m_words_lock);
    if (!m_is_over) {
        (void)number_of(task);
    }
}

void recorder::cannot_repeat(const char* why) noexcept {
    const std::lock_guard lock(m_words_lock);
    if (!m_is_over && m_reasons.insert(why).second) {
        add("n " + one_line(why) + '\n');
    }
}

void recorder::ends(std::string_view failure) noexcept {
    const std::lock_guard lock(m_words_lock);
    if (m_failure.empty()) {
        m_failure = failure;
    }
    if (!m_is_over) {
        const std::string first = first_line(failure);
        add(first.empty() ? "e\n" : "e " + first + '\n');
        m_is_over = true;
    }
    if (m_file.is_open() && !m_file) {
        os::write_error("pilfer: the file of a recording cannot be written\n");
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
