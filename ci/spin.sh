#!/usr/bin/env bash
# SPIN: every model of a protocol is explored completely, and every wrong variant of it must be refuted.
# ci/spin.sh --long: more workers and more pushes too; up to 12 GB of memory and an hour.
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/lib.sh"
for tool in spin gcc; do
    if ! command -v "$tool" >/dev/null; then
        echo "spin.sh: '$tool' is missing (Debian packages: spin gcc)" >&2
        exit 1
    fi
done

models=() # "model:macros", explored completely
wrong=()  # "model:macros:variant", refuted

proved() {
    local model=$1 size
    shift
    for size in "$@"; do models+=("$model:$size"); done
}
refuted() {
    local model=$1 size=$2 variant
    shift 2
    for variant in "$@"; do wrong+=("$model:$size:$variant"); done
}

# Workers that push and search.
private='N=3 PUSHES=2 SUBMITS=0'
# Workers, a foreign thread that submits, summons and contexts that make way.
queues='N=2 PUSHES=1 SUBMITS=1'
proved sleep "$private" "$queues" 'N=3 PUSHES=1 SUBMITS=0 PINNED' 'N=2 PUSHES=3 SUBMITS=0'
refuted sleep "$private" RING_ONLY ONE_SHOT TELL_AWAKE_ONLY NO_MEMBARRIER NO_MAP_FENCE \
    NO_TOKEN TOKEN_ENDS_IN_SCAN LATE_TOKEN_DROPPED NO_PUBLISH_FENCE NO_SETTLE_FENCE TOKEN_IN_RUNNING_SEAT
refuted sleep 'N=2 PUSHES=2 SUBMITS=0' NO_SECOND_LOOK
refuted sleep "$queues" SCAN_WITHOUT_QUEUES NO_SUBMIT_FENCE NO_SUMMON SUMMON_FORGOTTEN NO_REMIND \
    TOKEN_SUMMONS_NOBODY NO_WAKE_AT_REQUEUE

race='WORKERS=2 SHUTTERS=2 SUBMITS=1 INNER=1'
visited='WORKERS=2 SHUTTERS=1 SUBMITS=1 INNER=0 VISITOR=1'
proved shutdown "$race" "$visited" 'WORKERS=1 SHUTTERS=2 SUBMITS=2 INNER=1'
refuted shutdown "$race" BEGINS_BEFORE_ENDS BEGUN_AFTER_PUSH END_BEFORE_LAST_CHILD CLOSED_BEFORE_COUNT \
    REFUSED_TELLS_NOBODY LATE_CLOSED LATE_LOOK_AT_CLOSED IDLE_TELLS_NOBODY EPOCH_STAYS EPOCH_AFTER_LOOK \
    EPOCH_WAKES_NOBODY SLEEP_OVER_STOP MAP_BEFORE_STOP STOP_WAKES_ONE STOP_WAKES_NOBODY NOBODY_JOINS \
    SECOND_RETURNS_AT_ONCE
refuted shutdown "$visited" NOBODY_COUNTS_VISITORS

megabytes=3000
jobs=$(nproc)
if [[ "${1:-}" == --long ]]; then
    megabytes=12000
    jobs=1
    proved sleep 'N=3 PUSHES=3 SUBMITS=0' 'N=2 PUSHES=2 SUBMITS=1' 'N=3 PUSHES=0 SUBMITS=1' \
        'N=3 PUSHES=2 SUBMITS=0 PINNED'
    proved shutdown 'WORKERS=2 SHUTTERS=2 SUBMITS=1 INNER=2' 'WORKERS=2 SHUTTERS=2 SUBMITS=2 INNER=0' \
        'WORKERS=2 SHUTTERS=1 SUBMITS=1 INNER=1 VISITOR=1'
elif (($#)); then
    echo "spin.sh: unknown argument '$1'" >&2
    exit 2
fi

# explore <optimisation> <depth> <model:macros>...: prints what the checker says. Where a variant is wrong, a bounded
# depth finds the error in fewer states; a proof that met its bound is none, see below.
explore() (
    local level=$1 depth=$2 model=${3%%:*} macros=()
    read -ra macros <<<"${3#*:}"
    cd "$(mktemp -d -p "$folder")"
    cp "$top/tests/model/spin/$model.pml" model.pml
    spin "${macros[@]/#/-D}" -a model.pml >spin.log 2>&1 || cat spin.log
    gcc "$level" -w -DSAFETY -DCOLLAPSE "-DMEMLIM=$megabytes" -o pan pan.c
    ./pan "-m$depth"
)

# judge <kind> <model:macros>: one line; returns 1 if the kind (proved, refuted) is not what came out.
judge() {
    local kind=$1 row=$2 text states name
    name=$(printf '%-8s %s' "${row%%:*}" "$(tr ':' ' ' <<<"${row#*:}")")
    if [[ $kind == proved ]]; then
        text=$(explore -O2 3000000 "$row" 2>&1)
    else
        text=$(explore -O1 150 "${row%:*} ${row##*:}" 2>&1)
    fi
    states=$(grep -oP '^ *\K[0-9.e+]+(?= states, stored)' <<<"$text")
    if [[ $kind == proved ]]; then
        grep -q 'errors: 0' <<<"$text" && ! grep -qE 'depth too small|not completed|memory (limit|reached)' <<<"$text"
    else
        grep -q 'errors: 1' <<<"$text" && grep -qE 'assertion violated|invalid end state' <<<"$text"
    fi
    # shellcheck disable=SC2181 # of either grep
    if (($?)); then
        printf 'FAILED: %s is not %s\n%s\n' "$name" "$kind" "$(tail -n 25 <<<"$text")"
        return 1
    fi
    printf '%-8s %12s states  %s\n' "$kind" "$(printf "%'.0f" "$states")" "$name"
}

top=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export top folder megabytes
export -f explore judge
export LC_ALL=C
printf '%s\0' "${models[@]/#/proved }" "${wrong[@]/#/refuted }" |
    xargs -0 -P "$jobs" -I ROW bash -c 'row=$1; judge "${row%% *}" "${row#* }"' judge ROW 2>&1 | tee "$folder/result" || true
good=$(grep -c '^proved ' "$folder/result" || true)
bad=$(grep -c '^refuted ' "$folder/result" || true)
if ((good != ${#models[@]} || bad != ${#wrong[@]})); then
    echo "spin: FAILED: $good of ${#models[@]} models proved, $bad of ${#wrong[@]} wrong ones refuted"
    exit 1
fi
echo "spin: $good models proved, $bad wrong ones refuted"
