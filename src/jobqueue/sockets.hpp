// Sockets of a job queue, and the sleep until something comes. All calls of the operating system of an
// elastic run are here: this library may be linked beside a shared libpilfer, which does not export its own.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "cluster/doorbell.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A connection that does not block.
class stream {
public:
    stream() = default;
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    virtual ~stream() = default;

    /// The bytes that were sent; 0: none can be sent now, and the next call begins with the same ones. Throws
    /// std::runtime_error if it is closed.
    virtual std::size_t send(std::span<const std::byte> bytes) = 0;
    /// The bytes that were read; 0: none are there. Throws std::runtime_error if it is closed.
    virtual std::size_t receive(std::span<std::byte> to) = 0;
    /// Of its socket.
    [[nodiscard]] virtual int descriptor() const noexcept = 0;
    /// Waits until its socket can be read, or written. False: `limit` is over.
    [[nodiscard]] bool wait(bool for_writing, std::chrono::milliseconds limit) const noexcept;
};
/// Connects a socket within 5 s, after the look-up of the name. Throws std::runtime_error with the reason.
[[nodiscard]] std::unique_ptr<stream> connect_socket(const std::string& host, std::uint16_t port);

/// Sleeps until one of two sockets is ready, or it rings.
class socket_bell final : public doorbell {
public:
    socket_bell();
    ~socket_bell() override;

    /// The sockets that the next wait() looks at; -1: none.
    void watch(std::size_t place, int descriptor, bool for_writing) noexcept {
        m_watched[place] = {descriptor, for_writing};
    }
    void ring() noexcept override;
    void wait(std::uint64_t ns) noexcept override;

private:
    struct watched {
        int descriptor = -1;
        bool for_writing = false;
    };
    std::array<watched, 2> m_watched;
    int m_bell = -1;
};

/// Nanoseconds of the monotonic clock.
[[nodiscard]] std::uint64_t now_ns() noexcept;

/// The machine and the number of this process, for people.
[[nodiscard]] std::string name_of_process();

} // namespace detail
} // namespace v0
} // namespace pilfer
