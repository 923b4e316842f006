#!/usr/bin/env bash
# The checker: every harness, every order weakened by one step, every bug put back. The tests of the checker itself are
# in the gcc leg.
source "$(dirname "$0")/lib.sh"
release_leg -L '^long_model$' -j 1 --verbose
