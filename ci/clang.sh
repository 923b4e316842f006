#!/usr/bin/env bash
# clang++-19, optimised.
source "$(dirname "$0")/lib.sh"
whole_leg clang -LE '^(consume|names|long_model|faults)$'
