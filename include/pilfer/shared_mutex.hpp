// A mutex that several may share for reading.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <pilfer/detail/cancel/holding.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
class shared_mutex_resumption;
struct coroutine_locks;
} // namespace detail

/// A readers-writer lock for tasks and threads; std::unique_lock and std::shared_lock take it.
///
/// A task that has to wait suspends, any other thread blocks. The order is first come, first served: a reader
/// that comes while a writer waits goes after it, and adjacent readers go on together. So a task must not
/// lock it shared twice. For a few hundred nanoseconds of reading a pilfer::mutex is as good. Only the two
/// cancellable calls throw, none allocates. Cost: one short lock per call, also for readers. The checked
/// build aborts for wrong unlocks and for a lock that is destroyed while it is held.
class PILFER_API shared_mutex {
public:
    constexpr shared_mutex() noexcept = default;
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    ~shared_mutex();

    /// Locks alone. Coroutines use scoped_lock() and scoped_lock_shared(), in <pilfer/co_lock.hpp>.
    void lock() noexcept { (void)lock_within(detail::never); }
    /// As lock(), but a task that is cancelled while it waits leaves by `stopped`, without the lock.
    void lock_cancellable();
    /// Locks alone if nothing else has the lock.
    [[nodiscard]] bool try_lock() noexcept { return lock_within(0); }
    /// Locks alone within `d`, or returns false.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> d) {
        return lock_within(detail::after(d));
    }
    /// As try_lock_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& t) {
        return lock_within(detail::at(t));
    }
    /// Ends lock().
    void unlock() noexcept;

    /// Locks together with other readers.
    void lock_shared() noexcept { (void)share_within(detail::never); }
    /// As lock_cancellable(), shared.
    void lock_shared_cancellable();
    /// Locks with other readers, without a wait.
    [[nodiscard]] bool try_lock_shared() noexcept { return share_within(0); }
    /// Locks with other readers within `d`, or returns false.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> d) {
        return share_within(detail::after(d));
    }
    /// As try_lock_shared_for(), until `t`.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& t) {
        return share_within(detail::at(t));
    }
    /// Ends lock_shared().
    void unlock_shared() noexcept;

    /// For the library: the calling task holds the lock, alone, which was taken on its behalf.
    void adopt() noexcept;
    /// For the library: as adopt(), shared.
    void adopt_shared() noexcept;
    /// For the library: adds what this shared mutex knows to a report.
    void look(detail::wait_facts& f) const noexcept;
    /// As look(), of a copy, which no thread changes.
    void look_at_copy(detail::wait_facts& f) const noexcept;

private:
    friend class detail::shared_mutex_resumption;
    friend struct detail::coroutine_locks;
    using entry = detail::waiters::entry;

    [[nodiscard]] bool lock_within(detail::instant until) noexcept;
    [[nodiscard]] bool share_within(detail::instant until) noexcept;
    [[nodiscard]] bool try_lock_within(detail::instant until,
                                       detail::leaves when = detail::leaves::at_the_end) noexcept;
    [[nodiscard]] bool try_share_within(detail::instant until,
                                        detail::leaves when = detail::leaves::at_the_end) noexcept;
    [[nodiscard]] bool enter_and_wait(std::uintptr_t as, detail::instant until, detail::leaves when) noexcept;
    // Without gives_lock().
    void release() noexcept;
    void release_shared() noexcept;
    void leaves_queue(std::uintptr_t as) noexcept;
    [[nodiscard]] entry* grant() noexcept;

    // In entry::wants.
    static constexpr std::uintptr_t writes = 0;
    static constexpr std::uintptr_t reads = 1;

    detail::waiters m_waiting;
    // Under the list's lock.
    std::uint32_t m_readers = 0;
    bool m_writer = false;
    // The activation that has locked alone, for reports. Null: another way to lock it, or no task has.
    std::atomic<const void*> m_owner{nullptr};
};

} // namespace v0
} // namespace pilfer
