// A scope is cancelled: by its owner, by a deadline, by a std::stop_token. A task that has not started never
// starts. A computing task leaves at its next spawn, join or loop. A waiting task is woken. Destructors run.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <stop_token>

#include <pilfer/pilfer.hpp>

namespace {

using namespace std::chrono_literals;

/// How many have begun and not left.
std::atomic<int> inside{0};

struct visit {
    visit() { ++inside; }
    ~visit() { --inside; }
    visit(const visit&) = delete;
    visit& operator=(const visit&) = delete;
};

void compute() {
    const visit v;
    for (;;) {
        (void)pilfer::join([] {}, [] {}); // throws pilfer::stopped
        pilfer::yield();                  // else a pool of one worker would never get to a timer
    }
}

void sleep_long() {
    const visit v;
    pilfer::sleep_for(1h); // throws pilfer::stopped
}

void tell(const char* what) { std::printf("%s: %d tasks are left\n", what, inside.load()); }

} // namespace

int main() {
    pilfer::pool pool;
    pool.run([] {
        pilfer::scope s;
        s.fork(compute);
        s.fork(sleep_long);
        s.cancel();
        s.sync(); // after this the scope is as new
        tell("cancelled by its owner");
        {
            const pilfer::deadline limit(s, 10ms);
            s.spawn(compute);
            s.spawn(sleep_long);
            s.sync();
        }
        tell("too late");
        {
            std::stop_source source;
            const pilfer::cancel_on token(s, source.get_token());
            s.spawn(sleep_long);
            s.fork([&source] { source.request_stop(); });
            s.sync();
        }
        tell("stop requested");
    });
}
