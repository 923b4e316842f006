// fib as a plain recursive function.
#include "common/runtimes/serial.hpp"
#include "common/program.hpp"
#include "kernels/fib/config.hpp"

static std::uint64_t fib(int n) {
    if (n < 2)
        return static_cast<std::uint64_t>(n);
    return fib(n - 1) + fib(n - 2);
}

int main(int argc, char** argv) {
    return bench::run_program<bench::runtime, bench::fib::kernel<fib>>(argc, argv);
}
