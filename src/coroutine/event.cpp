// Coroutines that wait for an event. Argument: README.md.
#include <pilfer/detail/coroutine/event_resumption.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr parked_kind parked_for_event{"an event", nullptr, true};

} // namespace

bool event_resumption::is_set(event& e) noexcept {
    e.m_waiting.lock();
    const bool set = e.m_set.load(rlx);
    e.m_waiting.unlock();
    return set;
}

bool event_resumption::wait_for(event& e) {
    begin();
    park(parked_for_event, &e);
    e.m_waiting.lock();
    const bool set = e.m_set.load(rlx);
    if (!set) {
        e.m_waiting.add(m_entry);
    }
    e.m_waiting.unlock();
    if (!set) {
        return suspend_in(e.m_waiting, m_entry);
    }
    withdraw();
    return false;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
