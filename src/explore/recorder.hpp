// The recording of one run on several workers: its text grows as tasks begin and operations happen.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/base/test_point.hpp>

#include "base/forks.hpp"
#include "platform/mapped_text.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;

class recorder {
public:
    /// `file`: the text is written there, too, as it grows; empty: nowhere. `of_main`: a whole program is
    /// recorded. Throws std::system_error and std::bad_alloc.
    recorder(const std::string& file, bool of_main);
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;
    ~recorder();

    /// Of these tasks alone.
    [[nodiscard]] const pool_core* pool() const noexcept { return m_pool.load(rlx); }
    void records(const pool_core& p) noexcept { m_pool.store(&p, rlx); } // only compared
    /// False in a child of fork(): the text is the parent's.
    [[nodiscard]] bool is_of_this_process() const noexcept { return m_process == forks::this_process(); }

    // ---- The lock of all operations, held from the begin of one to its end, or until its task waits. The
    // thread that holds it may leave the stack of the task meanwhile.
    void lock() noexcept { m_order.lock(); }
    [[nodiscard]] bool try_lock() noexcept { return m_order.try_lock(); }
    void unlock() noexcept { m_order.unlock(); }

    /// Each `every` of the pool begins once and ends once.
    void periodic_timer_begins() noexcept { m_periodic.fetch_add(1, rlx); }
    void periodic_timer_ends() noexcept { m_periodic.fetch_sub(1, rlx); }
    /// True if one has not ended. While no task of the pool runs: they begin and end there.
    [[nodiscard]] bool has_periodic_timers() const noexcept { return m_periodic.load(rlx) != 0; }

    // ---- Any thread. Without memory or room for a line the recording ends, and says so. The program goes
    // on.
    /// Under the lock.
    void operation(std::uint64_t task, const char* what) noexcept;
    void begins(std::uint64_t task) noexcept;
    void cannot_repeat(const char* why) noexcept;
    /// Nothing is recorded after the first call. `failure`: empty if the run has passed; the first one
    /// counts.
    void ends(std::string_view failure) noexcept;
    /// The program ends before its tasks do, so the text has no end.
    void is_cut() noexcept;
    /// True if a reason has been given why the recording cannot be repeated.
    [[nodiscard]] bool has_reasons() noexcept;

    /// After the end.
    [[nodiscard]] std::string_view text() const noexcept { return m_text.text(); }
    [[nodiscard]] bool has_failed() const noexcept { return m_has_failed; }
    /// Its text. Empty also if there was no memory for one.
    [[nodiscard]] const std::string& failure() const noexcept { return m_failure; }

private:
    using lock_of_words = raw_lock<std_atom, futex_park>;
    template <class F>
    void locked(F f) noexcept;
    template <class F>
    void record(F f) noexcept;
    void add(std::string_view line);
    void stop(std::string_view last) noexcept;
    [[nodiscard]] std::uint32_t number_of(std::uint64_t task);

    lock_of_words m_order;
    lock_of_words m_words_lock; // of what follows; held for a line
    std::atomic<const pool_core*> m_pool{nullptr};
    std::atomic<std::uint64_t> m_periodic{0};
    const std::uint64_t m_process = forks::this_process();
    os::mapped_text m_text;
    bool m_is_over = false;
    bool m_has_failed = false;
    std::string m_failure;
    std::unordered_map<std::uint64_t, std::uint32_t> m_tasks;
    std::unordered_map<const char*, std::uint32_t> m_words;
    std::unordered_set<std::string> m_reasons;
};

/// The recording of this process; null: there is none.
extern std::atomic<recorder*> running_recorder;
/// What places of a program call while it is recorded.
extern const test_hooks recording_hooks;
/// The recording that has the calling task; null: there is none.
[[nodiscard]] recorder* recorder_of_task() noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
