// A mutex for tasks and threads: a task that has to wait suspends, and its worker is free for other work.
#pragma once

#include <atomic>
#include <chrono>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/holding.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/detail/sync/mutex_protocol.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
class mutex_resumption;
struct coroutine_locks;
} // namespace detail

/// A mutex for tasks and threads; std::lock_guard, std::unique_lock and std::scoped_lock take it. Not
/// recursive.
///
/// A task that has to wait suspends, any other thread blocks. The mutex belongs to the task or thread that
/// locked it, on whatever thread that task is resumed. A task that holds a mutex may wait: for a timer, a
/// channel, another mutex. If options.max_contexts is reached, other tasks may run on top of a waiting task's
/// frame; they must not need what it holds.
///
/// A newcomer may take a free mutex ahead of a waiter, at most 64 times; then the waiter is given it. A cycle
/// of tasks or threads that wait for each other's mutexes without a time limit is reported on standard error.
/// Coroutines lock by co_await scoped_lock(m), in <pilfer/co_lock.hpp>.
/// A task or thread that locks twice is reported, too. The checked build aborts there, and for wrong unlocks.
///
/// Throws nothing, except that lock_cancellable() throws `stopped`; allocates nothing. Cost without
/// contention: one compare-and-swap each; some 5 ns for the first lock and the last unlock in each open scope
/// of the task.
class PILFER_API mutex {
public:
    constexpr mutex() noexcept = default;
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
#if defined(PILFER_CHECKED)
    ~mutex();
#else
    ~mutex() = default;
#endif

    /// Locks; waits while another task or thread has the lock.
    void lock() noexcept {
        PILFER_TEST_POINT("locks a mutex", this);
        if (!m_core.lock_fast()) [[unlikely]] {
            (void)lock_slow(detail::never);
        }
        took();
    }
    /// As lock(), but a task that is cancelled while it waits leaves by `stopped`, without the mutex. lock()
    /// always waits to the end.
    void lock_cancellable() {
        PILFER_TEST_POINT("locks a mutex", this);
        if (!m_core.lock_fast()) [[unlikely]] {
            lock_or_leave();
        }
        took();
    }
    /// Locks and returns true if the lock is free.
    [[nodiscard]] bool try_lock() noexcept {
        PILFER_TEST_POINT("tries to lock a mutex", this);
        if (!m_core.try_lock()) {
            return false;
        }
        took();
        return true;
    }
    /// Returns false if the mutex was not free within `d`; tries at least once.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> d) {
        PILFER_TEST_POINT("tries to lock a mutex", this);
        return m_core.lock_fast() ? took() : lock_within(detail::after(d));
    }
    /// As try_lock_for(), until `t` by the present reading of its clock.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
        PILFER_TEST_POINT("tries to lock a mutex", this);
        return m_core.lock_fast() ? took() : lock_within(detail::at(t));
    }
    /// Unlocks. Only the task or thread that locked may call it.
    void unlock() noexcept {
        PILFER_TEST_POINT("unlocks a mutex", this);
        release();
        // The mutex may be gone. gives_lock() may call the user's code, which may want this mutex again.
        detail::gives_lock(detail::running_task(), this);
    }

    /// For the library: unlocks. The holder calls gives_lock() afterwards.
    PILFER_ALWAYS_INLINE void release() noexcept {
        leaves();
        if (!m_core.unlock_fast()) [[unlikely]] {
            unlock_slow();
        }
    }
    /// For the library: the holder passes the mutex, locked, to another task or thread, which then calls
    /// adopt(). The holder calls gives_lock() afterwards.
    void pass() noexcept { leaves(); }
    /// For the library: takes the mutex that its holder has given by pass().
    void adopt() noexcept { took(); }
    /// For the library: adds what this mutex knows to a report.
    void look(detail::wait_facts& f) const noexcept;

private:
    friend class detail::mutex_resumption;
    friend struct detail::coroutine_locks;
    [[nodiscard]] bool lock_slow(detail::instant until,
                                 detail::leaves when = detail::leaves::at_the_end) noexcept;
    void lock_or_leave();
    [[nodiscard]] bool lock_within(detail::instant until) noexcept { return lock_slow(until) && took(); }
    void unlock_slow() noexcept;

    /// The identity of the calling task, on whatever thread it is resumed, or of the calling thread. Null for
    /// a worker between two tasks.
    [[nodiscard]] static PILFER_ALWAYS_INLINE const void* self() noexcept {
        const detail::worker* w = detail::this_worker();
        return w != nullptr ? w->current.load(detail::rlx) : outside();
    }
    /// self(), and counts one lock more for the calling task.
    [[nodiscard]] PILFER_ALWAYS_INLINE const void* holder() const noexcept {
        const detail::worker* w = detail::this_worker();
        if (w == nullptr) {
            return outside();
        }
        detail::activation* const a = w->current.load(detail::rlx);
        detail::takes_lock(a, this);
        return a;
    }
    [[nodiscard]] static const void* outside() noexcept;
#if defined(PILFER_CHECKED)
    bool took() noexcept;
    void leaves() noexcept;
#else
    PILFER_ALWAYS_INLINE bool took() noexcept {
        m_owner.store(holder(), detail::rlx); // sync.O1
        detail::race::locks(this);
        return true;
    }
    PILFER_ALWAYS_INLINE void leaves() noexcept {
        detail::race::unlocks(this);
        m_owner.store(nullptr, detail::rlx);
    }
#endif

    struct owner_wait;
    detail::mutex_protocol<detail::std_atom, detail::futex_park> m_core;
    std::atomic<const void*> m_owner{nullptr}; // an activation, a word of a thread, or coroutine_owner()
#if defined(PILFER_CHECKED)
    std::atomic<const detail::context*> m_runner{nullptr};
#endif
};

} // namespace v0
} // namespace pilfer
