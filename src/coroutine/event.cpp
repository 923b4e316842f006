// Coroutines that wait for an event. Argument: README.md.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/coroutine/event_resumption.hpp>

#include "coroutine/parked_kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr waits_in_list for_event("an event");

} // namespace

bool event_resumption::is_set(event& e) noexcept {
    PILFER_TEST_POINT("looks at an event", &e);
    e.m_waiting.lock();
    const bool set = e.m_set.load(rlx);
    e.m_waiting.unlock();
    return set;
}

bool event_resumption::wait_for(event& e) {
    PILFER_TEST_ORDER("waits for an event", &e);
    begin();
    park(for_event.kind(has_limit()), &e);
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
