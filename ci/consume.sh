#!/usr/bin/env bash
# The library as a stranger uses it: each way that docs/installing.md names.
source "$(dirname "$0")/lib.sh"
release_leg -L '^consume$'
