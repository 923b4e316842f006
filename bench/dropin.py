#!/usr/bin/env python3
"""Compares libpilfer-tbb with Debian's libtbb.so.12 by one unchanged program.

    bench/dropin.py [--build FOLDER] [--rounds N] [--pairs N] [--only NAME]

Compiles bench/dropin_programs.cpp against oneTBB's headers, and runs each of its programs with both libraries in turn, in as many
pairs as asked for. A row is the median of the pairs' ratios, ours by Debian's: below 1.00 this library is faster. What
both compute must be equal, up to the grouping of sums."""

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
    return first, statistics.median(int(t) for t in times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="folder of a build, which has pilfer-tbb/")
    parser.add_argument("--debian", default="/usr/lib/x86_64-linux-gnu/libtbb.so.12", help="the other library")
    parser.add_argument("--rounds", type=int, default=9, help="rounds of a program in one process")
    parser.add_argument("--pairs", type=int, default=5, help="processes with each library")
    parser.add_argument("--only", help="only programs with this text in their names")
    a = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    ours = (pathlib.Path(a.build) / "pilfer-tbb" / "libtbb.so.12").resolve()
    for library in (ours, pathlib.Path(a.debian)):
        if not library.is_file():
            sys.exit(f"dropin.py: there is no {library}; cmake --build {a.build} --target pilfer_tbb makes ours")
    program = ours.parent / "dropin_programs"
    source = root / "bench" / "dropin_programs.cpp"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run(["g++", "-std=c++20", "-O2", "-o", program, source, "-ltbb"], check=True)
    names = subprocess.run([program, "--list"], check=True, text=True, capture_output=True).stdout.splitlines()
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    print(f"{model}, {len(os.sched_getaffinity(0))} CPUs, load {os.getloadavg()[0]:.1f}; {a.pairs} pairs of {a.rounds} rounds")
    print("| program | Debian's libtbb, ms | ratio of libpilfer-tbb |\n| --- | ---: | ---: |")
    for name in names:
        if a.only and a.only not in name:
            continue
        ratios, theirs_all = [], []
        for pair in range(a.pairs):
            results = {}
            for which in ((ours, a.debian) if pair % 2 else (a.debian, ours)):
                results[which] = one(program, name, a.rounds, which)
            if results[ours][0] != results[a.debian][0]:
                sys.exit(f"dropin.py: {name}: {results[ours][0]} is not {results[a.debian][0]}")
            ratios.append(results[ours][1] / results[a.debian][1])
            theirs_all.append(results[a.debian][1])
        print(f"| {name} | {statistics.median(theirs_all) / 1e6:.2f} | {statistics.median(ratios):.2f} |", flush=True)


if __name__ == "__main__":
    main()
