// A thread outside all pools may run tasks while it waits.
#pragma once

#include <pilfer/detail/task/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A pool to which a thread is attached.
class host {
public:
    /// Runs tasks on the calling thread until `waiter` is released, if it can.
    virtual void work_until_released(foreign_waiter& waiter) noexcept = 0;

    /// The host of the calling thread; null: it blocks.
    [[nodiscard]] PILFER_API static host* here() noexcept;
    static void set_here(host* h) noexcept;

protected:
    ~host() = default;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
