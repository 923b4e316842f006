#!/usr/bin/env bash
# g++, optimised: everything is built and tested. The consumers and the checker have legs of their own, and the
# clang leg compiles every header alone. Of the benchmarks' kernels some stand for all (ci/long has them all). Of
# the tests those are optimised that rest on what is inlined into them, as far as that is done at -O1: more makes the
# clang leg of them, and ci/long. The library's rooms are compiled together: the abi leg compiles each file of
# libpilfer alone, and checks there what rooms need from each other when they are linked.
source "$(dirname "$0")/lib.sh"
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} $(only_some_optimised -O1) \
    -DPILFER_BENCH_KERNELS=dispatch,fib,flat_loop"
release_leg -LE '^(consume|headers|long_model)$'
