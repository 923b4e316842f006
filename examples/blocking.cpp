// Four tasks read from empty pipes, on a pool of one worker. The reads block other threads, so the worker
// continues and writes.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::options o;
    o.workers = 1;
    pilfer::pool pool(o);
    pool.run([] {
        std::array<std::array<int, 2>, 4> pipes{};
        std::array<char, 4> got{};
        pilfer::scope readers;
        for (std::size_t i = 0; i < pipes.size(); ++i) {
            if (pipe(pipes[i].data()) != 0) {
                throw std::runtime_error("no pipe");
            }
            readers.spawn([&, i] { // runs at once, and is suspended in the read
                const auto bytes = pilfer::blocking([&] { return read(pipes[i][0], &got[i], 1); });
                if (bytes != 1) {
                    throw std::runtime_error("nothing to read");
                }
            });
        }
        for (std::size_t i = 0; i < pipes.size(); ++i) {
            const char letter = "word"[i];
            if (write(pipes[i][1], &letter, 1) != 1) {
                throw std::runtime_error("cannot write");
            }
        }
        readers.sync();
        std::printf("%.4s\n", got.data());
        for (const auto& p : pipes) {
            (void)close(p[0]);
            (void)close(p[1]);
        }
    });
}
