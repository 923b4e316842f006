// A main loop: the thread of main() works for the pool until the loop is stopped. It sleeps when there is
// nothing to do.
#include <atomic>
#include <cstdio>
#include <thread>

#include <pilfer/pilfer.hpp>

int main() {
    std::atomic<bool> busy{false};
    std::atomic<bool> end{false};
    std::atomic<int> frames{0};
    pilfer::options o;
    o.workers = 1;
    o.attachable = 1;     // one thread outside may work for the pool at a time
    pilfer::pool pool(o); // declared after the objects of its tasks: its destructor waits for them

    // The worker is busy with something long, so that all that is submitted is left to this thread.
    pool.submit([&] {
        busy = true;
        while (!end) {
            std::this_thread::yield();
        }
    });
    while (!busy) {
        std::this_thread::yield();
    }

    const auto me = std::this_thread::get_id();
    std::thread user([&] { // another thread has work now and then
        for (int i = 0; i < 3; ++i) {
            pool.submit([&] {
                std::printf("a frame: drawn by %s thread\n",
                            std::this_thread::get_id() == me ? "this" : "another");
                frames.fetch_add(1);
                pool.notify(); // the loop's condition may have changed
            });
        }
    });
    pool.run_until([&] { return frames == 3; });
    user.join();
    end = true;
    std::puts("the loop has ended");
}
