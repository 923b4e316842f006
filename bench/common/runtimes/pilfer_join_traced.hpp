// pilfer by join while every worker writes a trace, as PILFER_TRACE=FILE makes it do; no file is written.
#pragma once
#define BENCH_TRACED
#include "common/runtimes/pilfer_join.hpp"
