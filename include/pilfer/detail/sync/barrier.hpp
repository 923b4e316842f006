// The part of a barrier that does not depend on its completion.
#pragma once

#include <cstddef>
#include <cstdint>

#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class barrier_resumption;
struct barrier_access;

/// The state of a barrier, independent of its completion.
class PILFER_API barrier_core {
public:
    struct arrival {
        std::uint64_t phase;
        bool last; ///< the caller runs the completion, then begins the next phase
    };
    constexpr explicit barrier_core(std::ptrdiff_t expected) noexcept
        : m_left(expected), m_expected(expected) {}
    barrier_core(const barrier_core&) = delete;
    barrier_core& operator=(const barrier_core&) = delete;
    ~barrier_core();

    /// Counts `update` arrivals. `leave`: one of them will not come again.
    [[nodiscard]] arrival arrive(std::ptrdiff_t update, bool leave) noexcept;
    void begin_next() noexcept;
    /// False: the time is over.
    [[nodiscard]] bool wait(std::uint64_t phase, instant until) noexcept;
    /// By a task that has arrived. If it is cancelled, it is not expected again, and `stopped` is thrown.
    void wait_or_drop(std::uint64_t phase);

private:
    friend class barrier_resumption;
    waiters m_waiting;
    // Under the list's lock.
    std::uint64_t m_phase = 0;
    std::ptrdiff_t m_left;
    std::ptrdiff_t m_expected;
};

struct nothing_to_complete {
    void operator()() const noexcept {}
};

} // namespace detail
} // namespace v0
} // namespace pilfer
