// Coroutines that wait for a channel. Argument: README.md.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/coroutine/channel_resumption.hpp>

#include "coroutine/parked_kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr waits_in_list for_room("room in a channel");
constexpr waits_in_list for_value("a channel's next value");

} // namespace

/// Completes the entry that a step of the channel has left. True: the step was no wait.
bool channel_resumption::settle(const protocol::outcome& o) noexcept {
    if (o.next != nullptr) {
        detail::go_on(*o.next);
    }
    m_step = o.what;
    m_got = o.got;
    return o.what == protocol::step::done || o.what == protocol::step::closed;
}

bool channel_resumption::wait(channel_core& c, const protocol::outcome& o) noexcept {
    m_waited = o.what == protocol::step::wait; // before another thread can resume it
    if (!settle(o)) {
        return suspend_in(c.state().list(), m_entry);
    }
    withdraw();
    return false;
}

bool channel_resumption::try_send(channel_core& c, protocol::cell& what) noexcept {
    PILFER_TEST_POINT("sends into a channel", &c);
    return settle(c.state().offer(what, nullptr));
}

bool channel_resumption::try_receive(channel_core& c) noexcept {
    PILFER_TEST_POINT("receives from a channel", &c);
    return settle(c.state().take(nullptr));
}

bool channel_resumption::wait_to_send(channel_core& c, protocol::cell& what) {
    PILFER_TEST_ORDER("waits for room in a channel", &c);
    begin();
    park(for_room.kind(has_limit()), &c);
    return wait(c, c.state().offer(what, &m_entry));
}

bool channel_resumption::wait_to_receive(channel_core& c) {
    PILFER_TEST_ORDER("waits for a value of a channel", &c);
    begin();
    park(for_value.kind(has_limit()), &c);
    return wait(c, c.state().take(&m_entry));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
