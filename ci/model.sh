#!/usr/bin/env bash
# The checker: every harness, the bugs put back, and every order weakened by one step. The tests of the checker itself
# are in the gcc leg.
source "$(dirname "$0")/lib.sh"
leg release -L '^long_model$' -j 1 --verbose
