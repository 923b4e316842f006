// A pool that is made smaller while something else needs the machine, and larger again.
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
    pilfer::pool pool(
        {.workers = 2, .max_workers = 4}); // threads for the third and fourth: when they are wanted
    std::printf("%u workers: %ld\n", pool.workers(), pool.run([] { return fib(20); }));

    pool.resize(4);
    std::printf("%u workers: %ld\n", pool.workers(), pool.run([] { return fib(20); }));

    // Three workers step aside after their present tasks. No task is lost: this one had begun before.
    auto begun = pool.async([] { return fib(20); });
    pool.resize(1);
    std::printf("%u worker: %ld\n", pool.workers(), begun.get());

    try {
        pool.resize(5);
    } catch (const std::invalid_argument& e) {
        std::printf("%s\n", e.what());
    }
}
