// A small HTTP server with a task per connection, which suspends while its client is silent. It answers with
// the body of the request, or with the path if there is none, and keeps connections alive.
//
//   http_echo                 is its own client, over a few connections
//   http_echo PORT            serves on the loopback until SIGINT or SIGTERM, then prints its counts:
//       wrk -c 10000 -t 1 -d 10s http://127.0.0.1:PORT/hello
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;
namespace io = pilfer::io;

namespace {

/// As many as allowed: each connection is a descriptor.
unsigned long raise_file_limit() {
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur;
}

/// Memory of this process in bytes, without that of the kernel's sockets.
long resident() {
    long all = 0;
    long in_memory = 0;
    std::ifstream("/proc/self/statm") >> all >> in_memory;
    return in_memory * sysconf(_SC_PAGESIZE);
}

/// The value of a header field; empty: there is none. Names as most clients write them.
std::string_view field(std::string_view head, std::string_view name) {
    const auto at = head.find(name);
    if (at == std::string_view::npos) {
        return {};
    }
    head.remove_prefix(at + name.size());
    head.remove_prefix(std::min(head.find_first_not_of(' '), head.size()));
    return head.substr(0, head.find('\r'));
}

class server {
public:
    explicit server(int port) : m_listener(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
        const int on = 1;
        setsockopt(m_listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        m_at.sin_family = AF_INET;
        m_at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        m_at.sin_port = htons(static_cast<std::uint16_t>(port));
        socklen_t size = sizeof m_at;
        auto* const at = reinterpret_cast<sockaddr*>(&m_at);
        if (m_listener < 0 || bind(m_listener, at, size) != 0 || listen(m_listener, 16'384) != 0 ||
            getsockname(m_listener, at, &size) != 0) {
            std::perror("http_echo");
            std::exit(1);
        }
    }
    [[nodiscard]] const sockaddr_in& address() const { return m_at; }

    /// Accepts until stop(), and returns when the last connection has ended.
    void run() {
        pilfer::scope connections;
        for (;;) {
            const io::accepted next = io::accept(m_listener);
            if (next.error) {
                if (m_stopping) {
                    break; // stop() has closed it
                }
                pilfer::sleep_for(10ms); // no descriptor or no memory is left: until one of them ends
                continue;
            }
            connections.fork([this, fd = next.fd] { serve(fd); });
        }
        connections.sync();
    }
    /// May be called by any thread. Unused connections end when their client closes them, or after 5 s.
    void stop() {
        m_stopping = true;
        (void)io::close(m_listener);
    }

    std::atomic<long> open{0};
    std::atomic<long> answered{0};
    std::atomic<long> failed{0};

private:
    void serve(int fd) {
        ++open;
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        char buffer[2048];
        std::size_t have = 0; // a request, or a part of one, or several
        for (;;) {
            const auto got = io::read(fd, buffer + have, sizeof buffer - have, m_stopping ? 100ms : 5s);
            if (got.error || got.bytes == 0) {
                const bool idle = got.error == std::errc::timed_out && have == 0;
                failed += got.error && !idle && got.error != std::errc::connection_reset ? 1 : 0;
                break;
            }
            have += got.bytes;
            bool goes_on = true;
            std::size_t used = 0;
            while (goes_on) {
                const std::size_t n = answer(fd, {buffer + used, have - used}, goes_on);
                if (n == 0) {
                    break;
                }
                used += n;
            }
            std::memmove(buffer, buffer + used, have - used);
            have -= used;
            if (!goes_on || have == sizeof buffer) { // too long for this little server
                break;
            }
        }
        (void)io::close(fd);
        --open;
    }
    /// Returns how much of `text` the request was; 0: it is not complete.
    std::size_t answer(int fd, std::string_view text, bool& goes_on) {
        const auto end = text.find("\r\n\r\n");
        if (end == std::string_view::npos) {
            return 0;
        }
        const std::string_view head = text.substr(0, end + 2);
        const std::size_t length =
            std::strtoul(std::string(field(head, "Content-Length:")).c_str(), nullptr, 10);
        if (length > text.size() - end - 4) {
            return 0;
        }
        std::string_view body = text.substr(end + 4, length);
        if (body.empty()) {
            body = head.substr(std::min(head.find(' ') + 1, head.size()));
            body = body.substr(0, body.find(' '));
        }
        goes_on = field(head, "Connection:") != "close";
        char out[2560];
        const int n = std::snprintf(out, sizeof out, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*s",
                                    body.size(), static_cast<int>(body.size()), body.data());
        if (io::write(fd, out, static_cast<std::size_t>(n), 30s).error) {
            ++failed;
            goes_on = false;
        }
        ++answered;
        return end + 4 + length;
    }

    int m_listener;
    sockaddr_in m_at{};
    std::atomic<bool> m_stopping{false};
};

/// One connection: `rounds` requests, each sent after the answer to the one before. Returns the number of
/// correct answers.
int ask(const sockaddr_in& at, int number, int rounds) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int right = 0;
    if (io::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at)) {
        rounds = 0;
    }
    for (int i = 0; i < rounds; ++i) {
        const std::string body = "this is " + std::to_string(number) + ", round " + std::to_string(i);
        const std::string request =
            "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n\r\n" + body;
        (void)io::write(fd, request.data(), request.size());
        std::string answer;
        char buffer[512];
        while (answer.find(body) == std::string::npos) {
            const auto got = io::read(fd, buffer, sizeof buffer, 60s);
            if (got.error || got.bytes == 0) {
                break;
            }
            answer.append(buffer, got.bytes);
        }
        right += answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\n" + body) ? 1 : 0;
    }
    ::close(fd);
    return right;
}

int ask_itself() {
    server here(0);
    std::atomic<int> right{0};
    pilfer::pool pool;
    auto served = pool.async([&] { here.run(); });
    pool.run([&] {
        pilfer::scope clients;
        for (int i = 0; i < 8; ++i) {
            clients.fork([&, i] { right += ask(here.address(), i, 10); });
        }
        clients.sync();
    });
    here.stop();
    served.get();
    std::printf("8 connections, 10 requests each: %d right answers, %ld errors\n", right.load(),
                here.failed.load());
    return right == 80 && here.failed == 0 ? 0 : 1;
}

int serve(int port) {
    // Before the pool: its threads take no signals anyway, and this one waits for them.
    sigset_t ends{};
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends, nullptr);
    std::printf("up to %lu open files\n", raise_file_limit());
    server here(port);
    pilfer::pool pool;
    auto served = pool.async([&] { here.run(); });
    const long before = resident();
    long most = 0;
    long memory = 0;
    std::size_t threads = 0;
    pilfer::timer look = pilfer::every(pool, 20ms, [&] {
        const long now = here.open;
        if (now >= most && now != 0) {
            most = now;
            memory = resident() - before;
            threads =
                static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                                       std::filesystem::directory_iterator()));
        }
    });
    std::printf("http://127.0.0.1:%d/, %u workers\n", ntohs(here.address().sin_port),
                pool.settings().workers);
    std::fflush(stdout);
    int signal = 0;
    sigwait(&ends, &signal);
    (void)look.cancel();
    here.stop();
    served.get();
    pool.shutdown(); // look has ended
    std::printf("%ld requests answered, %ld errors\n", here.answered.load(), here.failed.load());
    std::printf("at most %ld connections at once, with %zu threads (one of them in main), %ld bytes each\n",
                most, threads, most != 0 ? memory / most : 0);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc == 1) {
        return ask_itself();
    }
    char* end = nullptr;
    const long port = std::strtol(argv[1], &end, 10);
    if (argc != 2 || *end != '\0' || port < 0 || port > 65'535) {
        std::fprintf(stderr, "usage: http_echo [PORT]\n");
        return 2;
    }
    return serve(static_cast<int>(port));
}
