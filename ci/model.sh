#!/usr/bin/env bash
# The checker: every harness, a quarter of the bugs put back (every commit another one, and all patches must apply), and
# every order weakened by one step. The tests of the checker itself are in the gcc leg. ci/long takes all of it.
source "$(dirname "$0")/lib.sh"
export PILFER_SEEDED="${PILFER_SEEDED:-$(commits_turn 4)}"
release_leg -L '^long_model$' -j 1 --verbose
