#!/usr/bin/env bash
# AddressSanitizer and UndefinedBehaviorSanitizer. Arguments: presets, by default that of
# clang++-19, which compiles this in half the time; asan is g++'s.
source "$(dirname "$0")/lib.sh"
for preset in "${@:-clang-asan}"; do
    whole_leg "$preset" -LE '^(consume|headers|names)$'
done
