// A mutex for tasks and threads: who has to wait suspends, and the worker is free for others.
#pragma once

#include <atomic>
#include <chrono>

#include <pilfer/detail/sync/mutex_protocol.hpp>
#include <pilfer/detail/worker/wait.hpp>
#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {

/// Lockable and TimedLockable, so std::lock_guard, std::unique_lock and std::scoped_lock take it. A task that
/// has to wait suspends, any other thread blocks; tasks of several pools and threads may share one. It
/// belongs to the task or thread that locked it, wherever that goes on, and is unlocked by it; not recursive.
/// Other than under std::mutex a task may wait while it holds one: for a timer, a channel, another mutex.
/// (Where options.max_contexts is reached, a waiting task may have others on top of its frame, which must
/// then not want what it holds: see src/worker/README.md, rule W4.)
///
/// Who comes may take a free mutex past those who wait, at most 64 times past each; then it is handed to that
/// one. No call but lock_cancellable() throws, and none allocates. Cost: without contention one
/// compare-and-swap each for lock and unlock; an unlock that a cancellation has waited for acts on it, too.
/// A task's first lock and last unlock, and those beside others in a scope that began under these, go through
/// the scopes of its own that are open: some 5 ns for each.
/// Tasks and threads that wait for each other's mutexes in a cycle, all without a time limit, are named on
/// standard error as soon as the last one waits; so is one that locks twice. They wait on. The checked build
/// aborts there, and where somebody unlocks what nobody holds, or ends what is held or waited for.
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

    void lock() noexcept {
        if (!m_core.lock_fast()) [[unlikely]] {
            (void)lock_slow(detail::never);
        }
        took();
    }
    /// As lock(), but a task that is stopped (scope::cancel) while it waits leaves by `stopped`, without the
    /// mutex; lock() is never cut short.
    void lock_cancellable() {
        if (!m_core.lock_fast()) [[unlikely]] {
            lock_or_leave();
        }
        took();
    }
    [[nodiscard]] bool try_lock() noexcept {
        if (!m_core.try_lock()) {
            return false;
        }
        took();
        return true;
    }
    /// False: it could not be had for `d`; tried at least once.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> d) {
        return m_core.lock_fast() ? took() : lock_within(detail::after(d));
    }
    /// By what the clock says now: one that is set later does not change the wait.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
        return m_core.lock_fast() ? took() : lock_within(detail::at(t));
    }
    void unlock() noexcept {
        leaves();
        if (!m_core.unlock_fast()) [[unlikely]] {
            unlock_slow();
        }
        // The mutex may be gone. What acts behind a lock may call the user's code, which may want this one.
        detail::gives_lock(detail::running_task());
    }

    /// For the library: who holds it gives it, locked, to another task or thread, which then calls adopt().
    /// Behind that, gives_lock().
    void pass() noexcept { leaves(); }
    void adopt() noexcept { took(); }
    /// For the library: reports.
    void look(detail::wait_facts& f) const noexcept;

private:
    [[nodiscard]] bool lock_slow(detail::instant until,
                                 detail::leaves when = detail::leaves::at_the_end) noexcept;
    void lock_or_leave();
    [[nodiscard]] bool lock_within(detail::instant until) noexcept { return lock_slow(until) && took(); }
    void unlock_slow() noexcept;

    /// The calling task, wherever it goes on, or thread. Of a worker between two tasks: null.
    [[nodiscard]] static PILFER_ALWAYS_INLINE const void* self() noexcept {
        const detail::worker* w = detail::this_worker();
        return w != nullptr ? w->current.load(detail::rlx) : outside();
    }
    /// The same, which has or has not one lock more from now on.
    [[nodiscard]] static PILFER_ALWAYS_INLINE const void* holder() noexcept {
        const detail::worker* w = detail::this_worker();
        if (w == nullptr) {
            return outside();
        }
        detail::activation* const a = w->current.load(detail::rlx);
        detail::takes_lock(a);
        return a;
    }
    [[nodiscard]] static const void* outside() noexcept;
#if defined(PILFER_CHECKED)
    bool took() noexcept;
    void leaves() noexcept;
#else
    PILFER_ALWAYS_INLINE bool took() noexcept {
        m_owner.store(holder(), detail::rlx); // O1
        return true;
    }
    PILFER_ALWAYS_INLINE void leaves() noexcept { m_owner.store(nullptr, detail::rlx); }
#endif

    struct owner_wait;
    detail::mutex_protocol<detail::std_atom, detail::futex_park> m_core;
    std::atomic<const void*> m_owner{nullptr}; // the activation of a task, or a word of a thread
#if defined(PILFER_CHECKED)
    std::atomic<const detail::context*> m_runner{nullptr};
#endif
};

} // namespace v0
} // namespace pilfer
