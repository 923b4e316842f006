#!/usr/bin/env python3
"""What several ranks on this machine cost and gain, by bench-cluster under mpirun.

bench/cluster.py [--build DIR] [--rounds N] [--ranks 1,2,4] prints, as medians of interleaved rounds:
  * cluster::join without MPI beside pilfer::join;
  * UTS T3 and a skewed map on each number of ranks with one worker each, with the result checked;
  * from the offer of a branch to its begin on another rank, at the start of a run and in the middle of one;
  * the CPU time of a rank that has no work, in per cent of a core.
The ranks share this machine's CPUs: the figures say nothing about networks, and on a busy machine nothing about latency."""
import argparse
import os
import statistics
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "PILFER_WORKERS": "1"}


def run(program, ranks, *arguments):
    """The figures that one run prints, by name."""
    launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, program, *arguments], env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True,
                          timeout=300)
    if done.returncode != 0:
        sys.exit(f"bench-cluster {' '.join(arguments)} on {ranks} ranks ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return dict(line.split() for line in done.stdout.splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="the folder of the build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", default="1,2,4")
    options = parser.parse_args()
    program = os.path.join(options.build, "bench", "bin", "bench-cluster")
    if not os.path.exists(program):
        sys.exit(f"cluster.py: {program} does not exist; build bench-cluster, which needs MPI")
    ranks = [int(n) for n in options.ranks.split(",")]
    samples = {}

    def note(name, value):
        samples.setdefault(name, []).append(float(value))

    sums = set()
    for number in range(options.rounds):
        print(f"\rround {number + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
        row = run(program, 0, "join")
        note("pilfer::join, ns", row["pilfer_join_ns"])
        note("cluster::join without MPI, ns", row["cluster_join_ns"])
        for n in ranks:
            row = run(program, n, "uts")
            if row["exact"] != "1":
                sys.exit(f"cluster.py: a wrong number of nodes on {n} ranks")
            note(f"UTS T3 on {n} ranks, s", row["seconds"])
            row = run(program, n, "skewed")
            sums.add(row["sum"])
            note(f"a skewed map on {n} ranks, s", row["seconds"])
        if max(ranks) > 1:
            note("a theft at the start of a run, median us", run(program, 2, "theft")["median_us"])
            for ms in (1, 3, 10):
                note(f"a theft by a rank idle for {ms} ms, median us", run(program, 2, "pushes", str(ms))["median_us"])
            note("a rank without work, % of a core", run(program, 2, "idle", "2")["percent"])
    print(file=sys.stderr)
    if len(sums) != 1:
        sys.exit(f"cluster.py: sums of different bits: {sorted(sums)}")
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {options.rounds} rounds, one worker a rank")
    for name in sorted(samples):
        print(f"{name:44} {statistics.median(samples[name]):10.3f}   {min(samples[name]):.3f} to {max(samples[name]):.3f}")


if __name__ == "__main__":
    main()
