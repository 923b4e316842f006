// A task with a local buffer larger than its stack and the guard: it must end with the library's message.
#include <fcntl.h>
#include <unistd.h>

#include <pilfer/pilfer.hpp>

__attribute__((noinline)) static int read_into_large_buffer(int from) {
    char buffer[512 * 1024];
    return ::read(from, buffer, 4096) == 4096 ? buffer[0] : 1;
}

int main() {
    pilfer::pool pool({.workers = 1});
    return pool.run([] {
        pilfer::scope s;
        int result = 0;
        s.spawn([&result] { result = read_into_large_buffer(::open("/dev/zero", O_RDONLY)); });
        s.sync();
        return result;
    });
}
