#!/usr/bin/env python3
"""Two processes with a pool each on the same CPUs, and one beside a hog: with and without a governor, and the rivals.

`together`: what both processes got done in the time, as a part of what one alone gets done in it; 1 is the best there can
be. `beside a hog`: how many times as long as alone a process takes where a loop that does nothing else has one CPU.
Each figure is the median of the rounds, in which all take turns.
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
         ("OpenMP tasks, libgomp", "libgomp", {}))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), metavar="DIR",
                        help="build folder (default: build/release)")
    parser.add_argument("--kernel", default="uts", help="default: uts")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="of each process (default: as many as CPUs)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--repeat", type=int, default=20, help="runs in each process (default: 20)")
    parser.add_argument("--size", default="quick", choices=["tiny", "quick", "medium", "full", "large"])
    return parser.parse_args()


def start(options, variant, environment):
    path = os.path.join(options.build, "bench", "bin", f"bench-{options.kernel}-{variant}")
    return subprocess.Popen([path, "--workers", str(options.workers), "--size", options.size, "--repeat",
                             str(options.repeat)], stdout=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})


def end(process):
    out, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"sharing.py: {process.args[0]} ended with {process.returncode}")
    return sum(json.loads(out)["seconds"])


def seconds_of(options, variant, environment, processes):
    """From the start of the first to the end of the last one: each does the same work, and verifies it."""
    begin = time.monotonic()
    running = [start(options, variant, environment) for _ in range(processes)]
    for process in running:
        end(process)
    return time.monotonic() - begin


def main():
    options = arguments()
    figures = {name: {"together": [], "hog": []} for name, _, _ in MODES}
    for _ in range(options.rounds):
        for name, variant, environment in MODES:
            alone = seconds_of(options, variant, environment, 1)
            both = seconds_of(options, variant, environment, 2)
            figures[name]["together"].append(2 * alone / both)
            with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as hog:
                beside = seconds_of(options, variant, environment, 1)
                hog.kill()
            figures[name]["hog"].append(beside / alone)
    print(f"{options.kernel}, {options.workers} workers each, {os.cpu_count()} CPUs, medians of {options.rounds} rounds")
    print(f"{'':24}{'together':>10}{'beside a hog':>14}")
    for name, _, _ in MODES:
        print(f"{name:24}{statistics.median(figures[name]['together']):10.2f}"
              f"{statistics.median(figures[name]['hog']):14.2f}")


if __name__ == "__main__":
    main()
