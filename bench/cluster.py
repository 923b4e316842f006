#!/usr/bin/env python3
"""What several ranks on this machine cost and gain, by bench-cluster under mpirun.

bench/cluster.py [--build DIR] [--rounds N] [--ranks 1,2,4] [--elastic] [--nodes] [--rival NAME=PROGRAM]... prints, as
medians of interleaved rounds:
  * cluster::join without MPI beside pilfer::join;
  * UTS T3 and a skewed map on each number of ranks with one worker each, with the result checked;
  * from the offer of a branch to its begin on another rank, at the start of a run and in the middle of one;
  * the CPU time of a rank that has no work, in per cent of a core;
  * with --elastic the same tree and the first theft also over a job queue, with gearmand on loopback;
  * with --nodes only UTS T3 and the skewed map, on 1 and 4 nodes of half a CPU each, which tests/cluster/nodes.sh makes. Only
    root can do that. The efficiency is the time of one node, divided by four times that of four nodes; the gain of the map is
    the time of one, divided by that of four. The limit of both is what the same program reaches in four nodes at once, as four
    programs that know nothing of each other: below 1 if other programs take CPU time, too. Ratios of medians;
  * with --rival only UTS T3, beside other programs that count its nodes under mpirun, and the ratios of the medians. Rank 0
    of such a program prints the lines `seconds S` and `nodes N`. Its count has to be that of bench-cluster.
The ranks share this machine's CPUs: the figures say nothing about networks, and on a busy machine nothing about latency."""
import argparse
import concurrent.futures
import contextlib
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_MCA_hwloc_base_binding_policy": "none", "PILFER_WORKERS": "1"}


def figures(text):
    """The lines of two words: a name and its figure. A rival may print others, too."""
    return dict(line.split() for line in text.splitlines() if len(line.split()) == 2)


def run(program, ranks, *arguments, launcher=None):
    """The figures that one run prints, by name."""
    if launcher is None:
        launcher = ["mpirun", "-n", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, program, *arguments], env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True,
                          timeout=300)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(program)} {' '.join(arguments)} on {ranks} ranks ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return figures(done.stdout)


