// fib by pilfer::join.
#include "common/runtimes/pilfer_join.hpp"
#include "common/program.hpp"
#include "kernels/fib/config.hpp"

static std::uint64_t fib(int n) {
    if (n < 2)
        return static_cast<std::uint64_t>(n);
    const auto [a, b] = pilfer::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return a + b;
}

int main(int argc, char** argv) {
    return bench::run_program<bench::runtime, bench::fib::kernel<fib>>(argc, argv);
}
