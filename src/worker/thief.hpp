// The search of one worker for tasks in the deques of others.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include <pilfer/detail/base/time.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/options.hpp>

#include "balance/amount.hpp"
#include "balance/victim.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// The least time between two looks of steal_in_turn(). A forced exposure costs up to 10 us while other
/// threads run, as much as 64 of the smallest tasks.
inline constexpr instant between_turns = 250'000; // ns

/// Chooses victims, decides how much to take, and runs what it has taken. Each search returns true after a
/// stolen task has been run. On the thread's own stack, between two tasks.
class thief {
public:
    thief(scheduler& w, team& t, unsigned number);

    /// The pool has started: from now on it is known how many deques there are. `near`: workers that share
    /// something with this one.
    void pool_has_started(std::span<const balance::group> near) noexcept;
    /// Searches the deques of all other workers, for as long as a sleep and a wake-up take.
    [[nodiscard]] bool search() noexcept;
    /// Tries other workers in turn, even if this worker has work. See README.md, "Theft in turn".
    [[nodiscard]] bool steal_in_turn() noexcept;
    /// Steals from deques whose workers have retired.
    [[nodiscard]] bool steal_from_retired() noexcept;

private:
    [[nodiscard]] bool steal_from_all() noexcept;
    [[nodiscard]] bool try_steal(unsigned victim, bool reach) noexcept;
    [[nodiscard]] std::int64_t force_expose(unsigned victim, std::int64_t most) noexcept;
    [[nodiscard]] std::int64_t amount_of(unsigned victim) noexcept;
    [[nodiscard]] std::int64_t take_more(unsigned victim, std::int64_t more) noexcept;
    void run_theft(task_word task, unsigned victim, std::int64_t tasks) noexcept;
    void judge_last_theft() noexcept;

    scheduler& m_worker;
    team& m_team;
    balance::random m_random;
    balance::chooser m_chooser;
    balance::steal_batch m_batch;
    std::optional<std::int64_t> m_mark; // the slot of the last theft's first announcement: adaptive only
    instant m_last_in_turn = 0;         // the last look of steal_in_turn()
    unsigned m_next_in_turn = 0;        // the worker that the next one tries first
};

} // namespace detail
} // namespace v0
} // namespace pilfer
