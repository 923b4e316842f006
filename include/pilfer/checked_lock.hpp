// checked_lock: a lock of a std::mutex that reports a wait under it.
#pragma once

#include <source_location>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/context/held_lock.hpp>

namespace pilfer {
inline namespace v0 {

/// std::lock_guard for mutexes that belong to a thread, as std::mutex does. A task that waits while it holds
/// one may be resumed on another thread, where the unlock is undefined. The checked build
/// (-DPILFER_CHECKED=ON) then says where the lock was taken and what the task waits for, and aborts; any
/// other build only locks. The rest of a `spawn` that moves is not noticed. Locks end in the opposite order
/// of their beginnings. Use pilfer::mutex for locks that are held across waits. Throws what Mutex::lock()
/// throws.
template <class Mutex>
class [[nodiscard]] checked_lock {
public:
    /// Locks `m`; a report names `place`.
    explicit checked_lock(Mutex& m, std::source_location place = std::source_location::current())
        : m_unlock{m}, m_held(place) {}
    checked_lock(const checked_lock&) = delete;
    checked_lock& operator=(const checked_lock&) = delete;

private:
    struct unlock {
        explicit unlock(Mutex& m) : mutex(m) { mutex.lock(); }
        unlock(const unlock&) = delete;
        unlock& operator=(const unlock&) = delete;
        ~unlock() { mutex.unlock(); }
        Mutex& mutex;
    };
    unlock m_unlock; // after the end of the record
    detail::held_lock m_held;
};

} // namespace v0
} // namespace pilfer
