#include "platform/poll.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/platform.hpp>

#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

constexpr std::uint64_t tag_of_notifier = UINT64_MAX;

[[nodiscard]] timespec as_timespec(std::uint64_t ns) noexcept {
    timespec t{};
    t.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    t.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    return t;
}

/// epoll_wait() with nanoseconds, if the kernel has that (5.11); else a millisecond late at most.
[[nodiscard]] int wait_for_events(int set, epoll_event* events, int n, std::uint64_t ns) noexcept {
#if defined(SYS_epoll_pwait2)
    static std::atomic<bool> missing{false};
    if (ns != 0 && !missing.load(std::memory_order_relaxed)) { // relaxed: no data depends on it
        const timespec limit = as_timespec(ns);
        const long found =
            syscall(SYS_epoll_pwait2, set, events, n, ns == no_limit ? nullptr : &limit, nullptr, 0);
        if (found >= 0 || errno == EINTR) {
            return static_cast<int>(found);
        }
        // Not only ENOSYS: a container's filter that does not know the call may say EPERM.
        missing.store(true, std::memory_order_relaxed);
    }
#endif
    const std::uint64_t ms = ns / 1'000'000 + (ns % 1'000'000 != 0 ? 1 : 0);
    return epoll_wait(set, events, n,
                      ns == no_limit ? -1 : static_cast<int>(std::min<std::uint64_t>(ms, INT_MAX)));
}

} // namespace

poller::poller() noexcept : m_set(epoll_create1(EPOLL_CLOEXEC)) {
    if (m_set < 0) {
        m_error = errno;
        return;
    }
    m_notifier = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    // Level-triggered: an edge could be taken by a busy worker that only looks, and the sleeper would not
    // wake.
    epoll_event notifier{};
    notifier.events = EPOLLIN;
    notifier.data.u64 = tag_of_notifier;
    if (m_notifier < 0 || epoll_ctl(m_set, EPOLL_CTL_ADD, m_notifier, &notifier) != 0) {
        m_error = errno;
    }
}

poller::~poller() { close(); }

void poller::close() noexcept {
    for (int* const fd : {&m_notifier, &m_set}) {
        if (*fd >= 0) {
            ::close(std::exchange(*fd, -1));
        }
    }
}

PILFER_NOINLINE int poller::arm(int fd, std::uint32_t what, std::uint64_t tag, bool known) noexcept {
    if (fd == m_set || fd == m_notifier) {
        return EBADF; // a guessed number
    }
    epoll_event e{};
    e.events = EPOLLONESHOT | ((what & can_read) != 0 ? EPOLLIN | EPOLLRDHUP : 0U) |
               ((what & can_write) != 0 ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
    e.data.u64 = tag;
    // The set forgets a closed descriptor, and its number may return with another file. So only the kernel
    // knows which of both calls is right. That changes while other threads open and close the number.
    int error = 0;
    for (unsigned k = 0; k < 64; ++k) {
        if (epoll_ctl(m_set, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &e) == 0) {
            return 0;
        }
        error = errno;
        if (error != (known ? ENOENT : EEXIST)) {
            break;
        }
        known = !known;
    }
    return error;
}

poller::found poller::wait(event (&to)[64], std::uint64_t ns) noexcept {
    constexpr int most = std::extent_v<std::remove_reference_t<decltype(to)>>;
    epoll_event events[most];
    const int n = wait_for_events(m_set, events, most, ns);
    found f{0, false};
    for (int i = 0; i < n; ++i) {
        const epoll_event& e = events[i];
        if (e.data.u64 == tag_of_notifier) {
            f.rung = true;
            continue;
        }
        // An error or a hang-up ends both kinds of waiting: the next call says which it was.
        const bool both = (e.events & (EPOLLERR | EPOLLHUP)) != 0;
        to[f.events].tag = e.data.u64;
        to[f.events].what = (both || (e.events & (EPOLLIN | EPOLLRDHUP)) != 0 ? can_read : 0) |
                            (both || (e.events & EPOLLOUT) != 0 ? can_write : 0);
        ++f.events;
    }
    return f;
}

void poller::ring() noexcept {
    const std::uint64_t one = 1;
    (void)!::write(m_notifier, &one, sizeof one); // EAGAIN: it has rung 2^64 - 2 times, and still does
}

void poller::reset() noexcept {
    std::uint64_t rung = 0;
    (void)!::read(m_notifier, &rung, sizeof rung);
}

PILFER_NOINLINE int poll(int fd, std::uint32_t what, std::uint64_t ns) noexcept {
    pollfd one{};
    one.fd = fd;
    one.events = static_cast<short>(((what & can_read) != 0 ? POLLIN | POLLRDHUP : 0) |
                                    ((what & can_write) != 0 ? POLLOUT : 0));
    const std::uint64_t until = ns == no_limit ? no_limit : now_ns() + ns;
    for (;;) {
        const timespec limit = as_timespec(ns);
        const int found = fd < 0 ? -1 : ppoll(&one, 1, ns == no_limit ? nullptr : &limit, nullptr);
        if (found > 0) {
            return (one.revents & POLLNVAL) != 0 ? EBADF : 0;
        }
        if (fd < 0 || (found < 0 && errno != EINTR)) {
            return fd < 0 ? EBADF : errno;
        }
        if (ns != no_limit) {
            const std::uint64_t t = now_ns();
            if (t >= until) {
                return ETIMEDOUT;
            }
            ns = until - t;
        }
    }
}

PILFER_NOINLINE std::int64_t read_some(int fd, void* to, std::size_t bytes) noexcept {
    const ssize_t n = ::read(fd, to, bytes);
    return n >= 0 ? n : -errno;
}

PILFER_NOINLINE std::int64_t write_some(int fd, const void* from, std::size_t bytes) noexcept {
    const ssize_t n = ::write(fd, from, bytes);
    return n >= 0 ? n : -errno;
}

PILFER_NOINLINE std::int64_t write_some_quietly(int fd, const void* from, std::size_t bytes) noexcept {
    sigset_t pipe{};
    sigset_t before{};
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    const std::int64_t n = write_some(fd, from, bytes);
    if (sigismember(&before, SIGPIPE) != 0) { // the program blocks the signal: it stays pending
        return n;
    }
    if (n == -EPIPE) {
        const timespec at_once{};
        while (sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return n;
}

PILFER_NOINLINE int accept_one(int fd) noexcept {
    const int made = accept4(fd, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return made >= 0 ? made : -errno;
}

PILFER_NOINLINE int connect_to(int fd, const sockaddr* to, unsigned bytes) noexcept {
    return ::connect(fd, to, bytes) == 0 ? 0 : -errno;
}

PILFER_NOINLINE int socket_error(int fd) noexcept {
    int error = 0;
    socklen_t size = sizeof error;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

PILFER_NOINLINE bool is_open(int fd) noexcept { return fcntl(fd, F_GETFD) >= 0; }

PILFER_NOINLINE int make_nonblocking(int fd) noexcept {
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : errno;
}

PILFER_NOINLINE int close_descriptor(int fd) noexcept { return ::close(fd) == 0 ? 0 : errno; }

} // namespace os
} // namespace v0
} // namespace pilfer
