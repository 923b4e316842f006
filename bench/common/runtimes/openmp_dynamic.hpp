// OpenMP with loops divided by schedule(dynamic): each iteration is asked for by itself.
#pragma once
#define BENCH_OPENMP_SCHEDULE dynamic
#define BENCH_OPENMP_SUFFIX "_dynamic"
#include "common/runtimes/openmp.hpp"
