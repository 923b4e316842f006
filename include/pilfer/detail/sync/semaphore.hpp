// The part of a semaphore that does not depend on its largest count.
#pragma once

#include <cstddef>

#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class semaphore_resumption;
struct semaphore_access;

/// The state of a semaphore, independent of its bound. `max` is for the checked build.
class PILFER_API semaphore_core {
public:
    constexpr explicit semaphore_core(std::ptrdiff_t count) noexcept : m_count(count) {}
    semaphore_core(const semaphore_core&) = delete;
    semaphore_core& operator=(const semaphore_core&) = delete;
    ~semaphore_core();

    void release(std::ptrdiff_t update, std::ptrdiff_t max) noexcept;
    /// False: the time is over. `until` 0: do not wait. Throws stopped, without having acquired.
    [[nodiscard]] bool acquire(instant until);

private:
    friend class semaphore_resumption;
    waiters m_waiting;
    std::ptrdiff_t m_count; // under the list's lock; if it is above 0 the list is empty
};

} // namespace detail
} // namespace v0
} // namespace pilfer
