#!/usr/bin/env python3
"""race.py BUILD [--before TREE BUILD] [--tsan LIBRARY] [--rounds N]: the figures of `pilfer race`.

BUILD has libpilfer.a and libpilfer_race.a. LIBRARY is a libpilfer.a that was built with -fsanitize=thread: then each
planted race is run once with ThreadSanitizer on all processors, too. Times are ratios of medians of interleaved runs, of
the processor: the program with pilfer::race over the same program with pilfer and one worker. --before adds the library of an
earlier commit.
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
KERNELS = ["fib", "fib_cutoff", "merge_sort", "matrix", "stencil", "queens", "flat_loop", "grid", "grid_often", "chain", "star", "items"]
COMMON = ["-std=c++20", "-g", "-DPILFER_STATIC"]
RACE = ["-O1", "-fsanitize=thread", "-DPILFER_RACE", "-fno-builtin"]
LIBRARIES = ["-lhwloc", "-lpthread", "-ldl"]


def build(compiler, folder, name, sources, flags, library, link=(), tree=ROOT):
    objects = []
    for source in sources:
        objects.append(f"{folder}/{name}-{Path(source).stem}.o")
        subprocess.run([compiler, *COMMON, f"-I{tree}/include", *flags, "-c", source, "-o", objects[-1]], check=True, stderr=subprocess.DEVNULL)
    program = f"{folder}/{name}"
    subprocess.run([compiler, *objects, "-o", program, library, *LIBRARIES, *link], check=True)
    return program


def run(program, kernel):
    done = subprocess.run([program, kernel], capture_output=True, text=True, env={**os.environ, "PILFER_WORKERS": "1"})
    if done.returncode != 0:
        sys.exit(f"{program} {kernel} ends with {done.returncode}\n{done.stderr}")
    seconds, memory, result = done.stdout.split()
    return float(seconds), int(memory), result


def overhead(programs, rounds):
    """programs: the plain one, then others by name."""
    others = list(programs)[1:]
    print("| kernel | serial ms |", " | ".join(f"{name}, times | memory" for name in others), "|")
    print("| --- | ---: |", " | ".join("---: | ---:" for _ in others), "|")
    for kernel in KERNELS:
        runs = {name: [] for name in programs}
        for _ in range(rounds):
            for name, program in programs.items():
                runs[name].append(run(program, kernel))
        if len({r[2] for of in runs.values() for r in of}) != 1:
            sys.exit(f"{kernel}: results differ")
        seconds, memory = ({name: statistics.median(r[i] for r in of) for name, of in runs.items()} for i in (0, 1))
        cells = " | ".join(f"{seconds[n] / seconds['serial']:.1f} | {memory[n] / memory['serial']:.1f}" for n in others)
        print(f"| {kernel} | {seconds['serial'] * 1e3:.1f} | {cells} |", flush=True)


def hits_of_tsan(program):
    listed = subprocess.run([program], capture_output=True, text=True).stdout.splitlines()
    names = [l.split("\t")[0] for l in listed if not re.match("promises |ended", l.split("\t")[1])]
    found = 0
    for name in names:
        done = subprocess.run([program, "planted", name], capture_output=True, text=True, timeout=300)
        found += bool(re.search("ThreadSanitizer: data race", done.stderr))
    print(f"ThreadSanitizer, one run each on {os.cpu_count()} processors: {found} of {len(names)}")


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("build")
    options.add_argument("--tsan")
    options.add_argument("--before", nargs=2, metavar=("TREE", "BUILD"), help="an earlier commit's tree and build")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--compiler", default="g++")
    o = options.parse_args()
    kernels = ROOT / "bench" / "race_programs.cpp"
    cases = [str(ROOT / "tests" / "race" / f"{n}.cpp") for n in ("main", "join", "scope", "loops", "graphs", "promises", "waits", "elsewhere", "c_library")]
    with tempfile.TemporaryDirectory() as folder:
        programs = {"serial": build(o.compiler, folder, "plain", [kernels], ["-O2"], f"{o.build}/libpilfer.a")}
        if o.before:
            tree, before = o.before
            programs["before"] = build(o.compiler, folder, "before", [kernels], RACE, f"{before}/libpilfer_race.a", tree=tree)
        programs["race"] = build(o.compiler, folder, "race", [kernels], RACE, f"{o.build}/libpilfer_race.a")
        overhead(programs, o.rounds)
        planted = build(o.compiler, folder, "planted", cases, RACE, f"{o.build}/libpilfer_race.a")
        sys.stdout.flush()
        subprocess.run([sys.executable, ROOT / "tests" / "race" / "run.py", planted, ROOT / "tests" / "race"], check=False)
        if o.tsan:
            hits_of_tsan(build(o.compiler, folder, "tsan", cases, ["-O1", "-fsanitize=thread"], o.tsan, ["-fsanitize=thread"]))


if __name__ == "__main__":
    main()
