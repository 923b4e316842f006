#!/usr/bin/env python3
"""Holds the predictions of `pilfer whatif` against edits that are really made to examples/whatif.cpp.

study/whatif_check.py BUILD [--rounds N]: BUILD has tools/pilfer and examples/whatif. Each function is made twice as fast,
on one and on two workers. Then a lock is split in four, and a loop forks a task for eight items instead of one. All variants run in turn, N times (default 15); the fastest run of each counts, because other
programs only slow a run down. One worker's time is its CPU time, which excludes other programs. Prints a table in Markdown:
the predicted and the measured time, as a share of the time before, and the error."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

FUNCTIONS = ("load", "convert", "index")


def output(*words, **environment):
    done = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)}: {done.stderr or done.stdout}")
    return done.stdout


def predicted(tool, graph, workers):
    """Of each function: the time if it were twice as fast, as a share of the time before."""
    said = json.loads(output(tool, "whatif", "--functions", "--json", "--workers", "1", "--rank-on", str(workers), graph))
    shares = {}
    for name in FUNCTIONS:
        parts = [p for p in said["parts"] if f"::{name}(" in p["function"] or p["function"].startswith(f"{name}(")]
        if len(parts) != 1:
            sys.exit(f"whatif does not name the function {name} once: {said['parts']}")
        shares[name] = parts[0]["ns"] / said["before_ns"]
    return shares


def milliseconds(program, workers, *words):
    printed = output(program, *words, PILFER_WORKERS=str(workers)).split()
    return float(printed[4] if workers == 1 else printed[0])


def measure_edits(tool, program, rounds):
    """A table of two edits that change what tasks do, on one and on two workers. For two workers it has the median: if
    other programs take a processor, the fastest run of tasks under one lock is one in which a single worker ran."""
    edits = {"lock": ("--split-lock", "1=4", "4"), "grain": ("--grain", "", "8")}
    print("| workers | edit | predicted | measured | error |\n| ---: | --- | ---: | ---: | ---: |")
    for name, (option, where, number) in edits.items():
        with tempfile.TemporaryDirectory() as folder:
            graph = os.path.join(folder, "graph")
            output(tool, "profile", "-o", os.devnull, "--graph", graph, program, name, "1")
            if name == "grain":
                said = json.loads(output(tool, "whatif", "--json", graph))
                where = max(said["parts"], key=lambda p: p["tasks"] if "line" in p else 0)["line"] + "=8"
            said = json.loads(output(tool, "whatif", "--json", "--workers", "1,2", option, where, graph))
        shares = {w["workers"]: w["edited_ns"] / w["ns"] for w in said["workers"]}
        times = {}
        for _ in range(rounds):
            for workers in (1, 2):
                for variant in ("1", number):
                    times.setdefault((workers, variant), []).append(milliseconds(program, workers, name, variant))
        for workers in (1, 2):
            usual = min if workers == 1 else statistics.median
            measured = usual(times[workers, number]) / usual(times[workers, "1"])
            error = 100 * (shares[workers] / measured - 1)
            print(f"| {workers} | `{name}` 1 to {number} | {shares[workers]:.3f} | {measured:.3f} | {error:+.1f} % |")
    print()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("build")
    arguments.add_argument("--rounds", type=int, default=15)
    given = arguments.parse_args()
    tool = os.path.join(given.build, "tools/pilfer")
    program = os.path.join(given.build, "examples/whatif")
    if not os.path.exists(program):
        program = os.path.join(given.build, "examples/example_whatif")
    with tempfile.TemporaryDirectory() as folder:
        graph = os.path.join(folder, "graph")
        output(tool, "profile", "-o", os.devnull, "--graph", graph, program)
        shares = {workers: predicted(tool, graph, workers) for workers in (1, 2)}
    times = {}
    for _ in range(given.rounds):
        for workers in (1, 2):
            for name in ("", *FUNCTIONS):
                took = milliseconds(program, workers, *([name] if name else []))
                times.setdefault((workers, name), []).append(took)
    measure_edits(tool, program, given.rounds)
    print("| workers | twice as fast | predicted | measured | error |\n| ---: | --- | ---: | ---: | ---: |")
    for workers in (1, 2):
        before = min(times[workers, ""])
        for name in FUNCTIONS:
            share, measured = shares[workers][name], min(times[workers, name]) / before
            print(f"| {workers} | `{name}` | {share:.3f} | {measured:.3f} | {100 * (share / measured - 1):+.1f} % |")


if __name__ == "__main__":
    main()
