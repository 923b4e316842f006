#!/usr/bin/env bash
# The leg of ./test: the library and its tests by g++, for a first look at a change or a machine, in the folder that the
# g++ leg uses. That leg has the benchmarks, the tools, the showcase, the optional libraries but pilfer::test, and the two longest
# tests on top.
source "$(dirname "$0")/lib.sh"
PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} $(only_some_optimised -O1) -DPILFER_BENCH=OFF -DPILFER_SHOWCASE=OFF \
    -DPILFER_TOOLS=OFF -DPILFER_TBB=OFF -DPILFER_RACE=OFF -DPILFER_CLUSTER=OFF -DPILFER_TEST_LONG=OFF \
    $(rooms_but chaos cluster consume docs fuzz headers race showcase study tbb tools)"
export PILFER_CMAKE_ARGS
release_leg
