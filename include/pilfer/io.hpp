// Readiness of descriptors: tasks wait for sockets and pipes without their workers.
#pragma once

#include <chrono>
#include <cstddef>
#include <system_error>

#include <pilfer/detail/wait/wait.hpp>

struct sockaddr;

namespace pilfer {
inline namespace v0 {
namespace io {

/// The time limit of a call: none by default, a duration from now, or a time. With one that is over the call
/// looks once.
class deadline {
public:
    constexpr deadline() noexcept = default;
    /// After `d`.
    template <class Rep, class Period>
    deadline(std::chrono::duration<Rep, Period> d) noexcept : m_when(detail::after(d)) {} // NOLINT: implicit
    /// At `t`.
    template <class Clock, class Duration>
    deadline(
        const std::chrono::time_point<Clock, Duration>& t) noexcept // NOLINT(google-explicit-constructor)
        : m_when(detail::at(t)) {}
    /// For the library.
    [[nodiscard]] constexpr detail::instant when() const noexcept { return m_when; }

private:
    detail::instant m_when = detail::never;
};

/// An event of a descriptor, for on().
struct when {
    /// The descriptor.
    int fd;
    bool writable; ///< otherwise readable
};
/// For on(): `fd` can be read.
[[nodiscard]] constexpr when readable(int fd) noexcept { return {fd, false}; }
/// For on(): `fd` can be written.
[[nodiscard]] constexpr when writable(int fd) noexcept { return {fd, true}; }

// A task that waits suspends; any other thread blocks in poll(). While every worker computes, the timekeeper
// looks at descriptors. None of these calls throws. They return
//   timed_out               the time limit is over
//   operation_canceled      forget() or close() of this descriptor, or the task is cancelled
//   bad_file_descriptor, too_many_files_open, not_enough_memory and other errors of the system.
// The first wait of a pool makes an epoll and an eventfd, which it keeps. Cost of a wait: a suspension, one
// epoll_ctl() and a share of an epoll_wait(). Memory: 40 bytes for each number of a descriptor.
//
// A descriptor must stay open while a task waits for it; close() of this header sees to that. Any number of
// tasks may wait for one descriptor. All tasks that wait for an event go on when it comes, and all others
// after a hang-up or an error. In a pool with backend::one_lock each wait blocks a thread in poll(). There
// only the event or the time limit ends it, neither forget() or close() nor a cancellation.

/// Waits until a read would not block: data, end of file, an error, a connection to accept. Another task may
/// be faster and take it. Regular files are always ready.
[[nodiscard]] PILFER_API std::error_code wait_readable(int fd, deadline until = {}) noexcept;
/// Waits until a write would not block, or a connect that is under way has ended.
[[nodiscard]] PILFER_API std::error_code wait_writable(int fd, deadline until = {}) noexcept;

/// The number of bytes that were transferred, and the error that ended the transfer.
struct transferred {
    /// The number of bytes that were transferred.
    std::size_t bytes = 0;
    /// The reason why the transfer ended early.
    std::error_code error;
};

// The following first try, and wait only where the call would block. So the descriptor must not block:
// make_nonblocking(), accept() below, or SOCK_NONBLOCK. A descriptor that blocks does so on its worker.

/// As read(2): what is there, at most `bytes`; 0 without an error: end of file.
[[nodiscard]] PILFER_API transferred read(int fd, void* to, std::size_t bytes, deadline until = {}) noexcept;
/// All of it, unless there is an error: then `bytes` were written. In a task no SIGPIPE ends the program; the
/// error is broken_pipe.
[[nodiscard]] PILFER_API transferred write(int fd, const void* from, std::size_t bytes,
                                           deadline until = {}) noexcept;

/// A connection, or the error.
struct accepted {
    int fd = -1;           ///< does not block, and exec closes it
    std::error_code error; ///< the reason why there is none
};
/// The next connection of a listening socket.
[[nodiscard]] PILFER_API accepted accept(int listener, deadline until = {}) noexcept;
/// Connects a socket to the address of `bytes` bytes at `to` (socklen_t). A local socket whose listener is
/// busy gives resource_unavailable_try_again: there is no notification when it is free.
[[nodiscard]] PILFER_API std::error_code connect(int fd, const sockaddr* to, unsigned bytes,
                                                 deadline until = {}) noexcept;

/// Sets O_NONBLOCK.
[[nodiscard]] PILFER_API std::error_code make_nonblocking(int fd) noexcept;
/// Ends the waits of all tasks of all pools for this descriptor with operation_canceled; returns how many
/// there were. Later waits are not affected. A thread that is no worker stays in its poll(). Cost: a lock of
/// the process, one lock for each pool that has waited for descriptors.
PILFER_API std::size_t forget(int fd) noexcept;
/// As forget(), and closes the descriptor in the same step, so that no task waits under its number for
/// another file. Returns the result of close(2); the descriptor is closed in any case.
PILFER_API std::error_code close(int fd) noexcept;

} // namespace io
} // namespace v0
} // namespace pilfer
