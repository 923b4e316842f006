#!/usr/bin/env bash
# namespaces.sh <program ranks>: four network namespaces of this machine as nodes. Each has a host name, and an address on a common
# bridge. If there is a cgroup for it, it has half a CPU. Open MPI's mpirun enters the nodes by an agent, instead of ssh. Needs root.
# Ends with 77 and the reason if no namespace can be made.
set -euo pipefail
program=$(readlink -f "$1")
nodes=(node1 node2 node3 node4)
id=pf$(($$ % 100000)) # an interface's name has at most 15 letters
folder=$(mktemp -d)
cgroup=

skip() {
    echo "skipped: $*"
    exit 77
}
fail() {
    echo "FAILED: $*"
    exit 1
}
clean_up() {
    local node pid
    for node in "${nodes[@]}"; do
        for pid in $(ip netns pids "$id$node" 2>/dev/null); do
            kill -9 "$pid" 2>/dev/null || true
        done
        ip netns del "$id$node" 2>/dev/null || true
        while [[ -n $cgroup && -d $cgroup/$node ]]; do # until its processes have gone
            rmdir "$cgroup/$node" 2>/dev/null || sleep 0.1
        done
    done
    [[ -z $cgroup ]] || rmdir "$cgroup"
    ip link del "$id" 2>/dev/null || true
    rm -rf "$folder"
}

[[ $(id -u) == 0 ]] || skip "only root makes network namespaces"
for command in ip nsenter unshare mpirun; do
    command -v "$command" >/dev/null || skip "$command is not installed (Debian: iproute2, util-linux, openmpi-bin)"
done
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not that of Open MPI"
trap clean_up EXIT
ip netns add "$id${nodes[0]}" 2>"$folder/why" || skip "no network namespace can be made: $(cat "$folder/why")"
ip link add "$id" type bridge 2>"$folder/why" || skip "no bridge can be made: $(cat "$folder/why")"
ip link set "$id" up
echo "127.0.0.1 localhost" >"$folder/hosts"
for i in 1 2 3 4; do
    node=node$i
    ((i == 1)) || ip netns add "$id$node"
    ip link add "$id-$i" type veth peer name eth0 netns "$id$node" 2>"$folder/why" || skip "no link can be made: $(cat "$folder/why")"
    ip link set "$id-$i" master "$id" up
    ip -n "$id$node" addr add "10.213.7.$i/24" dev eth0
    ip -n "$id$node" link set eth0 up
    ip -n "$id$node" link set lo up
    echo "10.213.7.$i $node" >>"$folder/hosts"
    echo "$node slots=1" >>"$folder/hostfile"
done

# quota <node> <thousandths of a CPU>
quota() {
    if [[ -e $cgroup/$1/cpu.max ]]; then
        echo "$(($2 * 100)) 100000" >"$cgroup/$1/cpu.max"
    else
        echo $(($2 * 100)) >"$cgroup/$1/cpu.cfs_quota_us"
    fi
}
for root in /sys/fs/cgroup/cpu /sys/fs/cgroup; do # version 1, 2
    if mkdir "$root/$id" 2>/dev/null; then
        cgroup=$root/$id
        [[ ! -e $cgroup/cgroup.subtree_control ]] || echo +cpu >"$cgroup/cgroup.subtree_control" 2>/dev/null || true
        for node in "${nodes[@]}"; do
            mkdir "$cgroup/$node"
        done
        [[ ! -w $cgroup/node1/cpu.cfs_quota_us && ! -w $cgroup/node1/cpu.max ]] || break
        rmdir "$cgroup"/node* "$cgroup"
        cgroup=
    fi
done
if [[ -n $cgroup ]]; then
    for node in "${nodes[@]}"; do
        quota "$node" 500
    done
else
    echo "skipped in part: there is no cgroup with a quota of CPUs, so all nodes share those of this machine, and none is slow"
fi

# agent <node> <command>...: instead of ssh.
cat >"$folder/agent" <<AGENT
#!/bin/sh
node=\$1
shift
[ -z "$cgroup" ] || echo \$\$ >"$cgroup/\$node/cgroup.procs"
exec nsenter --net="/run/netns/$id\$node" unshare --uts --mount sh -c \
    'hostname "\$0"; mount --bind "$folder/hosts" /etc/hosts; exec sh -c "\$*"' "\$node" "\$@"
AGENT
chmod +x "$folder/agent"
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
