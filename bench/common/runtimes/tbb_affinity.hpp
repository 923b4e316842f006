// oneTBB with the partitioner that remembers which worker had which part of the loop before.
#pragma once
#define BENCH_TBB_AFFINITY
#include "common/runtimes/tbb.hpp"
