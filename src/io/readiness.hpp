// The descriptors of one pool, and how often busy workers poll them.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/io/readiness.hpp>
#include <pilfer/detail/worker/wait.hpp>

#include "base/poll.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The due time that stands for an awaited descriptor in the watch. It is after every alarm, before `never`.
inline constexpr instant any_time = never - 1;

/// One per pool. It exists from the pool's first wait for a descriptor until the pool's end.
class readiness {
public:
    readiness() = default;

    os::poller kernel;
    descriptor_waits<std_atom, futex_park, os::poller> waits{kernel};

    /// Counts a wait. Called before a task registers its descriptor with the kernel. io.N5: the fence is in
    /// the notification of the watch.
    void one_more() noexcept { m_waiting.fetch_add(1, rlx); }
    /// Uncounts a wait that has ended.
    void one_less() noexcept { m_waiting.fetch_sub(1, rlx); }
    [[nodiscard]] bool is_awaited() const noexcept { return m_waiting.load(rlx) != 0; }

    /// True if no thread has polled for some time. Called by a busy worker.
    [[nodiscard]] bool is_due() const noexcept;
    /// The calling thread polls now.
    void looked() noexcept;

private:
    alignas(line_bytes) std::atomic<std::uint64_t> m_waiting{0};
    alignas(line_bytes) std::atomic<std::uint64_t> m_looked{0}; // in ticks
};

/// Resumes the tasks that wait for these events. True: at least one resumes.
bool dispatch(readiness& io, const os::poller::event* events, unsigned n) noexcept;
/// Polls once without waiting, and resumes the tasks whose events have happened. True: at least one resumes.
/// Any thread.
[[nodiscard]] bool look_at(readiness& io) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
