// What a semaphore does whatever its largest count is.
#pragma once

#include <cstddef>

#include <pilfer/detail/worker/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// What does not depend on the bound. `max` is for the checked build.
class PILFER_API semaphore_core {
public:
    constexpr explicit semaphore_core(std::ptrdiff_t count) noexcept : m_count(count) {}
    semaphore_core(const semaphore_core&) = delete;
    semaphore_core& operator=(const semaphore_core&) = delete;
    ~semaphore_core();

    void release(std::ptrdiff_t update, std::ptrdiff_t max) noexcept;
    /// False: the time is over. `until` 0: without a wait. Throws stopped, without having acquired.
    [[nodiscard]] bool acquire(instant until);

private:
    waiters m_waiting;
    std::ptrdiff_t m_count; // under the list's lock; above 0 nobody waits
};

} // namespace detail
} // namespace v0
} // namespace pilfer
