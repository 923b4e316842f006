// OpenMP by a parallel region for each loop, with a static schedule: for kernels of loops that follow each
// other.
#pragma once
#define BENCH_OPENMP_SCHEDULE static
#define BENCH_OPENMP_SUFFIX "_static"
#define BENCH_OPENMP_REGIONS
#include "common/runtimes/openmp.hpp"
