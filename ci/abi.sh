#!/usr/bin/env bash
# Builds the shared library and compares its binary interface with the dump of this version in abi/ (docs/versions.md).
# Ends with 1 if a program that is linked with the recorded one would not run with this one. New functions are allowed.
# `ci/abi.sh --write` writes the dump, abi/libpilfer-VERSION.abi.xz, instead; to be done when a version is released.
# x86-64 and g++ only: the dump says nothing about others. Ends with 77 there.
# Each file is an object here, so this is also where the order of rooms is checked as what is linked shows it.
source "$(dirname "$0")/lib.sh"
need_packages "${packages_abi[@]}"

if [[ $(uname -m) != x86_64 ]]; then
    echo "SKIPPED: the dump is that of x86-64"
    exit 77
fi
version=$(sed -nE 's/^project\(pilfer VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
recorded=abi/libpilfer-$version.abi.xz
folder=${PILFER_BUILD:-build}/abi

# As it is installed, with the debug information that says what types are made of. hwloc shows in no interface.
# shellcheck disable=SC2086 # PILFER_CMAKE_ARGS may be several arguments
cmake --preset library -B "$folder" -DBUILD_SHARED_LIBS=ON -DPILFER_UNITY=OFF -DPILFER_WERROR=ON -DPILFER_HWLOC=OFF \
    -DCMAKE_CXX_FLAGS=-g -DCMAKE_C_FLAGS=-g ${PILFER_CMAKE_ARGS:-} >/dev/null
cmake --build "$folder" -j "$(nproc)" --target pilfer pilfer_threadpool -- --quiet
ci/layers.py --linked "$folder"
library=$folder/libpilfer.so.$version

# Types that no public header defines are not described further: programs cannot depend on them. No paths, no lines.
abidw --headers-dir include --drop-private-types --no-show-locs --no-corpus-path --no-comp-dir-path \
    --out-file "$folder/now.abi" "$library"

if [[ ${1:-} == --write ]]; then
    mkdir -p abi
    xz -9 -c "$folder/now.abi" >"$recorded"
    echo "abi: $recorded, $(stat -c %s "$recorded") bytes"
    exit
fi
if [[ ! -f $recorded ]]; then
    echo "abi: there is no $recorded; a released version has one (ci/abi.sh --write)"
    exit 1
fi
xz -dc "$recorded" >"$folder/recorded.abi"
# Bits of abidiff's result: 1 and 2 failed, 4 something has changed, 8 something that breaks programs.
result=0
abidiff --no-added-syms --suppressions ci/abi.suppr "$folder/recorded.abi" "$folder/now.abi" || result=$?
if ((result != 0)); then
    echo "abi: FAILED: differs from $recorded (abidiff said $result)"
    exit 1
fi
echo "abi: as in $recorded; $(grep -c '<elf-symbol ' "$folder/now.abi") symbols"
