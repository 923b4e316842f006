// The source of every program whose kernel is written once for all runtimes. The build names both headers.
#include BENCH_RUNTIME_HEADER
#include BENCH_KERNEL_HEADER

#include "common/program.hpp"

int main(int argc, char** argv) {
    return bench::run_program<bench::runtime, bench::kernel<bench::runtime>>(argc, argv);
}
