// Readiness of descriptors: tasks wait for sockets and pipes without their workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <system_error>

#include <pilfer/detail/worker/wait.hpp>

struct sockaddr;

namespace pilfer {
inline namespace v0 {
namespace io {

/// Until when a call waits: for good, if it is not given; a duration from now, or a time. One that is over
/// already makes the call look once.
class deadline {
public:
    constexpr deadline() noexcept = default;
    template <class Rep, class Period>
    deadline(std::chrono::duration<Rep, Period> d) noexcept : m_when(detail::after(d)) {} // NOLINT: implicit
    template <class Clock, class Duration>
    deadline(
        const std::chrono::time_point<Clock, Duration>& t) noexcept // NOLINT(google-explicit-constructor)
        : m_when(detail::at(t)) {}
    /// For the library.
    [[nodiscard]] constexpr detail::instant when() const noexcept { return m_when; }

private:
    detail::instant m_when = detail::never;
};

/// For on(): what of which descriptor.
struct when {
    int fd;
    bool writable; ///< otherwise readable
};
[[nodiscard]] constexpr when readable(int fd) noexcept { return {fd, false}; }
[[nodiscard]] constexpr when writable(int fd) noexcept { return {fd, true}; }

// A task that waits suspends, and its worker does other things; any other thread blocks in poll(). While
// every worker computes, the timekeeper's thread looks at descriptors. None of these calls throws; they
// return
//   timed_out               nothing in time
//   operation_canceled      forget() or close() of this descriptor, or the task is stopped: scope::cancel()
//   bad_file_descriptor, too_many_files_open, not_enough_memory and whatever else the system says.
// The first wait of a pool makes an epoll and an eventfd, which it keeps. A wait costs a suspension, one
// epoll_ctl() and a share of an epoll_wait(): see src/io/README.md. Memory: 40 bytes for each number of a
// descriptor.
//
// A descriptor must stay open while somebody waits for it; otherwise the wait may go on for good, as in
// poll(). close() of this header sees to that. Any number of tasks may wait for one descriptor, some for
// reading, some for writing: all whose event has come go on, and all of both kinds after a hang-up or an
// error.

/// No error: a read would not block (data, end of file, an error, a connection to accept). Somebody else may
/// be faster and take it. Regular files are always ready.
[[nodiscard]] PILFER_API std::error_code wait_readable(int fd, deadline until = {}) noexcept;
/// The same for a write, and for a connect that is under way.
[[nodiscard]] PILFER_API std::error_code wait_writable(int fd, deadline until = {}) noexcept;

/// How far a transfer came, and why no further.
struct transferred {
    std::size_t bytes = 0;
    std::error_code error;
};

// The following first try, and wait only where the call would block. So the descriptor must not block:
// make_nonblocking(), accept() below, or SOCK_NONBLOCK. A descriptor that blocks does so on its worker.

/// As read(2): what is there, at most `bytes`; 0 without an error: end of file.
[[nodiscard]] PILFER_API transferred read(int fd, void* to, std::size_t bytes, deadline until = {}) noexcept;
/// All of it, unless there is an error: then `bytes` were written. On a worker no SIGPIPE ends the program;
/// the error is broken_pipe.
[[nodiscard]] PILFER_API transferred write(int fd, const void* from, std::size_t bytes,
                                           deadline until = {}) noexcept;

struct accepted {
    int fd = -1; ///< does not block, and exec closes it
    std::error_code error;
};
/// The next connection of a listening socket.
[[nodiscard]] PILFER_API accepted accept(int listener, deadline until = {}) noexcept;
/// Connects a socket to the address of `bytes` bytes at `to` (socklen_t). A local socket whose listener is
/// busy gives resource_unavailable_try_again: nothing tells when it is not.
[[nodiscard]] PILFER_API std::error_code connect(int fd, const sockaddr* to, unsigned bytes,
                                                 deadline until = {}) noexcept;

/// Sets O_NONBLOCK.
[[nodiscard]] PILFER_API std::error_code make_nonblocking(int fd) noexcept;
/// All tasks of all pools that wait for this descriptor go on with operation_canceled. Who comes later waits.
/// A thread that is no worker stays in its poll(). Returns how many there were. Cost: a lock of the process,
/// one lock for each pool that has waited for descriptors.
PILFER_API std::size_t forget(int fd) noexcept;
/// The same, and closes it: in one step, so that no task waits for a closed descriptor or, under its number,
/// for another file than it thinks. Returns what close(2) says; the descriptor is closed all the same.
PILFER_API std::error_code close(int fd) noexcept;

} // namespace io
} // namespace v0
} // namespace pilfer
