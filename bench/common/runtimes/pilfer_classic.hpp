// pilfer by join with the classic deque: every task is public at once.
#pragma once
#define BENCH_CLASSIC_DEQUE
#include "common/runtimes/pilfer_join.hpp"
