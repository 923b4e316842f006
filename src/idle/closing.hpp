// The end of a pool: accepted tasks are counted. After the pool is closed, its end waits until all of them
// have ended.
//
// A shutdown waits for outstanding tasks: submissions and asyncs. Argument and edges D1..D3: README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/chaos.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The outstanding tasks of one worker: written by its thread only, read by any thread.
template <class Atom>
class outstanding_counts {
    using counter = typename Atom::template atomic<std::uint64_t>;

public:
    /// An async was announced on this worker.
    void begin() noexcept { m_begun.store(m_begun.load(rlx) + 1, rlx); }
    /// A task ended on this worker. A thread that reads the new count also sees the tasks that the ended task
    /// began, on any worker (pool.D3).
    void end() noexcept { m_ended.store(m_ended.load(rlx) + 1, rel); }

    [[nodiscard]] std::uint64_t begun() const noexcept { return m_begun.load(rlx); }
    [[nodiscard]] std::uint64_t ended() const noexcept { return m_ended.load(acq); }

private:
    const std::uint64_t m_start = PILFER_CHAOS_START(std::uint64_t); // 0; the sums of both ends cancel it
    counter m_begun{m_start};
    counter m_ended{m_start};
};

/// `Park` as for `sleepers`.
template <class Atom, class Park>
class closing {
    template <class T>
    using atomic = typename Atom::template atomic<T>;

public:
    /// Counts one more submission, which the caller queues afterwards. Any thread. False: the pool is closed.
    [[nodiscard]] bool accept() noexcept {
        // D1. Counted first: a shutdown that does not see the count is seen by this thread.
        m_submitted.fetch_add(1, std::memory_order_seq_cst);
        PILFER_CHAOS_POINT(accept);
        if (!m_closed.load(std::memory_order_seq_cst)) {
            return true;
        }
        withdraw();
        return false;
    }
    /// Counts one more submission, even while the pool closes. Called inside an outstanding task of this
    /// pool, which keeps it open.
    void accept_inside() noexcept { m_submitted.fetch_add(1, std::memory_order_seq_cst); }
    /// Uncounts an accepted submission that will not be queued. Any thread.
    void withdraw() noexcept {
        m_submitted.fetch_sub(1, std::memory_order_seq_cst);
        worker_is_idle();
    }
    /// From now on accept() refuses.
    void close() noexcept {
        m_closed.store(true, std::memory_order_seq_cst); // pool.D1
        Atom::fence_sc();                                // pool.D2: m_closed before the ends
    }
    [[nodiscard]] bool is_closed() const noexcept { return m_closed.load(std::memory_order_seq_cst); }
    /// A worker is about to sleep: a shutdown that waits for quiet looks again.
    void worker_is_idle() noexcept {
        // pool.D2: this worker's last end before m_closed; pairs with the fence in wait_until_quiet().
        // Without it the end could be missed by quiet() and the closing by this worker, and shutdown would
        // sleep on.
        Atom::fence_sc();
        if (m_closed.load(rlx)) {
            PILFER_CHAOS_POINT(close);
            m_idle_epoch.fetch_add(1, acq_rel);
            Park::wake(m_idle_epoch);
        }
    }
    /// Closes the pool. Returns when all accepted submissions have ended, and all tasks that these began.
    /// `units(i)`: the counts of worker `i` out of `workers`. Called by one thread at a time.
    template <class Units>
    void wait_until_quiet(unsigned workers, Units units) noexcept {
        PILFER_CHAOS_POINT(close);
        close();
        for (;;) {
            const std::uint32_t epoch = m_idle_epoch.load(acq);
            if (quiet(workers, units)) {
                return;
            }
            PILFER_CHAOS_POINT(close);
            Park::wait(m_idle_epoch, epoch);
        }
    }

    /// Submissions so far, for checks.
    [[nodiscard]] std::uint64_t accepted() const noexcept { return m_submitted.load(rlx) - m_start; }

private:
    template <class Units>
    [[nodiscard]] bool quiet(unsigned workers, Units units) const noexcept {
        // Ends are read before beginnings. If they match, no task was left in between, and none can begin a
        // new one.
        std::uint64_t ended = 0;
        for (unsigned i = 0; i < workers; ++i) {
            ended += units(i).ended(); // pool.D3
        }
        Atom::fence_sc();
        std::uint64_t begun = m_submitted.load(std::memory_order_seq_cst) - m_start; // pool.D1
        for (unsigned i = 0; i < workers; ++i) {
            begun += units(i).begun();
        }
        return begun == ended;
    }

    const std::uint64_t m_start = PILFER_CHAOS_START(std::uint64_t); // 0
    atomic<std::uint64_t> m_submitted{m_start};
    atomic<bool> m_closed{false};
    atomic<std::uint32_t> m_idle_epoch{PILFER_CHAOS_START(std::uint32_t)};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
