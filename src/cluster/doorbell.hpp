// A sleep of the communicating thread that more than tasks may end.
#pragma once

#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

class doorbell {
public:
    doorbell() = default;
    doorbell(const doorbell&) = delete;
    doorbell& operator=(const doorbell&) = delete;
    virtual ~doorbell() = default;

    /// Ends a wait() that sleeps, or else the next one. Any thread.
    virtual void ring() noexcept = 0;
    /// Sleeps at most `ns` nanoseconds.
    virtual void wait(std::uint64_t ns) noexcept = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
