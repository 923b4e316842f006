#!/usr/bin/env bash
# Four network namespaces of this machine as nodes, for scripts that source this. Each has a host name, and an address on a common
# bridge that no other network reaches. If there is a cgroup for it, it has half a CPU. Whatever runs in them ends with the script.
# shellcheck shell=bash
nodes=(node1 node2 node3 node4)
id=pf$((3 * RANDOM)) # an interface's name has at most 15 letters
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
# needs <command> <Debian package>
needs() { command -v "$1" >/dev/null || skip "$1 is not installed (Debian: $2)"; }
clean_up() {
    local node pid
    for node in "${nodes[@]}"; do
        for pid in $(ip netns pids "$id$node" 2>/dev/null); do
            kill -9 "$pid" 2>/dev/null || true
        done
        ip netns del "$id$node" 2>/dev/null || true
        ip link del "$id-${node#node}" 2>/dev/null || true # a connection that is open keeps it for minutes otherwise
        while [[ -n $cgroup && -d $cgroup/$node ]]; do # until its processes have gone
            rmdir "$cgroup/$node" 2>/dev/null || sleep 0.1
        done
    done
    [[ -z $cgroup ]] || rmdir "$cgroup"
    ip link del "$id" 2>/dev/null || true
    rm -rf "$folder"
}
# quota <node> <thousandths of a CPU>
quota() {
    if [[ -e $cgroup/$1/cpu.max ]]; then
        echo "$(($2 * 100)) 100000" >"$cgroup/$1/cpu.max"
    else
        echo $(($2 * 100)) >"$cgroup/$1/cpu.cfs_quota_us"
    fi
}
trap clean_up EXIT
make_cgroup() {
    local root node
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
}
# Makes the nodes, and the program $folder/agent <node> <command>..., which runs a command in one.
make_nodes() {
    local i node
    [[ $(id -u) == 0 ]] || skip "only root makes network namespaces"
    needs ip iproute2
    needs nsenter util-linux
    needs unshare util-linux
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
    done
    make_cgroup
    cat >"$folder/agent" <<AGENT
#!/bin/sh
node=\$1
shift
[ -z "$cgroup" ] || echo \$\$ >"$cgroup/\$node/cgroup.procs"
exec nsenter --net="/run/netns/$id\$node" unshare --uts --mount sh -c \
    'hostname "\$0"; mount --bind "$folder/hosts" /etc/hosts; exec sh -c "\$*"' "\$node" "\$@"
AGENT
    chmod +x "$folder/agent"
}
