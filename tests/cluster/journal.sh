#!/usr/bin/env bash
# journal.sh <mpirun> <program ranks>: jobs that die in the middle, and go on with the same journal, on other numbers of ranks.
set -euo pipefail
mpirun=$1 program=$2
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none PILFER_WORKERS=1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
journal=$folder/journal
elements=1000 record=32 # number, size, value and checksum of a part, 8 bytes each

fail() {
    echo "FAILED: $*"
    exit 1
}
# run <ranks> [<calls at which one dies> <its rank>]
run() { timeout -k 5 60 "$mpirun" -n "$1" "$program" journal "$journal" "${@:2}" </dev/null 2>&1; }
calls() { stat -c %s "$journal.calls"; }
bytes() { stat -c %s "$journal"; }

! run 2 200 1 || fail "the job whose rank 1 died ended with 0"
calls1=$(calls) bytes1=$(bytes)
! run 3 $((calls1 + 100)) 0 || fail "the job whose rank 0 died ended with 0"
calls2=$(calls) bytes2=$(bytes)
run 2 || fail "the job that nobody killed has failed"
calls3=$(calls)
head=$(($(bytes) - elements * record))
kept1=$(((bytes1 - head) / record)) kept2=$(((bytes2 - head) / record))
echo "the jobs made $calls1, $((calls2 - calls1)) and $((calls3 - calls2)) calls; in the journal were $kept1, $kept2 and $elements parts"
((kept1 >= 100)) || fail "the first job has kept too little"
((kept2 > kept1)) || fail "the second job has kept nothing"
((calls3 - calls2 == elements - kept2)) || fail "the last job has repeated parts that were kept"
run 4 || fail "a job with a complete journal has failed"
(($(calls) == calls3)) || fail "a job with a complete journal has made calls"
