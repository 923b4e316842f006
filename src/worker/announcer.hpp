// The owner's side of a worker's deque: the cold half of announcing a task and reclaiming it.
#pragma once

#include <cstdint>

#include <pilfer/detail/deque/deque.hpp>
#include <pilfer/detail/task/worker.hpp>

#include "balance/exposure.hpp"
#include "trace/tally.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// A worker with a yield request may announce this many tasks before it yields.
inline constexpr unsigned yield_patience = 64;

/// Makes room, exposes tasks, answers thieves and yields, by the policy of the pool. Called on the thread of
/// its worker, by the scheduler and by tasks.
class announcer {
public:
    announcer(scheduler& w, team& t) noexcept;

    // ---- the calls of templates: see task/backend.hpp
    [[nodiscard]] bool signalled(task_word task, way may) noexcept;
    [[nodiscard]] bool announce_weighted(task_word task, std::uint64_t weight, way may) noexcept;
    void attend() noexcept;
    [[nodiscard]] worker* reclaim_slow(task_word task) noexcept;

    /// Pushes a stolen task after the first one of a theft: published, but not counted. The deque has room.
    void insert(task_word task, std::uint64_t weight) noexcept;
    /// Pops the newest private task if it is a spark, and returns 0 otherwise. The caller announces it again,
    /// or it is over.
    [[nodiscard]] task_word take_newest_spark() noexcept;
    /// Answers thieves between two tasks. Does not yield to queued work.
    void share_between_tasks() noexcept;
    /// The oldest `n` private tasks become stealable.
    void expose(std::uint64_t n) noexcept;
    [[nodiscard]] scales<std_atom> load_now() noexcept;

private:
    using word = signal_word<std_atom>::word;

    [[nodiscard]] bool follow_push(task_word task, way may) noexcept;
    [[nodiscard]] word after_push() noexcept;
    [[nodiscard]] bool push_weighted(task_word task, std::uint64_t weight) noexcept;
    [[nodiscard]] word take_bits() noexcept;
    void keep_yield_requests(word bits) noexcept;
    void answer(word bits) noexcept;
    void expose_some() noexcept;
    void yield_to_queued() noexcept;
    [[nodiscard]] bool has_others_to_run() noexcept;
    [[nodiscard]] bool yield_after_announcing(task_word task) noexcept;

    scheduler& m_worker;
    team& m_team;
    balance::exposer m_exposer; // by all contexts of this thread: see after_push()
    own_word<unsigned> m_last_woken{UINT32_MAX};
    own_word<unsigned> m_patience{yield_patience}; // announcements left until a yield request is followed
    const bool m_count_all;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
