// Each worker on a CPU of its own. Pinning is off by default: it pays if no other program uses the machine.
#include <cstdio>

#include <pilfer/pilfer.hpp>

namespace {

long fib(long n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

} // namespace

int main() {
    pilfer::options o;
    o.workers = 2;
    // compact: one package and cache after the other, for workers that share data. spread: packages and
    // caches in turn, for workers that each need much cache or memory bandwidth. PILFER_PIN=... asks for it
    // from outside.
    o.pin = pilfer::pinning::compact;
    o.balance.victim = pilfer::victim::nearest; // thieves first rob workers that share a cache with them
    pilfer::pool pool(o);
    std::printf("pinned: %s\n", pool.settings().pin == pilfer::pinning::compact ? "compact" : "no");
    std::printf("fib(20): %ld\n", pool.run([] { return fib(20); }));
    // Which worker is on which CPU: pool.dump(), or `pilfer info --pin compact` without a program.
}
