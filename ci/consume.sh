#!/usr/bin/env bash
# The library as a stranger uses it: installed static and shared (find_package, pkg-config), as a subdirectory and
# by FetchContent, and by programs without exceptions.
source "$(dirname "$0")/lib.sh"
PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_UNITY=ON"
export PILFER_CMAKE_ARGS # as the g++ leg, whose folder this is
leg release -L '^consume$'
