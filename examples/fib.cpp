// The smallest recursion: two calls that may run in parallel, and their results.
#include <cstdio>

#include <pilfer/pilfer.hpp>

namespace {

[[nodiscard]] long fib(int n) {
    if (n < 2) {
        return n;
    }
    const auto [a, b] = pilfer::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

}  // namespace

int main() {
    pilfer::pool pool;
    std::printf("fib(27) = %ld\n", pool.run([] { return fib(27); }));
}
