// A program in which every probe fires: probes.sh compares how often with the counters that it prints.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::options o;
    o.workers = 2;
    pilfer::pool pool(o);
    pool.run([] {
        std::atomic<bool> taken{false};
        (void)pilfer::join(
            [&taken] {
                while (!taken) { // another worker takes the second function
                    std::this_thread::yield();
                }
            },
            [&taken] { taken = true; });
        pilfer::event never;
        (void)never.wait_for(std::chrono::milliseconds(1)); // suspends, with any thief
        pilfer::scope cancelled;
        cancelled.cancel();
        cancelled.sync();
        try {
            pilfer::scope failing; // its failure cancels it, too
            failing.fork([] { throw std::runtime_error("planned"); });
            failing.sync();
        } catch (const std::runtime_error&) {
        }
    });
    while (pool.counters().sleeps < 2) { // both workers
        std::this_thread::yield();
    }
    pool.shutdown();
    const pilfer::counters c = pool.counters();
    const auto print = [](const char* probe, std::uint64_t times) {
        std::printf("counted %s %llu\n", probe, static_cast<unsigned long long>(times));
    };
    print("steal", c.run_stolen);
    print("park", c.sleeps);
    print("unpark", c.sleeps);
    print("wake", c.wakes);
    print("suspend", c.suspends);
    print("resume", c.resumes);
}
