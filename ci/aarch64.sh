#!/usr/bin/env bash
# Cross build for AArch64, tested under qemu-user. Ends with 77 (skipped) only where the tools cannot be installed.
source "$(dirname "$0")/lib.sh"
if ! need_packages "${packages_aarch64[@]}"; then
    echo "SKIPPED aarch64: apt-get cannot install $(missing_packages "${packages_aarch64[@]}" | paste -sd ' ')"
    exit 77
fi
whole_leg aarch64 -LE '^(consume|names)$'
