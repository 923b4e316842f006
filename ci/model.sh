#!/usr/bin/env bash
# The checker: every harness, every order weakened by one step, and of the bugs put back those whose turn it is, by ./test a
# quarter (all patches must apply). The tests of the checker itself are in the gcc leg.
source "$(dirname "$0")/lib.sh"
export PILFER_SEEDED="${PILFER_SEEDED:-$(commits_turn 4)}"
release_leg -L '^long_model$' -j 1 --verbose
