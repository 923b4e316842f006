// A coroutine that waits for an event.
#pragma once

#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/event.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class PILFER_API event_resumption : public listed_resumption {
public:
    /// True if `e` is set. Read under the event's lock, as in event::wait(), because a resumed coroutine may
    /// destroy the event.
    [[nodiscard]] static bool is_set(event& e) noexcept;
    /// After is_set() was false. True: the coroutine is suspended, and the caller touches nothing of this.
    [[nodiscard]] bool wait_for(event& e);

private:
    waiters::entry m_entry;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
