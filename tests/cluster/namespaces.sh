#!/usr/bin/env bash
# namespaces.sh <program ranks>: the tests of ranks on four nodes (see nodes.sh), by Open MPI's mpirun, which enters the nodes by an
# agent instead of ssh. Needs root. Ends with 77 and the reason if no namespace can be made.
set -euo pipefail
program=$(readlink -f "$1")
# shellcheck source=tests/cluster/nodes.sh
source "$(dirname "$(readlink -f "$0")")/nodes.sh"
needs mpirun openmpi-bin
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not that of Open MPI"
make_nodes
for node in "${nodes[@]}"; do
    echo "$node slots=1" >>"$folder/hostfile"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PILFER_WORKERS=1 TEST_FOLDER=$folder
# As the guide says: Open MPI notices a lost link of its own connections.
keepalive=(--mca oob_tcp_keepalive_time 2 --mca oob_tcp_keepalive_intvl 1 --mca oob_tcp_keepalive_probes 3)
# ranks <seconds> <argument>...: its output is in $folder/output.
ranks() {
    local seconds=$1
    shift
    timeout -k 5 "$seconds" "$folder/agent" node1 mpirun -n 4 --hostfile "$folder/hostfile" --bind-to none --mca plm_rsh_agent "$folder/agent" \
        --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 "${keepalive[@]}" -x PILFER_WORKERS -x TEST_FOLDER \
        "$program" "$@" >"$folder/output" 2>&1 </dev/null
}

now() { date +%s%N; }
began() {
    began_at=$(now)
    echo "== $*"
}
# took <seconds at most>: since began, or since began_at was set
took() {
    local ms=$((($(now) - began_at) / 1000000))
    echo "$ms ms"
    ((ms <= $1 * 1000)) || fail "took more than $1 s"
}
# names <text>
names() { grep -F -- "$1" "$folder/output" || fail "the text '$1' is missing: $(cat "$folder/output")"; }

began "UTS T1 on four nodes"
ranks 120 t1 || fail "$(cat "$folder/output")"
names "t1: 4 ranks"
took 120

if [[ -n $cgroup ]]; then
    began "UTS T1 with a node of a twentieth of a CPU"
    quota node3 50
    ranks 240 t1 || fail "$(cat "$folder/output")"
    names "t1: 4 ranks"
    took 240
    quota node3 500
fi

began "a killed rank"
ranks 60 killed && fail "a job whose rank was killed ended with 0"
names "process rank 1 "
took 60

# The time counts from the cut on. A neighbour names the rank after 4 s; then Open MPI ends the job. If a rank ended it earlier,
# mpirun would send orders to the lost machine, and wait for minutes: there are no probes beside unsent data.
began "the link of node3 is cut"
ranks 120 endless &
job=$!
until [[ $(find "$folder" -name 'began.*' | wc -l) == 4 ]]; do
    kill -0 "$job" 2>/dev/null || fail "the job has ended: $(cat "$folder/output")"
    sleep 0.05
done
ip link set "$id-3" down
began_at=$(now)
code=0
wait "$job" || code=$?
((code != 0)) || fail "a job whose link was cut ended with 0"
took 40 # 7 to 9 beside other load; if a rank ended it earlier, minutes
names "nothing from rank 2"
echo "namespaces: passed"
