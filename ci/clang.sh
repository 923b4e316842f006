#!/usr/bin/env bash
# clang++-19, optimised, without the two long tests: the g++ leg and the model leg have them. Benchmarks, showcase and
# tools are programs on top, a third of what there is to compile: the g++ leg has them, and ci/long with clang, too.
# Of the tests it takes those that rest on what the optimiser makes of the library. The sanitizers' legs have clang compile
# the others, except those of races.
source "$(dirname "$0")/lib.sh"
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_INSTALL=OFF -DPILFER_TEST_LONG=OFF -DPILFER_BENCH=OFF -DPILFER_SHOWCASE=OFF \
    -DPILFER_TOOLS=OFF $(only_some_optimised) $(no_examples) \
    $(only_rooms platform capi context coroutine deque future headers idle join memory parallel race scope sync worker)"
whole_leg clang -LE '^(consume|names)$'
