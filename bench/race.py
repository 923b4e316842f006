#!/usr/bin/env python3
"""race.py BUILD [--tsan LIBRARY] [--rounds N]: the figures of `pilfer race`.

BUILD has libpilfer.a and libpilfer_race.a. LIBRARY is a libpilfer.a that was built with -fsanitize=thread: then each
planted race is run once with ThreadSanitizer on all processors, too. Times are ratios of medians of interleaved runs: the
program with pilfer::race over the same program with pilfer and one worker.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ["fib", "fib_cutoff", "merge_sort", "matrix", "stencil", "queens", "flat_loop"]
COMMON = ["-std=c++20", "-g", f"-I{ROOT}/include", "-DPILFER_STATIC"]
RACE = ["-O1", "-fsanitize=thread", "-DPILFER_RACE", "-fno-builtin-memcpy", "-fno-builtin-memmove", "-fno-builtin-memset"]
LIBRARIES = ["-lhwloc", "-lpthread", "-ldl"]


def build(compiler, folder, name, sources, flags, library, link=()):
    objects = []
    for source in sources:
        objects.append(f"{folder}/{name}-{Path(source).stem}.o")
        subprocess.run([compiler, *COMMON, *flags, "-c", source, "-o", objects[-1]], check=True, stderr=subprocess.DEVNULL)
    program = f"{folder}/{name}"
    subprocess.run([compiler, *objects, "-o", program, library, *LIBRARIES, *link], check=True)
    return program


def run(program, kernel):
    done = subprocess.run([program, kernel], capture_output=True, text=True, env={**os.environ, "PILFER_WORKERS": "1"})
    if done.returncode != 0:
        sys.exit(f"{program} {kernel} ends with {done.returncode}\n{done.stderr}")
    seconds, memory, result = done.stdout.split()
    return float(seconds), int(memory), result


def overhead(plain, race, rounds):
    print("| kernel | serial ms | with pilfer race ms | times | memory |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for kernel in KERNELS:
        of_plain, of_race = [], []
        for _ in range(rounds):
            of_plain.append(run(plain, kernel))
            of_race.append(run(race, kernel))
            if of_plain[-1][2] != of_race[-1][2]:
                sys.exit(f"{kernel}: results differ")
        before, after = (statistics.median(r[0] for r in runs) for runs in (of_plain, of_race))
        memory = statistics.median(r[1] for r in of_race) / statistics.median(r[1] for r in of_plain)
        print(f"| {kernel} | {before * 1e3:.1f} | {after * 1e3:.1f} | {after / before:.1f} | {memory:.1f} |")


def hits_of_tsan(program):
    names = [l.split("\t")[0] for l in subprocess.run([program], capture_output=True, text=True).stdout.splitlines()]
    found = 0
    for name in names:
        done = subprocess.run([program, name, "planted"], capture_output=True, text=True, timeout=300)
        found += bool(re.search("ThreadSanitizer: data race", done.stderr))
    print(f"ThreadSanitizer, one run each on {os.cpu_count()} processors: {found} of {len(names)}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("build")
    options.add_argument("--tsan")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--compiler", default="g++")
    o = options.parse_args()
    kernels = ROOT / "bench" / "race_programs.cpp"
    cases = [str(ROOT / "tests" / "race" / f"{n}.cpp") for n in ("main", "join", "scope", "loops", "waits")]
    with tempfile.TemporaryDirectory() as folder:
        plain = build(o.compiler, folder, "plain", [kernels], ["-O2"], f"{o.build}/libpilfer.a")
        race = build(o.compiler, folder, "race", [kernels], RACE, f"{o.build}/libpilfer_race.a")
        overhead(plain, race, o.rounds)
        planted = build(o.compiler, folder, "planted", cases, RACE, f"{o.build}/libpilfer_race.a")
        sys.stdout.flush()
        subprocess.run([sys.executable, ROOT / "tests" / "race" / "run.py", planted, ROOT / "tests" / "race"], check=False)
        if o.tsan:
            hits_of_tsan(build(o.compiler, folder, "tsan", cases, ["-O1", "-fsanitize=thread"], o.tsan, ["-fsanitize=thread"]))


if __name__ == "__main__":
    main()