@contextlib.contextmanager
def job_queue():
    """The URL of a gearmand on a free port."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(["gearmand", "-L", "127.0.0.1", "-p", str(port), "-l", "none", "-P", f"{folder}/pid"])
        try:
            while server.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            yield f"gearman://127.0.0.1:{port}"
        finally:
            server.kill()
            server.wait()


def run_elastic(program, url, processes, *arguments):
    """The figures that a coordinator prints, with one worker less than there are processes."""
    environment = {**os.environ, **ENVIRONMENT, "PILFER_CLUSTER": url}
    workers = [subprocess.Popen([program, *arguments, "--pilfer-worker"], env=environment) for _ in range(processes - 1)]
    time.sleep(0.3)  # they wait for the coordinator
    done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, timeout=300)
    for w in workers:
        w.wait(timeout=60)
    if done.returncode != 0:
        sys.exit(f"bench-cluster {' '.join(arguments)} on {processes} processes ended with {done.returncode}:\n{done.stderr}")
    return figures(done.stdout)


def beside_rivals(program, rivals, rounds, ranks):
    """Prints the times of UTS T3 on each number of ranks, and the ratios to those of bench-cluster."""
    programs = {"pilfer": (program, "uts"), **{name: (path,) for name, path in rivals}}
    samples = {(name, n): [] for name in programs for n in ranks}
    nodes = set()
    for number in range(rounds):
        print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for n in ranks:
            for name, command in programs.items():
                row = run(command[0], n, *command[1:])
                if not {"nodes", "seconds"} <= row.keys():
                    sys.exit(f"cluster.py: {name} prints no line \"nodes N\" or no line \"seconds S\"")
                nodes.add((row["nodes"], row.get("exact", "1")))
                samples[name, n].append(float(row["seconds"]))
    print(file=sys.stderr)
    if len(nodes) != 1 or nodes.pop()[1] != "1":
        sys.exit("cluster.py: a program has counted other nodes")
    print(f"UTS T3, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {rounds} rounds, one worker a rank: median, least and most seconds")
    for (name, n), times in samples.items():
        median = statistics.median(times)
        print(f"{name:24} on {n} ranks {median:8.3f} {min(times):8.3f} {max(times):8.3f}"
              f"   {median / statistics.median(samples['pilfer', n]):6.2f} of pilfer")


@contextlib.contextmanager
def four_nodes():
    """A folder with the program `agent`, which runs a command in a node, and the file `hosts`, for mpirun."""
    script = """set -euo pipefail
        source "$1"
        needs mpirun openmpi-bin
        make_nodes
        [[ -n $cgroup ]] || skip "no cgroup gives a node half a CPU"
        printf '%s slots=1\\n' "${nodes[@]}" >"$folder/hosts-of-mpirun"
        echo "nodes $folder"
        read -r _ || true"""
    nodes = os.path.join(ROOT, "tests", "cluster", "nodes.sh")
    with subprocess.Popen(["bash", "-c", script, "bash", nodes], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as shell:
        lines = [shell.stdout.readline()]
        if not lines[0].startswith("nodes "):
            sys.exit(f"cluster.py: no nodes: {(lines[0] + shell.stdout.read()).strip()}")
        yield lines[0].split()[1]
        shell.stdin.close()  # it removes the nodes


def on_nodes(folder, count):
    """What starts a program on so many nodes."""
    agent = f"{folder}/agent"
    return [agent, "node1", "mpirun", "-n", str(count), "--hostfile", f"{folder}/hosts-of-mpirun", "--bind-to", "none",
            "--mca", "plm_rsh_agent", agent, "--mca", "btl_tcp_if_include", "eth0", "--mca", "oob_tcp_if_include", "eth0",
            "-x", "PILFER_WORKERS"]


def apart(folder, program, kernel):
    """The figures of one program in each node, all at once."""
    with concurrent.futures.ThreadPoolExecutor() as threads:
        return list(threads.map(lambda node: run(program, 1, kernel, launcher=[f"{folder}/agent", node]), ("node1", "node2", "node3", "node4")))


def beside_one_node(program, rounds):
    """Prints what four nodes of half a CPU gain."""
    kernels = {"uts": "UTS T3", "skewed": "skewed map"}
    times = {}
    answers = {kernel: set() for kernel in kernels}

    def note(kernel, place, rows):
        times.setdefault((kernel, place), []).append(max(float(row["seconds"]) for row in rows))
        answers[kernel].update(row["nodes"] if kernel == "uts" else row["sum"] for row in rows)
        if kernel == "uts" and any(row["exact"] != "1" for row in rows):
            sys.exit("cluster.py: a wrong number of nodes of UTS T3")

    with four_nodes() as folder:
        for number in range(rounds):
            print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr, flush=True)
            for kernel in kernels:
                note(kernel, "1 node", [run(program, 1, kernel, launcher=on_nodes(folder, 1))])
                note(kernel, "4 nodes", [run(program, 4, kernel, launcher=on_nodes(folder, 4))])
                note(kernel, "4 nodes, apart", apart(folder, program, kernel))
    print(file=sys.stderr)
    if any(len(all_of_kernel) != 1 for all_of_kernel in answers.values()):
        sys.exit(f"cluster.py: different results: {answers}")
    print(f"nodes of half a CPU, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {rounds} rounds, one worker a node: median, least and most seconds")
    median = {}
    for (kernel, place), seconds in times.items():
        median[kernel, place] = statistics.median(seconds)
        print(f"{kernels[kernel] + ', ' + place:28} {median[kernel, place]:8.3f} {min(seconds):8.3f} {max(seconds):8.3f}")
    for kernel, figure, scale in (("uts", "efficiency of UTS T3 on 4 nodes", 1), ("skewed", "gain of the skewed map on 4 nodes", 4)):
        gain = scale * median[kernel, "1 node"] / (4 * median[kernel, "4 nodes"])
        limit = scale * median[kernel, "1 node"] / median[kernel, "4 nodes, apart"]
        print(f"{figure:36} {gain:5.2f}   limit {limit:5.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="the folder of the build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--elastic", action="store_true", help="also over a job queue; needs gearmand")
    parser.add_argument("--nodes", action="store_true", help="only 1 and 4 nodes of half a CPU; needs root")
    parser.add_argument("--rival", action="append", default=[], metavar="NAME=PROGRAM", help="another program that counts the nodes of UTS T3")
    options = parser.parse_args()
    program = os.path.join(options.build, "bench", "bin", "bench-cluster")
    if not os.path.exists(program):
        sys.exit(f"cluster.py: {program} does not exist; build bench-cluster, which needs MPI")
    ranks = [int(n) for n in options.ranks.split(",")]
    if options.nodes:
        beside_one_node(program, options.rounds)
        return
    if options.rival:
        beside_rivals(program, [r.split("=", 1) for r in options.rival], options.rounds, ranks)
        return
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
            for n in (2, 4):
                note(f"one of {n} ranks, all without work, % of a core", run(program, n, "idle", "2")["percent"])
        if options.elastic:
            with job_queue() as url:
                for n in ranks:
                    row = run_elastic(program, url, n, "uts")
                    if row["exact"] != "1":
                        sys.exit(f"cluster.py: a wrong number of nodes on {n} processes of an elastic run")
                    note(f"UTS T3 on {n} elastic processes, s", row["seconds"])
                note("an elastic theft, median us", run_elastic(program, url, 2, "theft")["median_us"])
    print(file=sys.stderr)
    if len(sums) != 1:
        sys.exit(f"cluster.py: sums of different bits: {sorted(sums)}")
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {options.rounds} rounds, one worker a rank")
    for name in sorted(samples):
        print(f"{name:44} {statistics.median(samples[name]):10.3f}   {min(samples[name]):.3f} to {max(samples[name]):.3f}")


if __name__ == "__main__":
    main()
