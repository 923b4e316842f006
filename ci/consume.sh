#!/usr/bin/env bash
# The library as a stranger uses it: each way that docs/installing.md names. The tests build what they need, so nothing is
# built before.
source "$(dirname "$0")/lib.sh"
export PILFER_BUILD="${PILFER_BUILD:-build}/consume"
# shellcheck disable=SC2086 # PILFER_CMAKE_ARGS may be several arguments
cmake --preset release -B "$PILFER_BUILD/release" "$(only_rooms consume)" ${PILFER_CMAKE_ARGS:-} >/dev/null
tested release -L '^consume$'
