#!/usr/bin/env python3
"""Measures what `pilfer top` costs: CPU time of the command and of the program that it looks at.

    bench/top.py PILFER TOP_TARGET [--seconds N] [--contexts N,N...]

TOP_TARGET is the program of tests/tools/top_target.cpp. For each number of waiting contexts it runs the command at 1 Hz,
with the output of a terminal thrown away, and prints its CPU time per second in percent of a core: of the whole run
without its first two looks, which read everything. Beside it is what the program itself used, with and without the
command.
"""

import argparse
import os
import subprocess
import time


def cpu_seconds(pid):
    """User and system time of a process so far, by the scheduler's nanoseconds."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def measured(pid, other, seconds):
    """CPU seconds of both in that time."""
    before = cpu_seconds(pid), cpu_seconds(other) if other else 0
    start = time.monotonic()
    time.sleep(seconds)
    passed = time.monotonic() - start
    return (
        100 * (cpu_seconds(pid) - before[0]) / passed,
        100 * (cpu_seconds(other) - before[1]) / passed if other else 0,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pilfer")
    parser.add_argument("target")
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--contexts", default="3,1000,10000")
    words = parser.parse_args()
    print("waiting contexts  command, % of a core  program, % of a core  program without the command")
    for contexts in words.contexts.split(","):
        with subprocess.Popen(
            [words.target, "waits", contexts], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as target:
            try:
                if target.stdout.readline() != "ready\n":
                    raise SystemExit("the program did not start")
                time.sleep(0.5)
                alone, _ = measured(target.pid, None, words.seconds / 4)
                with subprocess.Popen([words.pilfer, "top", str(target.pid)], stdout=subprocess.DEVNULL) as command:
                    time.sleep(2)
                    looked_at, of_command = measured(target.pid, command.pid, words.seconds)
                    command.kill()
                print(f"{contexts:>16}  {of_command:20.3f}  {looked_at:20.3f}  {alone:27.3f}", flush=True)
            finally:
                target.kill()


if __name__ == "__main__":
    main()
