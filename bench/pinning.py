#!/usr/bin/env python3
"""Compares pinned workers with unpinned ones: runs each program under PILFER_PIN=off, compact and spread, in turn.

Prints medians and their ratios to off. Off is measured twice: the ratio of the two shows the noise.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

import results

HERE = os.path.dirname(os.path.abspath(__file__))
MODES = ("off", "off again", "compact", "spread")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), metavar="DIR",
                        help="build folder (default: build/release)")
    parser.add_argument("--kernels", default="fib,uts", help="kernels, separated by commas (default: fib,uts)")
    parser.add_argument("--workers", type=int, default=2, help="number of workers (default: 2)")
    parser.add_argument("--rounds", type=int, default=11, help="rounds (default: 11)")
    parser.add_argument("--size", default="medium", choices=["tiny", "quick", "medium", "full", "large"])
    return parser.parse_args()


def seconds(path, mode, options):
    """Of one run. Ends the script if the answer is wrong."""
    environment = {**os.environ, "PILFER_PIN": mode.split()[0]}
    done = subprocess.run([path, "--workers", str(options.workers), "--size", options.size, "--repeat", "1"],
                          stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"pinning.py: {path} ended with {done.returncode}")
    return json.loads(done.stdout)["seconds"][0]


def main():
    options = arguments()
    machine = results.machine()
    print(f"{machine['cpu']}, {machine['cores']} cores, {options.workers} workers, {options.size}, "
          f"medians of {options.rounds} interleaved rounds\n")
    print("| kernel | off, s | " + " | ".join(f"{mode} / off" for mode in MODES[1:]) + " |")
    print("| --- | ---: | " + " | ".join("---:" for _ in MODES[1:]) + " |")
    for kernel in options.kernels.split(","):
        path = os.path.join(options.build, "bench", "bin", f"bench-{kernel}-pilfer_join")
        if not os.access(path, os.X_OK):
            sys.exit(f"pinning.py: {path} is not there; build with PILFER_BENCH=ON first")
        times = {mode: [] for mode in MODES}
        for turn in range(options.rounds):
            # Each mode takes each place in the round once in a while: the first of a round may find a cold
            # machine.
            for place in range(len(MODES)):
                mode = MODES[(turn + place) % len(MODES)]
                times[mode].append(seconds(path, mode, options))
        median = {mode: statistics.median(times[mode]) for mode in MODES}
        ratios = " | ".join(f"{median[mode] / median['off']:.3f}" for mode in MODES[1:])
        print(f"| {kernel} | {median['off']:.4f} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
