// Three levels of work in one pool: urgent tasks begin first, in any order of submission.
#include <atomic>
#include <cstdio>
#include <thread>

#include <pilfer/pilfer.hpp>

int main() {
    using pilfer::priority;
    pilfer::options o;
    o.workers = 1; // so that the order can be seen
    pilfer::pool pool(o);

    // The worker is busy while the rest is submitted.
    std::atomic<bool> busy{false};
    std::atomic<bool> go_on{false};
    pool.submit([&] {
        busy = true;
        while (!go_on) {
            std::this_thread::yield();
        }
    });
    while (!busy) {
        std::this_thread::yield();
    }

    pool.submit({.priority = priority::low}, [] { std::puts("write the log"); });
    pool.submit([] { std::puts("load the next level"); }); // normal
    pool.submit({.priority = priority::high}, [] { std::puts("render frame 1"); });
    auto second = pool.async({.priority = priority::high}, [] { std::puts("render frame 2"); });
    go_on = true;
    second.wait();
    pool.shutdown(); // runs the others, too
}
