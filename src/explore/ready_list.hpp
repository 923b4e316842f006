// All that can run next in a pool that explores.
#pragma once

#if defined(PILFER_TEST)

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "worker/scheduler.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Something that can run next.
struct ready {
    std::uint32_t number; ///< The task's.
    task_word task;       ///< 0: `frame` resumes.
    suspension* frame;
    const context* by;        ///< On which it was announced; null: a submission.
    std::uint64_t owes = 0;   ///< It runs after all entries with smaller numbers than this.
    std::uint64_t joined = 0; ///< The number of the entry.
    /// It is about to do this, and waits until it is its turn in a recording. Null: it goes on at any time.
    const char* held_at = nullptr;
};

/// The oldest first. The worker's thread only.
class ready_list {
public:
    void clear() noexcept;
    void add(ready r);
    [[nodiscard]] ready take(std::size_t place);
    /// Takes out what `by` has announced. False: it is not there.
    [[nodiscard]] bool take_back(task_word task, const context* by);
    [[nodiscard]] bool has(task_word task, const context* by) const noexcept;
    [[nodiscard]] std::size_t size() const noexcept { return m_all.size(); }
    [[nodiscard]] bool empty() const noexcept { return m_all.empty(); }
    [[nodiscard]] const ready& operator[](std::size_t place) const noexcept { return m_all[place]; }
    /// True if there is an entry with a smaller number.
    [[nodiscard]] bool has_older(std::uint64_t number) const noexcept {
        return !m_all.empty() && m_all.front().joined < number;
    }
    /// False: it owes others their turn. The oldest entry owes none, because only older entries have one
    /// before it.
    [[nodiscard]] bool has_turn(std::size_t place) const noexcept {
        return m_all[place].owes == 0 || !has_older(m_all[place].owes);
    }
    /// The task yields. Returns what it owes: the number after the newest entry at its yield before this one.
    [[nodiscard]] std::uint64_t yields(std::uint32_t task);

private:
    std::vector<ready> m_all;
    std::uint64_t m_joined = 0;           // the newest number of an entry
    std::vector<std::uint64_t> m_yielded; // by task: one more than m_joined at its last yield
};

/// What threads outside the pool have made ready.
class ready_outside {
public:
    void add(ready r);
    [[nodiscard]] std::vector<ready> take_all();

private:
    std::mutex m_mutex;
    std::vector<ready> m_all; // under the mutex
    std::atomic<bool> m_any{false};
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
