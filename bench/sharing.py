#!/usr/bin/env python3
"""The cost of CPUs that other processes want: with and without a governor, and for the rivals.

`together`: the work of two processes with a pool each, as a part of the work of one alone in that time; 1 is the best
possible value. `beside a hog`: the time of a process while an endless loop occupies one CPU, as a multiple of its time
alone. All figures are medians of rounds, in which all variants take turns.

The second table repeats a loop of 100 us. It shows the median and the 99th percentile of its time in three cases: one
worker with a CPU for itself, all workers alone, and all workers while the hog occupies one of the CPUs. The last column is
the third case as a multiple of the first.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = (("pilfer, governor off", "pilfer_join", {"PILFER_GOVERNOR": "off"}),
         ("pilfer, governor on", "pilfer_join", {"PILFER_GOVERNOR": "on"}),
         ("oneTBB", "tbb", {}),
         ("OpenMP, libgomp", "libgomp", {}))
HOG = [sys.executable, "-c", "while True: pass"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), metavar="DIR",
                        help="build folder (default: build/release)")
    parser.add_argument("--kernel", default="uts", help="kernel of the first table (default: uts)")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="workers of each process (default: as many as CPUs)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--repeat", type=int, default=20, help="runs in each process of the first table (default: 20)")
    parser.add_argument("--size", default="quick", choices=["tiny", "quick", "medium", "full", "large"])
    parser.add_argument("--loops", type=int, default=20000, help="loops in each process of the second (default: 20000)")
    parser.add_argument("--part", choices=["together", "loops", "both"], default="both", help="which table (default: both)")
    return parser.parse_args()


def start(options, kernel, variant, environment, repeat, workers, cpus=None):
    path = os.path.join(options.build, "bench", "bin", f"bench-{kernel}-{variant}")
    with_cpus = ["taskset", "--cpu-list", cpus] if cpus is not None else []
    return subprocess.Popen([*with_cpus, path, "--workers", str(workers), "--size", options.size, "--repeat",
                             str(repeat)], stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})


def end(process):
    out, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"sharing.py: {' '.join(process.args)} ended with {process.returncode}")
    return json.loads(out)["seconds"]


def seconds_of(options, variant, environment, processes):
    """From the start of the first to the end of the last one: each does the same work, and verifies it."""
    begin = time.monotonic()
    running = [start(options, options.kernel, variant, environment, options.repeat, options.workers)
               for _ in range(processes)]
    for process in running:
        end(process)
    return time.monotonic() - begin


class Hog:
    """A process with an endless loop, for the length of a block."""

    def __init__(self, cpus=None):
        self.cpus = cpus

    def __enter__(self):
        with_cpus = ["taskset", "--cpu-list", self.cpus] if self.cpus is not None else []
        self.process = subprocess.Popen([*with_cpus, *HOG])
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def together(options):
    figures = {name: {"together": [], "hog": []} for name, _, _ in MODES}
    for _ in range(options.rounds):
        for name, variant, environment in MODES:
            alone = seconds_of(options, variant, environment, 1)
            both = seconds_of(options, variant, environment, 2)
            figures[name]["together"].append(2 * alone / both)
            with Hog():
                beside = seconds_of(options, variant, environment, 1)
            figures[name]["hog"].append(beside / alone)
    print(f"{options.kernel}, {options.workers} workers each, {os.cpu_count()} CPUs, medians of {options.rounds} rounds")
    print(f"{'':24}{'together':>10}{'beside a hog':>14}")
    for name, _, _ in MODES:
        print(f"{name:24}{statistics.median(figures[name]['together']):10.2f}"
              f"{statistics.median(figures[name]['hog']):14.2f}")


def loops(options):
    cpus = sorted(os.sched_getaffinity(0))
    hogs, other = str(cpus[0]), str(cpus[-1])
    ways = ("one CPU", "all CPUs", "beside a hog")
    figures = {name: {way: {50: [], 99: []} for way in ways} for name, _, _ in MODES}

    def one(name, way, variant, environment, workers, on=None):
        times = sorted(end(start(options, "short_loop", variant, environment, options.loops, workers, on)))
        for percent, all_of_them in figures[name][way].items():
            all_of_them.append(1e6 * times[min(len(times) - 1, len(times) * percent // 100)])

    for _ in range(options.rounds):
        for name, variant, environment in MODES:
            one(name, "one CPU", variant, environment, 1, other)
            one(name, "all CPUs", variant, environment, options.workers)
            with Hog(hogs):
                one(name, "beside a hog", variant, environment, options.workers)
    print(f"\na loop of 100 us, {options.workers} workers, {options.loops} times: us, medians of {options.rounds} rounds")
    print(f"{'':24}{'one CPU':>16}{'all CPUs':>16}{'beside a hog':>16}{'99th %: hog / one CPU':>24}")
    for name, _, _ in MODES:
        cells = {way: [statistics.median(of) for of in figures[name][way].values()] for way in ways}
        print(f"{name:24}" + "".join(f"{cells[way][0]:8.0f}{cells[way][1]:8.0f}" for way in ways) +
              f"{cells['beside a hog'][1] / cells['one CPU'][1]:24.2f}")


def main():
    options = arguments()
    if options.part != "loops":
        together(options)
    if options.part != "together":
        loops(options)


if __name__ == "__main__":
    main()
