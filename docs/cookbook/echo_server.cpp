// A server
//
// One task accepts, and each connection is a task of its own: plain loops with reads and writes. A task that
// waits for its client suspends, so a few workers serve many connections. `io::close` wakes the tasks that
// wait for the descriptor.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdio>
#include <system_error>

#include <pilfer/pilfer.hpp>

namespace io = pilfer::io;
using namespace std::chrono_literals;

void serve(int fd) {
    char buffer[1024];
    for (;;) {
        // at most five seconds of silence, and five for a client that does not read
        const auto got = io::read(fd, buffer, sizeof buffer, 5s);
        if (got.error || got.bytes == 0 || io::write(fd, buffer, got.bytes, 5s).error) {
            break;
        }
    }
    (void)io::close(fd);
}

int main() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (bind(listener, address, size) != 0 || listen(listener, 100) != 0 ||
        getsockname(listener, address, &size) != 0) {
        return 1;
    }
    pilfer::pool pool;
    auto server = pool.async([&] {
        pilfer::scope connections;
        for (;;) {
            const io::accepted next = io::accept(listener);
            if (!next.error) {
                connections.fork([fd = next.fd] { serve(fd); });
            } else if (next.error == std::errc::too_many_files_open ||
                       next.error == std::errc::too_many_files_open_in_system) {
                pilfer::sleep_for(100ms); // a connection may end meanwhile
            } else {
                break; // such as: the listener was closed
            }
        }
        connections.sync();
    });

    const int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    char answer[8];
    io::transferred got;
    if (!io::connect(client, address, size) && !io::write(client, "hello", 5).error) {
        got = io::read(client, answer, sizeof answer);
    }
    std::printf("%.*s\n", static_cast<int>(got.bytes), answer);
    (void)io::close(client);
    (void)io::close(listener); // ends the loop of the server
    server.get();
    return got.bytes == 5 ? 0 : 1;
}
