// A pool whose number of workers is set from outside, and one that finds it out by itself.
#include <atomic>
#include <cstdio>

#include <pilfer/pilfer.hpp>

namespace {

long fib(int n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return a + b;
}

} // namespace

int main() {
    std::atomic<unsigned> on_battery{0};
    pilfer::options o;
    o.workers = 3;
    o.advice = [&] { return on_battery ? 1U : 0U; }; // 0: no opinion
    pilfer::pool pool(o);
    std::printf("%u workers\n", pool.workers());
    on_battery = 1;
    while (pool.workers() != 1) { // asked twenty times a second, while the pool works
        pool.run([] { return fib(16); });
    }
    std::printf("%u worker\n", pool.workers());

    // Parks workers while other programs want the CPUs, if the kernel reports how long threads wait for them.
    o = {};
    o.governor = pilfer::governing::on;
    pilfer::pool polite(o);
    std::printf("fib(20) = %ld\n", polite.run([] { return fib(20); }));
}
