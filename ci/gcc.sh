#!/usr/bin/env bash
# g++, optimised: everything is built and tested, except that the consumers and the checker have legs of their own and
# the clang leg compiles every header alone. Of the tests those are fully optimised that rest on what is inlined into
# them; clang does the same with all.
source "$(dirname "$0")/lib.sh"
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_TEST_FLAGS=-O1 \
    -DPILFER_TEST_OPTIMISED=context,deque,future,idle,join,parallel,scope,sync,worker"
leg release -LE '^(consume|headers|long_model)$'
