// The checked build looks for a ready task that grows old while a worker sleeps.
//
// The sleeper looks, because it has nothing else to do: its sleep gets a time limit. hidden.hpp makes this
// check from outside, in any build.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>

#include "task/service.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;

/// Nanoseconds. A late look counts for at most this long. If the looking thread had no CPU, other threads
/// probably had none either.
inline constexpr std::uint64_t most_of_a_look = 1'500'000;

/// One per sleep. Watches the oldest task of another worker while this worker sleeps. Aborts with a report if
/// the task stays in its deque for more than 10 ms of counted time.
///
/// The wake-up protocol of src/idle may be late if a thread has to wait for a CPU. So time counts only if:
/// 1. Every other worker is inside a task, or rests. A searching worker may find the task, and wakes others.
/// 2. The owner of the deque has finished its push: it has used a CPU since, or is blocked inside its task.
///
/// On an overloaded machine the time stands still. Pools that lack stacks are exempt: their tasks wait for
/// stacks.
class overdue_watch {
public:
    overdue_watch(pool_core& pool, unsigned sleeper) noexcept : m_pool(pool), m_sleeper(sleeper) {}

    /// A sleep begins.
    void begin() noexcept {
        m_owner = nullptr;
        m_last = 0;
        m_interval = 0;
    }
    /// Called by the sleeper before it rests, and whenever its sleep ends without a wake-up. Returns the
    /// nanoseconds until the next call; 0: no further call. Cost: a few loads for each worker, plus some
    /// system calls while a task looks forgotten.
    [[nodiscard]] std::uint64_t look() noexcept;

private:
    [[nodiscard]] bool found_something() noexcept;
    [[nodiscard]] bool still_there() noexcept;
    [[nodiscard]] bool counts() noexcept;
    [[nodiscard]] bool somebody_looks() noexcept;
    [[noreturn]] void report() noexcept;

    pool_core& m_pool;
    const unsigned m_sleeper;
    scheduler* m_owner = nullptr; // owner of the watched task; null: no task is watched
    std::int64_t m_oldest = 0;
    std::uint64_t m_owner_cpu = 0; // nanoseconds
    std::uint64_t m_last = 0;      // the time of the last look
    std::uint64_t m_age = 0;       // nanoseconds that count
    std::uint64_t m_interval = 0;  // nanoseconds until the next look
};

/// One per pool: an overdue_watch for each sleep.
class overdue_watches final : public service {
public:
    /// Only a checked build looks.
    explicit overdue_watches(pool_core& p);
    ~overdue_watches();
    void plan_rest(scheduler& w, rest_plan& plan) noexcept override;

private:
    std::vector<overdue_watch> m_watches; // by worker
};

} // namespace detail
} // namespace v0
} // namespace pilfer
