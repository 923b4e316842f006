// The end of a pool: drain runs all accepted tasks, drop leaves out those that have not started.
#include <atomic>
#include <cstdio>
#include <thread>

#include <pilfer/pilfer.hpp>

namespace {

[[nodiscard]] pilfer::options one_worker() {
    pilfer::options o;
    o.workers = 1;
    return o;
}

void drain() {
    pilfer::pool pool(one_worker());
    std::atomic<int> ran{0};
    for (int i = 0; i < 10; ++i) {
        pool.async([&ran] { ++ran; });
    }
    pool.shutdown();
    std::printf("drain: %d of 10 ran\n", ran.load());
    try {
        pool.run([] {});
    } catch (const pilfer::pool_closed& e) {
        std::printf("afterwards: %s\n", e.what());
    }
}

/// Until then shutdown has not begun.
void wait_until_closed(pilfer::pool& pool) {
    try {
        for (;;) {
            pool.async([] {});
            std::this_thread::yield();
        }
    } catch (const pilfer::pool_closed&) {
    }
}

void drop() {
    pilfer::pool pool(one_worker());
    std::atomic<bool> started{false};
    std::atomic<bool> go_on{false};
    pool.async([&] {
        started = true;
        while (!go_on) {
            std::this_thread::yield();
        }
    });
    while (!started) {
        std::this_thread::yield();
    }
    auto waiting = pool.async([] {}); // queued after the running one
    std::thread closer([&] { pool.shutdown(pilfer::shutdown_mode::drop); });
    wait_until_closed(pool);
    go_on = true;
    closer.join();
    try {
        waiting.get();
        std::printf("drop: the waiting task ran\n");
    } catch (const pilfer::broken_promise& e) {
        std::printf("drop: %s\n", e.what());
    }
}

} // namespace

int main() {
    drain();
    drop();
}
