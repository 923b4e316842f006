#!/usr/bin/env bash
# The fallback for other processors, tested on this one: stacks are switched by ucontext. The rooms that switch stacks
# or rest on who does; the invariants are checked, too, here with g++.
source "$(dirname "$0")/lib.sh"
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_CHECKED=ON -DPILFER_INSTALL=OFF -DPILFER_TBB=OFF -DPILFER_CLUSTER=OFF \
    -DPILFER_TEST_LONG=OFF $(no_examples) $(only_rooms platform memory context coroutine join scope sync worker)"
whole_leg portable -LE '^(consume|headers|names)$'
