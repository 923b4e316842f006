#!/usr/bin/env bash
# switches.sh <source> <work folder> <c++ compiler> <c compiler>: every switch of the build configures, alone and with the
# others, and a wrong value is refused.
set -euo pipefail
source=$1 work=$2 cxx=$3 cc=$4
rm -rf "$work"
mkdir -p "$work"
number=0

configures() { # [cmake argument]...
    number=$((number + 1))
    cmake -S "$source" -B "$work/$number" -G Ninja "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_COMPILER=$cc" "$@" \
        >"$work/$number.log" 2>&1
}
expect() { # <result> [cmake argument]...
    local wanted=$1 result=0
    shift
    configures "$@" || result=1
    if ((result != wanted)); then
        echo "switches.sh: configuring with '$*' ended with $result" >&2
        tail -n 20 "$work/$number.log" >&2
        exit 1
    fi
    echo "$result: $*"
}

# Alone, and all but one.
parts=(TESTS BENCH EXAMPLES SHOWCASE TOOLS)
expect 0
for part in "${parts[@]}"; do
    one=() others=()
    for other in "${parts[@]}"; do
        [[ $other == "$part" ]] && value=ON || value=OFF
        one+=("-DPILFER_$other=$value")
        [[ $other == "$part" ]] && value=OFF || value=ON
        others+=("-DPILFER_$other=$value")
    done
    expect 0 "${one[@]}"
    expect 0 "${others[@]}" -DBUILD_SHARED_LIBS=ON
done
expect 0 -DPILFER_TESTS=ON -DPILFER_SANITIZE=address
expect 0 -DPILFER_TESTS=ON -DPILFER_SANITIZE=thread -DPILFER_CHAOS_EVERYWHERE=ON
expect 0 -DPILFER_PORTABLE=ON -DPILFER_CHECKED=ON -DPILFER_HWLOC=OFF
expect 0 -DPILFER_UNITY=ON -DPILFER_INSTALL=OFF -DPILFER_RACE=OFF -DPILFER_LIBDW=OFF
expect 1 -DPILFER_TOOLS=perhaps
expect 1 -DPILFER_UNITY=perhaps
expect 1 -DPILFER_LIBDW=perhaps

# A user's build has the library and the command, and no tests.
[[ $(ninja -C "$work/1" -t targets all) == *pilfer_tool* ]] || { echo "no command by default" >&2; exit 1; }
if ninja -C "$work/1" -t targets all | grep -qE '^(tests|bench|examples|showcase)/[^:]*_test'; then
    echo "tests by default" >&2
    exit 1
fi
