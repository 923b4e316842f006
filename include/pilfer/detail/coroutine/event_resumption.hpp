// A coroutine that waits for an event.
#pragma once

#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/event.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class PILFER_API event_resumption : public listed_resumption {
public:
    /// Under the event's lock, as in its wait(): who goes on may destroy it.
    [[nodiscard]] static bool is_set(event& e) noexcept;
    /// Behind that, as suspend_in().
    [[nodiscard]] bool wait_for(event& e);

private:
    waiters::entry m_entry;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
