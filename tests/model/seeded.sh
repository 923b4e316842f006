#!/usr/bin/env bash
# seeded.sh TREE WORK COMPILER OBJECTS...: puts each bug of seeded/*.patch into a copy of the protocol text and demands
# that the harness named in the patch's first line finds it. OBJECTS: the checker itself, the library and what that needs.
# PILFER_SEEDED=k/n: every n-th bug only, from the k-th on; the other patches must still apply.
set -euo pipefail
tree=$1 work=$2 compiler=$3
shift 3
objects=("$@")

# The main function and the headers that all harnesses have are compiled once: no patch changes them. -O0: nearly all bugs
# are found in milliseconds, so compiling takes the time.
compile=("$compiler" -std=c++20 -O0 -DPILFER_STATIC)
folders=(-I"$tree/include" -I"$tree/src" -I"$tree/tests/model" -I"$tree/tests/model/harness")
mkdir -p "$work"
"${compile[@]}" "${folders[@]}" -c "$tree/tests/model/seeded.cpp" -o "$work/seeded.o"
objects+=("$work/seeded.o")
printf '#include %s\n' '<algorithm>' '<array>' '<iterator>' '<optional>' '"harness.hpp"' '"resting.hpp"' >"$work/all.hpp"
"${compile[@]}" "${folders[@]}" -MD -MF "$work/all.d" -x c++-header "$work/all.hpp" -o "$work/all.hpp.gch"

IFS=/ read -r first every <<<"${PILFER_SEEDED:-0/1}"
if [[ ! $first =~ ^[0-9]+$ || ! $every =~ ^[1-9][0-9]*$ ]]; then
    echo "PILFER_SEEDED is '$PILFER_SEEDED', but must be k/n" >&2
    exit 2
fi

# one <patch> <tried>: prints a line. It ends with 0 if the bug is found; for a patch that is not tried, if
# the patch applies.
one() {
    local patch=$1 tried=$2 name copy harness source output file files common result=0
    name=$(basename "$patch" .patch)
    copy=$work/$name
    harness=$(sed -n '1s/.*found by \([a-z0-9_]*\).*/\1/p' "$patch")
    if [[ -z $harness ]]; then
        echo "$name: the first line names no harness"
        return 1
    fi
    if ! ((tried)); then
        output=$(cd "$tree" && patch -p1 --dry-run --silent --force <"$patch" 2>&1) && return 0
        echo "$name: no longer applies: $output"
        return 1
    fi
    rm -rf "$copy"
    mkdir -p "$copy/tests/model"
    cp -r "$tree/tests/model/harness" "$copy/tests/model"
    # Of the library only the files that change: they are found first, and all others in the tree.
    common=(-include "$work/all.hpp")
    mapfile -t files < <(sed -nE 's|^\+\+\+ b/([^[:space:]]*).*|\1|p' "$patch")
    for file in "${files[@]}"; do
        mkdir -p "$copy/$(dirname "$file")"
        cp "$tree/$file" "$copy/$file"
        ! grep -qF "$tree/$file" "$work/all.d" || common=()
    done
    if ! output=$(cd "$copy" && patch -p1 --no-backup-if-mismatch <"$patch" 2>&1); then
        echo "$name: no longer applies: $output"
        return 1
    fi
    source=$(grep -lE "\"$harness\"" "$copy"/tests/model/harness/*.cpp | head -n 1)
    if [[ -z $source ]]; then
        echo "$name: there is no harness $harness"
        return 1
    fi
    if ! output=$("${compile[@]}" -I"$copy/include" -I"$copy/src" "${folders[@]}" "${common[@]}" \
        "$source" "${objects[@]}" -lpthread -o "$copy/seeded" 2>&1); then
        echo "$name: does not compile: $output"
        return 1
    fi
    output=$("$copy/seeded" "$harness") || result=$?
    echo "$name: $output"
    ((result == 0)) && rm -rf "$copy"
    return "$result"
}

patches=("$tree"/tests/model/seeded/*.patch)
# The whole checker is sound only if the unpatched text passes: `pilfer_check run` shows that.
running=0
failed=0
tried=0
for number in "${!patches[@]}"; do
    if ((running == $(nproc))); then
        wait -n || failed=$((failed + 1))
        running=$((running - 1))
    fi
    try=$((number % every == first % every))
    tried=$((tried + try))
    one "${patches[number]}" "$try" &
    running=$((running + 1))
done
while ((running > 0)); do
    wait -n || failed=$((failed + 1))
    running=$((running - 1))
done
echo "seeded: $tried of ${#patches[@]} bugs tried, $failed not found or no longer applicable"
((failed == 0))
