// Workers that do not sleep: for a burst of tasks with pauses in between.
#include <cstdio>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::options o;
    o.workers = 2;
    // How long a worker that finds nothing looks on before it sleeps: latency, balanced (the default), or
    // battery, which does not. PILFER_SPIN=... asks for it from outside.
    o.spin = pilfer::idle::battery;
    pilfer::pool pool(o);
    long sum = 0;
    {
        const pilfer::keep_warm warm(pool); // no worker sleeps until the end of this block
        for (int i = 1; i <= 100; ++i) {
            sum += pool.run([i] { // each finds a worker that is awake
                auto [a, b] = pilfer::join([i] { return i; }, [i] { return i; });
                return a + b;
            });
        }
    }
    std::printf("sum: %ld\n", sum);
}
