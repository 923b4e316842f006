#include <pilfer/channel.hpp>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/points.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind room_kind{"room in a channel", &nothing_known};
constexpr wait_kind value_kind{"a channel's next value", &nothing_known};

} // namespace

channel_core::~channel_core() {
    ensure([this] { return m_protocol.list().empty(); }, "a channel ends that somebody waits for");
}

bool channel_core::send(cell& c, instant until) {
    PILFER_TEST_POINT("sends into a channel", this);
    race::release_first(&c);
    using step = protocol::step;
    protocol::entry self;
    const auto o = m_protocol.offer(c, until != 0 ? &self : nullptr);
    if (o.next != nullptr) {
        go_on(*o.next);
    }
    if (o.what != step::wait) {
        return o.what == step::done;
    }
    wait_in(m_protocol.list(), self, until, room_kind, this, awaited::anything, leaves::when_stopped);
    if (self.end == waiters::fate::withdrawn) {
        leave_if_stopped();
    }
    return protocol::offered(self) == step::done;
}

channel_core::cell* channel_core::receive(instant until) {
    const auto received = [this](cell* c) {
        race::acquire(c != nullptr ? static_cast<const void*>(c) : this); // of the sender, or of close()
        return c;
    };
    PILFER_TEST_POINT("receives from a channel", this);
    using step = protocol::step;
    protocol::entry self;
    const auto o = m_protocol.take(until != 0 ? &self : nullptr);
    if (o.next != nullptr) {
        go_on(*o.next);
    }
    if (o.what != step::wait) {
        return received(o.got);
    }
    wait_in(m_protocol.list(), self, until, value_kind, this, awaited::anything, leaves::when_stopped);
    if (self.end == waiters::fate::withdrawn) {
        leave_if_stopped();
    }
    return received(protocol::taken(self));
}

void channel_core::put_back(cell& c) noexcept {
    PILFER_TEST_POINT("gives a value back to a channel", this);
    if (auto* next = m_protocol.put_back(c)) {
        go_on(*next);
    }
}

void channel_core::close() noexcept {
    PILFER_TEST_POINT("closes a channel", this);
    race::release(this);
    go_on_all(m_protocol.close());
}

} // namespace detail
} // namespace v0
} // namespace pilfer
