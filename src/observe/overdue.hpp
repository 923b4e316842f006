// The checked build looks whether a ready task grows old beside a worker that sleeps.
//
// The sleeper looks, because it has nothing else to do: its sleep gets a time limit. ../observe/hidden.hpp
// asks the same from outside, of any build.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;

/// Where a worker stands that neither looks for work nor is simply inside a task. Written by its own thread,
/// in the checked build only.
enum class activity : unsigned char {
    other,
    publishing, ///< between a push and what it owes to sleepers
    resting,    ///< asleep, and its last scan is over
};

/// `where` is `what` for as long as this lives.
class in_activity {
public:
    in_activity(std::atomic<activity>& where, activity what) noexcept : m_where(where) { change(what); }
    ~in_activity() { change(activity::other); }
    in_activity(const in_activity&) = delete;
    in_activity& operator=(const in_activity&) = delete;

private:
    void change([[maybe_unused]] activity to) noexcept {
        if constexpr (checked_build) {
            m_where.store(to, rel);
        }
    }
    std::atomic<activity>& m_where;
};

/// Nanoseconds. A look that comes late counts for no more than this: whoever kept the thread that looks from
/// a CPU kept others too.
inline constexpr std::uint64_t most_of_a_look = 1'500'000;

/// One per sleep. Aborts with the numbers if the oldest task of another worker has lain where it is for more
/// than 10 ms while this worker slept.
///
/// Time counts only while the promise of ../idle rests on nobody who may be waiting for a CPU: every other
/// worker is inside a task or rests (who looks for work may find it, and wakes others), and the owner of the
/// deque has left its push behind: it has used a CPU since, or is blocked inside its task. So a machine that
/// has more to do than CPUs stops the clock. Pools that lack stacks are left out: tasks wait for them.
class overdue_watch {
public:
    overdue_watch(pool_core& pool, unsigned sleeper) noexcept : m_pool(pool), m_sleeper(sleeper) {}

    /// By the sleeper, before it rests and whenever it comes back without having been woken. Returns after
    /// how many nanoseconds it has to look again; 0: not at all. Costs a few loads for each worker, and some
    /// 10 us of system calls while something looks forgotten.
    [[nodiscard]] std::uint64_t look() noexcept;

private:
    [[nodiscard]] bool found_something() noexcept;
    [[nodiscard]] bool still_there() noexcept;
    [[nodiscard]] bool counts() noexcept;
    [[nodiscard]] bool somebody_looks() noexcept;
    [[noreturn]] void report() noexcept;

    pool_core& m_pool;
    const unsigned m_sleeper;
    scheduler* m_owner = nullptr; // of the task that is watched; null: none is
    std::int64_t m_oldest = 0;
    std::uint64_t m_owner_cpu = 0; // nanoseconds
    std::uint64_t m_last = 0;      // when the last look was
    std::uint64_t m_age = 0;       // nanoseconds that count
    std::uint64_t m_interval = 0;  // nanoseconds until the next look
};

} // namespace detail
} // namespace v0
} // namespace pilfer
