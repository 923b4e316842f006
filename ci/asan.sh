#!/usr/bin/env bash
# AddressSanitizer and UndefinedBehaviorSanitizer, and the checked build: one leg for both, because neither changes what
# the other finds. Not libpilfer-tbb, whose tests ci/long has. Arguments: presets, by default that of clang++-19, which
# compiles this in half the time; asan is g++'s.
source "$(dirname "$0")/lib.sh"
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_CHECKED=ON $(rooms_but docs study)"
for preset in "${@:-clang-asan}"; do
    whole_leg "$preset" -LE '^(consume|headers|names)$'
done
