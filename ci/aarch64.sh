#!/usr/bin/env bash
# Cross build for AArch64, tested under qemu-user: the rooms that switch stacks or rest on who does. The emulator orders
# memory as this machine does, so the others would show nothing new; ci/long runs them all the same. Ends with 77
# (skipped) only where the tools cannot be installed.
source "$(dirname "$0")/lib.sh"
if ! need_packages "${packages_aarch64[@]}"; then
    echo "SKIPPED aarch64: apt-get cannot install $(missing_packages "${packages_aarch64[@]}" | paste -sd ' ')"
    exit 77
fi
PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_INSTALL=OFF $(no_examples) $(only_rooms platform context join scope)"
export PILFER_CMAKE_ARGS
whole_leg aarch64 -LE '^(consume|headers|names)$'
