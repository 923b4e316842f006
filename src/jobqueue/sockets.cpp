// Sockets of a job queue.
#include "jobqueue/sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::chrono::seconds connect_time{5};

[[nodiscard]] std::string text_of(int error) { return std::generic_category().message(error); }

using clock = std::chrono::steady_clock;

/// As ::poll() for one socket, until a time.
[[nodiscard]] int wait_for_socket(int socket, short events, clock::time_point end) noexcept {
    pollfd one{.fd = socket, .events = events, .revents = 0};
    int ready = 0;
    do {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now()).count();
        ready = ::poll(&one, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    } while (ready < 0 && errno == EINTR);
    return ready;
}

/// Connects a socket that does not block. Returns 0 or an errno.
[[nodiscard]] int connect_until(clock::time_point end, int socket, const addrinfo& to) noexcept {
    if (::connect(socket, to.ai_addr, to.ai_addrlen) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS) {
        return errno;
    }
    if (const int ready = wait_for_socket(socket, POLLOUT, end); ready <= 0) {
        return ready == 0 ? ETIMEDOUT : errno;
    }
    int error = 0;
    socklen_t size = sizeof error;
    (void)::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
    return error;
}

class socket_stream final : public stream {
public:
    socket_stream(const std::string& host, std::uint16_t port) {
        addrinfo wanted{};
        wanted.ai_socktype = SOCK_STREAM;
        addrinfo* all = nullptr;
        if (const int e = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &all); e != 0) {
            throw std::runtime_error(std::string("has no address: ") + ::gai_strerror(e));
        }
        const std::unique_ptr<addrinfo, void (*)(addrinfo*)> addresses(all, &::freeaddrinfo);
        int error = 0;
        std::int64_t untried = 0;
        for (const addrinfo* a = all; a != nullptr; a = a->ai_next) {
            ++untried;
        }
        // For all addresses together. Each has an equal share of what is left.
        const clock::time_point end = clock::now() + connect_time;
        for (const addrinfo* a = all; a != nullptr; a = a->ai_next, --untried) {
            const clock::time_point now = clock::now();
            m_socket = ::socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
            error = m_socket < 0 ? errno : connect_until(now + (end - now) / untried, m_socket, *a);
            if (error == 0) {
                const int on = 1;
                (void)::setsockopt(m_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                return;
            }
            if (m_socket >= 0) {
                ::close(std::exchange(m_socket, -1));
            }
        }
        throw std::runtime_error("cannot be reached: " + text_of(error));
    }
    ~socket_stream() override { ::close(m_socket); }

    std::size_t send(std::span<const std::byte> bytes) override {
        const ssize_t n = ::send(m_socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            throw std::runtime_error("has closed the connection: " + text_of(errno));
        }
        return n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    std::size_t receive(std::span<std::byte> to) override {
        const ssize_t n = ::recv(m_socket, to.data(), to.size(), 0);
        if (n == 0) {
            throw std::runtime_error("has closed the connection");
        }
        if (n < 0 && errno != EAGAIN && errno != EINTR) {
            throw std::runtime_error("has closed the connection: " + text_of(errno));
        }
        return n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    [[nodiscard]] int descriptor() const noexcept override { return m_socket; }

private:
    int m_socket = -1;
};

} // namespace

bool stream::wait(bool for_writing, std::chrono::milliseconds limit) const noexcept {
    return wait_for_socket(descriptor(), for_writing ? POLLOUT : POLLIN, clock::now() + limit) > 0;
}

std::unique_ptr<stream> connect_socket(const std::string& host, std::uint16_t port) {
    return std::make_unique<socket_stream>(host, port);
}

socket_bell::socket_bell() : m_bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (m_bell < 0) {
        throw std::runtime_error("cannot be used: " + text_of(errno));
    }
}

socket_bell::~socket_bell() { ::close(m_bell); }

void socket_bell::ring() noexcept {
    const std::uint64_t one = 1;
    (void)!::write(m_bell, &one, sizeof one); // EAGAIN: it rings already
}

void socket_bell::wait(std::uint64_t ns) noexcept {
    std::array<pollfd, 3> all{};
    all[0] = {.fd = m_bell, .events = POLLIN, .revents = 0};
    for (std::size_t i = 0; i < m_watched.size(); ++i) { // -1 is passed over
        all[i + 1] = {.fd = m_watched[i].descriptor,
                      .events = static_cast<short>(m_watched[i].for_writing ? POLLIN | POLLOUT : POLLIN),
                      .revents = 0};
    }
    const timespec limit{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    if (::ppoll(all.data(), all.size(), &limit, nullptr) > 0 && all[0].revents != 0) {
        std::uint64_t rung = 0;
        (void)!::read(m_bell, &rung, sizeof rung);
    }
}

std::uint64_t now_ns() noexcept {
    const auto since = clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

std::string name_of_process() {
    std::array<char, 256> host{};
    (void)::gethostname(host.data(), host.size() - 1);
    return std::string(host.data()) + ", process " + std::to_string(::getpid());
}

} // namespace detail
} // namespace v0
} // namespace pilfer
