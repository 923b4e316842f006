// Descriptors of the operating system: waits for them, and calls that do not wait.
#pragma once

#include <cstddef>
#include <cstdint>

struct sockaddr;

namespace pilfer {
inline namespace v0 {
namespace os {

/// The awaited events of a descriptor; both together as bits.
inline constexpr std::uint32_t can_read = 1;
inline constexpr std::uint32_t can_write = 2;
/// poll() and poller::wait() without a limit.
inline constexpr std::uint64_t no_limit = UINT64_MAX;

/// A set of descriptors (epoll), and a notifier (eventfd) that ends the sleep of the thread that waits for
/// them.
class poller {
public:
    struct event {
        std::uint64_t tag;
        std::uint32_t what;
    };
    poller() noexcept;
    poller(const poller&) = delete;
    poller& operator=(const poller&) = delete;
    ~poller();

    /// 0, or an errno: there were no descriptors, or no memory of the kernel. Then this object cannot be
    /// used.
    [[nodiscard]] int error() const noexcept { return m_error; }

    /// Asks for one event with this tag, as soon as `fd` is one of `what`, which it may be already. It
    /// replaces the former request for this descriptor. Returns 0 or an errno: EPERM (a file that is always
    /// ready), EBADF. Cost: one system call, two or three the first time. `known`: a hint that there was a
    /// former request.
    [[nodiscard]] int arm(int fd, std::uint32_t what, std::uint64_t tag, bool known) noexcept;
    struct found {
        unsigned events;
        bool rung;
    };
    /// Waits for up to 64 events, at most `ns`; 0: does not sleep. Returns none for the notifier, at the end
    /// of the time, or after a signal.
    [[nodiscard]] found wait(event (&to)[64], std::uint64_t ns) noexcept;
    /// Rings the notifier: ends one wait() that sleeps, or else the next one that would. Any thread.
    void ring() noexcept;
    /// Resets the notifier after a ring.
    void reset() noexcept;
    /// Gives the descriptors back early. In a child of fork() the parent's set is unchanged.
    void close() noexcept;

private:
    int m_set = -1;
    int m_notifier = -1;
    int m_error = 0;
};

/// Blocks the calling thread, at most `ns`. Returns 0 (ready), ETIMEDOUT or EBADF.
[[nodiscard]] int poll(int fd, std::uint32_t what, std::uint64_t ns) noexcept;

// Each calls the system once, whether or not that blocks, and returns its result, or -errno. Not inline,
// because a frame that moves to another thread must not keep the address of errno.
[[nodiscard]] std::int64_t read_some(int fd, void* to, std::size_t bytes) noexcept;
[[nodiscard]] std::int64_t write_some(int fd, const void* from, std::size_t bytes) noexcept;
/// For threads that do not block SIGPIPE: no such signal comes of this call.
[[nodiscard]] std::int64_t write_some_quietly(int fd, const void* from, std::size_t bytes) noexcept;
/// The new descriptor does not block and is closed by exec.
[[nodiscard]] int accept_one(int fd) noexcept;
[[nodiscard]] int connect_to(int fd, const sockaddr* to, unsigned bytes) noexcept;
/// The result of a connect that was under way: 0, or an errno.
[[nodiscard]] int socket_error(int fd) noexcept;
[[nodiscard]] bool is_open(int fd) noexcept;
/// 0, or an errno.
[[nodiscard]] int make_nonblocking(int fd) noexcept;
[[nodiscard]] int close_descriptor(int fd) noexcept;

} // namespace os
} // namespace v0
} // namespace pilfer
