// The entrance of a pool: tasks from outside are counted, get a place if the queue is bounded, and are
// queued.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/park.hpp>

#include "pool/queue_places.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The entrance of one pool. Its counts keep the pool open until everything that it accepted is over.
class submission_gate final : public queue_bound {
public:
    using places_type = queue_places<std_atom, futex_park>;

    submission_gate(pool_core& p, const options& o) noexcept;

    /// A task from outside: counts, queues and announces it. If the queue is full, the caller waits and may
    /// resume on another worker, or queue_full is thrown. Throws pool_closed, pool_forked.
    void accept(submission* s, priority level);
    /// accept() for a task of this pool, whose existence keeps the pool open. Never waits, never fails.
    void accept_inside(submission* s, priority level) noexcept;
    /// accept() at the normal level that ignores any bound of the queue. False: the pool is closed, and `s`
    /// is unchanged.
    [[nodiscard]] bool try_accept(submission* s) noexcept;

    /// Counts a task that will be queued when its alarm fires. False: the pool is closed and the caller is
    /// none of its tasks.
    [[nodiscard]] bool expect() noexcept;
    /// expect() called by an alarm, which is no task of the pool.
    [[nodiscard]] bool expect_again() noexcept;
    /// Uncounts a task of expect() that will never be queued. This is the caller's last use of the pool; the
    /// caller may be no worker of it.
    void forget_expected() noexcept;
    /// Queues a suspended coroutine that is counted as an outstanding task. Any thread. The coroutine may
    /// run, and the pool may end, before this call returns. `late`: the task was not counted by expect().
    void queue_begun(submission* s, bool late) noexcept;

    /// From now on nothing is accepted. Submitters that wait for a place get pool_closed.
    void close() noexcept;
    [[nodiscard]] bool is_closed() const noexcept;
    /// Returns when everything that was accepted is over. One thread at a time.
    void wait_until_quiet() noexcept;

    // ---- queue_bound
    void take_anyway() noexcept override { m_places.take_anyway(); }
    void give_back() noexcept override;

    /// For reports.
    [[nodiscard]] const places_type& places() const noexcept { return m_places; }
    /// For checks: tasks that workers had counted and that were queued here.
    [[nodiscard]] std::uint64_t queued_late() const noexcept { return m_queued_late.load(rlx); }

private:
    void accept_bounded(submission* s, priority level);
    void wait_for_place();
    void queue(submission* s, priority level) noexcept;

    pool_core& m_pool;
    places_type m_places;
    std::atomic<std::uint64_t> m_queued_late{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
