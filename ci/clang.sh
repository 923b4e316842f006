#!/usr/bin/env bash
# clang++-19, optimised, without the two long tests: the g++ leg and the model leg have them.
source "$(dirname "$0")/lib.sh"
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_TEST_LONG=OFF"
whole_leg clang -LE '^(consume|names)$'
