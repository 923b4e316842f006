// A pool is set up by plain values; counters tell its activity.
#include <cstddef>
#include <cstdio>
#include <stdexcept>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::options o{
        .workers = 2,                          // 0: as many as the affinity mask and the CPU quota allow
        .stack_size = std::size_t{512} * 1024, // bytes per context
        .max_contexts = 1'000,                 // above it, spawn is a plain call
        .balance = {.victim = pilfer::victim::ring},
        .debug = {.count_all = true}, // exact counts, at a cost
    };
    pilfer::pool pool(o);
    std::printf("workers: %u, stack: %zu KiB\n", pool.workers(), pool.settings().stack_size / 1'024);

    pool.run([] {
        pilfer::scope s;
        for (int i = 0; i < 100; ++i) {
            s.fork([] {});
        }
        s.sync();
    });
    const pilfer::counters c = pool.counters();
    std::printf("announced: %llu\n", static_cast<unsigned long long>(c.announced));
    std::printf("submitted and run: %llu\n", static_cast<unsigned long long>(c.run_submitted));

    o.stack_size = 100;
    try {
        const pilfer::pool impossible(o);
    } catch (const std::invalid_argument& e) {
        std::printf("%s\n", e.what());
    }
}
