// A frame loop in which the main thread helps
//
// The window system belongs to the main thread, so that thread cannot be a worker all the time. With
// `options.attachable` it joins the pool for each frame: `run_until` runs tasks until the frame is complete.
#include <atomic>
#include <cstdio>

#include <pilfer/pilfer.hpp>

constexpr int parts = 64;

void simulate(int part) {
    (void)part; // ... the work of one part of the frame
}

int main() {
    pilfer::options o;
    o.attachable = 1; // one thread outside the pool may work for it
    pilfer::pool pool(o);

    for (int frame = 1; frame <= 3; ++frame) {
        std::atomic<int> done{0};
        for (int part = 0; part < parts; ++part) {
            pool.submit([&pool, &done, part] {
                simulate(part);
                if (++done == parts) { // the last use of `done`: run_until may return from here on
                    pool.notify();     // run_until asks its condition again
                }
            });
        }
        // Poll the window's events here, then help until the frame is complete.
        pool.run_until([&] { return done == parts; });
        std::printf("frame %d: %d parts\n", frame, done.load());
    }
}
