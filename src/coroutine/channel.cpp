// Coroutines that wait for a channel. Argument: README.md.
#include <pilfer/detail/coroutine/channel_resumption.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr parked_kind parked_for_room{"room in a channel", nullptr, true};
constexpr parked_kind parked_for_value{"a channel's next value", nullptr, true};

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
    return settle(c.state().offer(what, nullptr));
}

bool channel_resumption::try_receive(channel_core& c) noexcept { return settle(c.state().take(nullptr)); }

bool channel_resumption::wait_to_send(channel_core& c, protocol::cell& what) {
    begin();
    park(parked_for_room, &c);
    return wait(c, c.state().offer(what, &m_entry));
}

bool channel_resumption::wait_to_receive(channel_core& c) {
    begin();
    park(parked_for_value, &c);
    return wait(c, c.state().take(&m_entry));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
