#!/usr/bin/env bash
# libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer: every fuzzer for a while, from the committed inputs.
# ci/fuzz.sh [SECONDS]: of each fuzzer, 15 by default. A finding is kept in build/fuzz/findings.
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
seconds=${1:-15}
folder=${PILFER_BUILD:-build}/fuzz
cmake --preset fuzz -B "$folder" >/dev/null
cmake --build "$folder" -j "$(nproc)" --target text_fuzz calls_fuzz wire_fuzz -- --quiet
mkdir -p "$folder/findings"
export UBSAN_OPTIONS=print_stacktrace=1
total=0
declare -A running
for name in text calls wire; do
    echo "== $name: $seconds s"
    mkdir -p "$folder/corpus/$name"
    # Interesting inputs go to the first folder, for the next time; the second one is only read.
    "$folder/tests/fuzz/${name}_fuzz" -max_total_time="$seconds" -timeout=300 -max_len=512 -print_final_stats=1 \
        -artifact_prefix="$folder/findings/$name-" "$folder/corpus/$name" "tests/fuzz/corpus/$name" \
        >"$folder/$name.log" 2>&1 </dev/null &
    running[$name]=$!
done
for name in "${!running[@]}"; do
    result=0
    wait "${running[$name]}" || result=$?
    if ((result)); then
        tail -n 60 "$folder/$name.log"
        echo "fuzz: FAILED: $name, exit $result"
        exit 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log")
    echo "$name: $runs runs"
    ((runs > 0)) # anything else is a fuzzer that did nothing
    total=$((total + runs))
done
echo "fuzz: $total runs, 0 findings"
