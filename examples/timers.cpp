// Time without threads: tasks that sleep, a function that runs later, one that runs again and again, and one
// that is called off. The pool has a single worker.
#include <atomic>
#include <chrono>
#include <cstdio>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;

int main() {
    pilfer::options o;
    o.workers = 1;
    pilfer::pool pool(o);

    pool.run([] {
        std::atomic<int> rested{0};
        pilfer::scope all;
        for (int i = 0; i < 1000; ++i) {
            all.fork([&rested] {
                pilfer::sleep_for(20ms); // its worker runs the next one meanwhile
                ++rested;
            });
        }
        all.sync();
        std::printf("%d tasks have slept side by side\n", rested.load());
    });

    // A periodic task holds no stack between its runs, never overlaps itself, and ends itself here.
    int ticks = 0;
    const pilfer::timer clock = pilfer::every(pool, 2ms, [&ticks] {
        ++ticks;
        std::printf("tick %d\n", ticks);
        return ticks < 3;
    });
    while (!clock.over()) {
        pilfer::sleep_for(1ms); // of a thread that is no worker: it blocks
    }

    // A time limit that is not needed after all.
    pilfer::timer limit = pilfer::after(pool, 1h, [] { std::printf("too late\n"); });
    std::printf("%s\n", limit.cancel() ? "called off" : "it has run");

    // Accepted tasks run before the pool ends.
    (void)pilfer::after(pool, 5ms, [] { std::printf("the end\n"); });
}
