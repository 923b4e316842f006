// A coroutine that waits for a channel: an entry of its list, as a task or a thread has one.
#pragma once

#include <pilfer/channel.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// For one send or one receive. Argument: src/coroutine/README.md.
class PILFER_API channel_resumption : public listed_resumption {
public:
    using protocol = channel_core::protocol;

    // These two do not wait. False: the operation would have to.
    [[nodiscard]] bool try_send(channel_core& c, protocol::cell& what) noexcept;
    [[nodiscard]] bool try_receive(channel_core& c) noexcept;
    // After a failed try. True: the coroutine is suspended, and the caller touches nothing of this. False:
    // the coroutine is resumed at once.
    [[nodiscard]] bool wait_to_send(channel_core& c, protocol::cell& what);
    [[nodiscard]] bool wait_to_receive(channel_core& c);

    /// After a send of either kind: true if the channel has the cell.
    [[nodiscard]] bool sent() const noexcept {
        return (m_waited ? protocol::offered(m_entry) : m_step) == protocol::step::done;
    }
    /// The received cell; null: the channel is closed and empty.
    [[nodiscard]] protocol::cell* received() const noexcept {
        return m_waited ? protocol::taken(m_entry) : m_got;
    }

private:
    [[nodiscard]] bool settle(const protocol::outcome& o) noexcept;
    [[nodiscard]] bool wait(channel_core& c, const protocol::outcome& o) noexcept;

    waiters::entry m_entry;
    protocol::step m_step = protocol::step::busy;
    protocol::cell* m_got = nullptr;
    bool m_waited = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
