// Ends the sleep of another rank's communicating thread. MPI has no descriptor to wait for, so a datagram
// beside its message rings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <netinet/in.h>

#include "jobqueue/sockets.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A datagram that is lost, forged or late does no harm: its receiver looks for messages once more or once
/// less, and looks anyhow from time to time.
class rank_bell final : public doorbell {
public:
    /// Opens a port. If that is impossible, no rank rings here.
    rank_bell();
    ~rank_bell() override;

    /// Where this rank hears datagrams, for meet().
    [[nodiscard]] std::vector<std::byte> address() const;
    /// The addresses of all ranks. Throws cluster::archive_error.
    void meet(const std::vector<std::vector<std::byte>>& all);

    /// Rings at another rank.
    void ring_at(unsigned rank) noexcept;
    /// True once after another rank has rung.
    [[nodiscard]] bool take_rung() noexcept;

    void ring() noexcept override { m_sleep.ring(); }
    void wait(std::uint64_t ns) noexcept override;

private:
    int m_socket = -1;
    std::uint16_t m_port = 0; // of the socket, in the order of the network
    bool m_rung = false;
    std::vector<sockaddr_in> m_ranks; // without a port: cannot be reached
    socket_bell m_sleep;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
