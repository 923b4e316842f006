#!/usr/bin/env bash
# show.sh <folder of the programs> <mpirun> [--small]: each program on 4 ranks of this machine, beside its twin for one machine. Ends
# with 1 if their results differ.
set -euo pipefail
shopt -s inherit_errexit # a program that fails ends the script
folder=$1 mpirun=$2 small=${3:-}
ranks=4
# Open MPI asks root for these, and gives each rank one core unless it is told otherwise.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
launch=("$mpirun" -n "$ranks" --oversubscribe --bind-to none)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# seconds <file for the output> <command>...
seconds() {
    local begin=$EPOCHREALTIME output=$1
    shift
    "$@" >"$output" </dev/null
    LC_ALL=C awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'
}

different=0
# show <what> <program> [<argument>...]
show() {
    local what=$1 program=$2 plain cluster
    shift 2
    plain=$(seconds "$work/plain" "$folder/${program}_plain" "$@")
    cluster=$(seconds "$work/cluster" "${launch[@]}" "$folder/$program" "$@")
    printf '%-34s %8s s %8s s   ' "$what" "$plain" "$cluster"
    if cmp -s "$work/plain" "$work/cluster"; then
        echo "the same: $(tail -n 1 "$work/plain")"
    else
        different=1
        echo "DIFFERENT: $(tail -n 1 "$work/plain") | $(tail -n 1 "$work/cluster")"
    fi
}

printf '%-34s %10s %10s\n' "$(nproc) processors" "one rank" "$ranks ranks"
if [[ $small == --small ]]; then # a test of this script
    show "queens on a board" queens 10
    show "branch and bound" branch_and_bound
    exit $different
fi
show "queens on a board" queens 14
show "an unbalanced tree" tree
show "a skewed map" skewed_map
show "a merge sort of values" merge_sort
show "a merge sort of files" sort_file 4000000 "$work"
show "branch and bound" branch_and_bound
show "a reduction with a journal" journal
echo "The ranks share this machine, and starting them counts too: these times say nothing about several machines."
exit $different
