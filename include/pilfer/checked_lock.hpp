// checked_lock: a std::mutex that must not be held across a wait, and a build that says where it was.
#pragma once

#include <source_location>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/context/held_lock.hpp>

namespace pilfer {
inline namespace v0 {

/// std::lock_guard for mutexes that belong to a thread, as std::mutex does: a task that waits while it holds
/// one may go on on another thread, whose unlock is undefined, and other tasks of its thread may want the
/// same mutex meanwhile. The checked build (-DPILFER_CHECKED=ON) says where the lock was taken and what the
/// task waits for, and aborts; any other build only locks. (The rest of a `spawn` may move, too; that is not
/// noticed.) Locks end in the opposite order of their beginnings. Where a task has to wait under a lock, use
/// pilfer::mutex. Throws what Mutex::lock() throws.
template <class Mutex>
class [[nodiscard]] checked_lock {
public:
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
    unlock m_unlock; // behind the record's end
    detail::held_lock m_held;
};

} // namespace v0
} // namespace pilfer
