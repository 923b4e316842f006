// fib by pilfer::scope and fork.
#include "common/runtimes/pilfer_fork.hpp"
#include "common/program.hpp"
#include "kernels/fib/config.hpp"

static std::uint64_t fib(int n) {
    if (n < 2)
        return static_cast<std::uint64_t>(n);
    std::uint64_t a = 0;
    pilfer::scope scope;
    scope.fork([&] { a = fib(n - 1); });
    const std::uint64_t b = fib(n - 2);
    scope.sync();
    return a + b;
}

int main(int argc, char** argv) {
    return bench::run_program<bench::runtime, bench::fib::kernel<fib>>(argc, argv);
}
