#!/usr/bin/env bash
# ThreadSanitizer. Arguments: presets, by default that of clang++-19; tsan is g++'s.
source "$(dirname "$0")/lib.sh"
# At the end of a process that still has threads it waits a second for their races; a fifth of that is many times what
# a task here takes.
# Not the rooms in which one thread reads text or counts, nor explore: one thread runs all tasks there, and
# tests/consume/sanitized.sh has a program of it.
# Not libpilfer-tbb, whose tests ci/long has.
export PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_INSTALL=OFF $(no_examples) \
    $(rooms_but bad_input check docs explore profile study tools)"
export TSAN_OPTIONS="atexit_sleep_ms=200 ${TSAN_OPTIONS:-}"
for preset in "${@:-clang-tsan}"; do
    whole_leg "$preset" -LE '^(consume|headers|names)$'
done
