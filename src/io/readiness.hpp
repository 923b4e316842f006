// What one pool waits for outside: its descriptors, and how often busy workers look at them.
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

/// For the watch over alarms: somebody waits for a descriptor. Behind every alarm, before `never`.
inline constexpr instant any_time = never - 1;

/// One per pool, from its first wait for a descriptor on until its end.
class readiness {
public:
    readiness() = default;

    os::poller kernel;
    descriptor_waits<std_atom, futex_park, os::poller> waits{kernel};

    /// Before a task asks the kernel, and behind its wait.
    void one_more() noexcept {
        m_waiting.fetch_add(1, rlx);
    } // io.N5, by the fence of whoever tells the watch
    void one_less() noexcept { m_waiting.fetch_sub(1, rlx); }
    [[nodiscard]] bool is_awaited() const noexcept { return m_waiting.load(rlx) != 0; }

    /// A busy worker: nobody has looked for some time.
    [[nodiscard]] bool is_due() const noexcept;
    /// Somebody looks now.
    void looked() noexcept;

private:
    alignas(line_bytes) std::atomic<std::uint64_t> m_waiting{0};
    alignas(line_bytes) std::atomic<std::uint64_t> m_looked{0}; // in ticks
};

/// What waits for these events goes on. True: something does.
bool dispatch(readiness& io, const os::poller::event* events, unsigned n) noexcept;
/// The same for all that has happened by now. Any thread.
[[nodiscard]] bool look_at(readiness& io) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
