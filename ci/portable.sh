#!/usr/bin/env bash
# The fallback for other processors, tested on this one: stacks are switched by ucontext. Also the checked build: one
# leg for both, because neither changes what the other tests.
source "$(dirname "$0")/lib.sh"
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_CHECKED=ON -DPILFER_TEST_LONG=OFF"
whole_leg portable -LE '^(consume|headers|names)$'
