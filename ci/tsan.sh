#!/usr/bin/env bash
# ThreadSanitizer. Arguments: presets, by default that of clang++-19; tsan is g++'s.
source "$(dirname "$0")/lib.sh"
for preset in "${@:-clang-tsan}"; do
    leg "$preset" -LE '^(consume|headers|names)$'
done
