#!/usr/bin/env python3
"""Compares libpilfer-tbb with Debian's libtbb.so.12 by one unchanged program.

    bench/dropin.py [--build FOLDER]... [--rounds N] [--pairs N] [--only NAME]

Compiles bench/dropin_programs.cpp against oneTBB's headers, and runs each of its programs with both libraries in turn, in as many
pairs as asked for. A row has the median of the pairs' ratios, ours by Debian's: below 1.00 this library is faster. The last column
compares the shortest round of each process, which other load changes least. What both compute must be equal, up to the grouping
of sums. With several folders each pair has a process of every build, and a row for each."""

import argparse
import os
import pathlib
import platform
import statistics
import subprocess
import sys


def one(program, name, rounds, library):
    env = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH")}
    env["LD_PRELOAD"] = str(library)
    done = subprocess.run([program, name, str(rounds)], env=env, text=True, capture_output=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"dropin.py: {name} with {library} ended with {done.returncode}: {done.stderr}")
    first, *times = done.stdout.splitlines()
    times = [int(t) for t in times]
    return first, statistics.median(times), min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", help="folder of a build, which has pilfer-tbb/ (build/release)")
    parser.add_argument("--debian", default="/usr/lib/x86_64-linux-gnu/libtbb.so.12", help="the other library")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of a program in one process")
    parser.add_argument("--pairs", type=int, default=5, help="processes with each library")
    parser.add_argument("--only", help="only programs with this text in their names")
    a = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    builds = [(pathlib.Path(b) / "pilfer-tbb" / "libtbb.so.12").resolve() for b in a.build or ["build/release"]]
    for library in (*builds, pathlib.Path(a.debian)):
        if not library.is_file():
            sys.exit(f"dropin.py: there is no {library}; cmake --build FOLDER --target pilfer_tbb makes ours")
    program = builds[0].parent / "dropin_programs"
    source = root / "bench" / "dropin_programs.cpp"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-std=c++20", "-O2", "-o", program, source, "-ltbb"], check=True)
    names = subprocess.run([program, "--list"], check=True, text=True, capture_output=True).stdout.splitlines()
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    print(f"{model}, {len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.1f}; {a.pairs} pairs of {a.rounds} rounds")
    print("| program | Debian's libtbb, ms | ratio of libpilfer-tbb | of shortest rounds |\n| --- | ---: | ---: | ---: |")
    for name in names:
        if a.only and a.only not in name:
            continue
        runs = []
        for pair in range(a.pairs):
            libraries = [a.debian, *builds]
            results = {which: one(program, name, a.rounds, which) for which in (libraries[::-1] if pair % 2 else libraries)}
            for which in builds:
                if results[which][0] != results[a.debian][0]:
                    sys.exit(f"dropin.py: {name}: {results[which][0]} is not {results[a.debian][0]}")
            runs.append(results)
        theirs = statistics.median(r[a.debian][1] for r in runs) / 1e6
        for folder, which in zip(a.build or [""], builds):
            ratio, shortest = (statistics.median(r[which][i] / r[a.debian][i] for r in runs) for i in (1, 2))
            print(f"| {name}{', ' + folder if len(builds) > 1 else ''} | {theirs:.2f} | {ratio:.2f} | {shortest:.2f} |", flush=True)


if __name__ == "__main__":
    main()
