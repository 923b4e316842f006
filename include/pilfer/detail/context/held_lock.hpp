// The place of a checked_lock in the list of its context.
#pragma once

#include <source_location>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct context;

#if defined(PILFER_CHECKED)
/// A place at which a task has taken a lock; the task's stack knows the newest one.
class PILFER_API held_lock {
public:
    explicit held_lock(const std::source_location& where) noexcept;
    held_lock(const held_lock&) = delete;
    held_lock& operator=(const held_lock&) = delete;
    ~held_lock();

    const std::source_location place;

private:
    held_lock* m_below = nullptr;
    context* m_home = nullptr; // null: no task's
};
/// Ends the program if a task that is about to leave its stack `c`, to wait for `awaited`, holds a
/// checked_lock.
void check_locks(const context& c, const char* awaited) noexcept;
#else
class held_lock {
public:
    explicit held_lock(const std::source_location&) noexcept {}
};
inline void check_locks(const context&, const char*) noexcept {}
#endif

} // namespace detail
} // namespace v0
} // namespace pilfer
