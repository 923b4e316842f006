// The part of a channel that does not depend on its values.
#pragma once

#include <cstddef>
#include <utility>

#include <pilfer/detail/sync/channel_protocol.hpp>
#include <pilfer/detail/wait/wait.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A channel of cells, independent of the type of the values.
class PILFER_API channel_core {
public:
    using protocol = channel_protocol<std_atom, futex_park>;
    using cell = protocol::cell;

    explicit channel_core(std::size_t capacity) noexcept : m_protocol(capacity) {}
    channel_core(const channel_core&) = delete;
    channel_core& operator=(const channel_core&) = delete;
    ~channel_core();

    /// True: the cell is taken. `until` 0: do not wait.
    [[nodiscard]] bool send(cell& c, instant until);
    /// Null: closed and empty, or the time is over.
    [[nodiscard]] cell* receive(instant until);
    void put_back(cell& c) noexcept;
    void close() noexcept;
    [[nodiscard]] protocol& state() noexcept { return m_protocol; }
    [[nodiscard]] std::size_t capacity() const noexcept { return m_protocol.capacity(); }

private:
    protocol m_protocol;
};

template <class T, class F>
class channel_reaction;

/// A value in a channel.
template <class T>
struct channel_item : channel_core::cell {
    template <class U>
    explicit channel_item(U&& from) : value(std::forward<U>(from)) {}
    T value;
};

struct channel_access;

} // namespace detail
} // namespace v0
} // namespace pilfer
