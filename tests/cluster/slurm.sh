#!/usr/bin/env bash
# slurm.sh <program ranks>: UTS T1 as jobs of Slurm on four nodes (see nodes.sh): a controller, a slurmd in each node, and one munged, all
# below a temporary folder. Needs root. Ends with 77 and the reason if Slurm is not installed or no namespace can be made.
set -euo pipefail
program=$(readlink -f "$1")
# In a namespace of processes all of them end with the first one.
if [[ $(id -u) == 0 && $$ != 1 ]] && unshare --pid --fork --mount-proc true 2>/dev/null; then
    exec unshare --pid --fork --kill-child --mount-proc "$0" "$@"
fi
examples=$(readlink -f "$(dirname "$(readlink -f "$0")")/../../examples/cluster")
# shellcheck source=tests/cluster/nodes.sh
source "$(dirname "$(readlink -f "$0")")/nodes.sh"
PATH=$PATH:/usr/sbin
needs munged munge
needs slurmctld slurmctld
needs slurmd slurmd
needs srun slurm-client
needs mpirun openmpi-bin
mpirun --version | grep -q 'Open MPI' || skip "mpirun is not that of Open MPI"
make_nodes
munged_pid=
stop_slurm() {
    [[ -z $munged_pid ]] || kill "$munged_pid" 2>/dev/null || true
    clean_up # all else is in the nodes
}
trap stop_slurm EXIT

# munged wants folders that no other user may write to, up to the root.
chmod 755 "$folder"
mkdir -m 700 "$folder/secret"
mkdir -m 755 "$folder/munge" "$folder/state"
head -c 1024 /dev/urandom >"$folder/secret/key"
chmod 400 "$folder/secret/key"
munged --foreground --force --socket="$folder/munge/socket" --key-file="$folder/secret/key" --pid-file="$folder/munge/pid" \
    --log-file="$folder/secret/log" --seed-file="$folder/secret/seed" >"$folder/munged.log" 2>&1 &
munged_pid=$!
daemons=()

cat >"$folder/slurm.conf" <<CONF
ClusterName=pilfer
SlurmctldHost=node1
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CryptoType=crypto/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SchedulerType=sched/builtin
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
NodeName=node[1-4] CPUs=2 State=UNKNOWN
PartitionName=all Nodes=node[1-4] Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
at() { "$folder/agent" "$@"; }
for node in "${nodes[@]}"; do
    mkdir "$folder/$node" "$folder/$node/tmp" # all nodes have one /tmp
    cp "$folder/slurm.conf" "$folder/$node"
    echo "PMIxCliTmpDirBase=$folder/$node/tmp" >"$folder/$node/mpi.conf"
    at "$node" slurmd -D -f "$folder/$node/slurm.conf" >"$folder/$node.out" 2>&1 &
    daemons+=($!)
done
at node1 slurmctld -D -i >"$folder/slurmctld.out" 2>&1 &
daemons+=($! "$munged_pid")
until [[ $(at node1 sinfo --noheader --states=idle --format=%D 2>/dev/null) == 4 ]]; do
    for pid in "${daemons[@]}"; do
        kill -0 "$pid" 2>/dev/null || fail "a daemon has ended: $(cat "$folder"/*.out "$folder/munged.log")"
    done
    sleep 0.1
done

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# slurm <seconds> <command>...: in node1; its output is in $folder/output.
slurm() {
    local seconds=$1
    shift
    timeout -k 5 "$seconds" "$folder/agent" node1 "$@" >"$folder/output" 2>&1 </dev/null
}
# names <text>
names() { grep -F -m 1 -- "$1" "$folder/output" || fail "the text '$1' is missing: $(cat "$folder/output")"; }
# names_not <text>
names_not() { ! grep -F -- "$1" "$folder/output" || fail "$(cat "$folder/output")"; }
one_each=(--nodes=4 --ntasks-per-node=1)

echo "== UTS T1 by the job script of the guide"
slurm 300 sbatch --wait --output="$folder/job" "$examples/slurm_job.sh" "$program" t1 || fail "$(cat "$folder/output" "$folder/job")"
cp "$folder/job" "$folder/output"
names "t1: 4 ranks"
names_not "may use one CPU"

echo "== UTS T1 by mpirun in an allocation"
slurm 300 salloc "${one_each[@]}" --cpus-per-task=2 mpirun --bind-to none "$program" t1 || fail "$(cat "$folder/output")"
names "t1: 4 ranks"
names_not "may use one CPU"

echo "== UTS T1 on two ranks of each node"
slurm 300 srun --nodes=4 --ntasks-per-node=2 --mpi=pmix "$program" t1 || fail "$(cat "$folder/output")"
names "t1: 8 ranks"

echo "== ranks with one CPU"
slurm 300 srun "${one_each[@]}" --mpi=pmix "$program" t1 || fail "$(cat "$folder/output")"
names "t1: 4 ranks"
(($(nproc) == 1)) || names "Slurm gives a task one unless it is told: --cpus-per-task"

echo "== srun that launches no ranks"
slurm 300 srun "${one_each[@]}" "$program" t1 || fail "$(cat "$folder/output")"
names "srun has started 4 programs"

echo "== a killed rank"
slurm 60 srun "${one_each[@]}" --mpi=pmix --kill-on-bad-exit "$program" killed && fail "a job whose rank was killed ended with 0"
names "node2: task 1: Killed"
names_not "silent"
echo "slurm: passed"
