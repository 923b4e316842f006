// A child of fork() has none of the threads of its parent's pools: they say so, and the common pool is new.
#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool;
    std::printf("parent: %d\n", pool.run([] { return 1; }));
    const auto [a, b] = pilfer::join([] { return 2; }, [] { return 3; }); // by the common pool
    std::printf("parent: %d %d\n", a, b);
    std::fflush(stdout);

    const pid_t child = fork();
    if (child == 0) {
        try {
            pool.run([] {});
        } catch (const pilfer::pool_forked&) {
            std::puts("child: that pool is the parent's");
        }
        const auto [c, d] = pilfer::join([] { return 4; }, [] { return 5; }); // by a new one
        std::printf("child: %d %d\n", c, d);
        return 0; // destroys the copy of the pool, which joins nothing
    }
    int status = -1;
    waitpid(child, &status, 0);
    std::printf("the child has ended with %d\n", status);
    std::printf("parent: %d\n", pool.run([] { return 6; }));
}
