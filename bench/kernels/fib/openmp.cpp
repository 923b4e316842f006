// fib by OpenMP tasks.
#include "common/runtimes/openmp.hpp"
#include "common/program.hpp"
#include "kernels/fib/config.hpp"

static std::uint64_t fib(int n) {
    if (n < 2)
        return static_cast<std::uint64_t>(n);
    std::uint64_t a = 0;
    std::uint64_t b = 0;
#pragma omp task shared(a)
    a = fib(n - 1);
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}

int main(int argc, char** argv) {
    return bench::run_program<bench::runtime, bench::fib::kernel<fib>>(argc, argv);
}
