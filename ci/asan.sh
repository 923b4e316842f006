#!/usr/bin/env bash
# AddressSanitizer and UndefinedBehaviorSanitizer. Arguments: presets, by default that of g++; clang-asan is the other.
source "$(dirname "$0")/lib.sh"
for preset in "${@:-asan}"; do
    leg "$preset" -LE '^(consume|headers|names)$'
done
