// OpenMP with loops divided by schedule(guided): pieces that get smaller.
#pragma once
#define BENCH_OPENMP_SCHEDULE guided
#define BENCH_OPENMP_SUFFIX "_guided"
#include "common/runtimes/openmp.hpp"
