#!/usr/bin/env python3
"""profile_lines.py BEFORE AFTER [--rounds N] [--size SIZE]: what lines of the source cost a recording.

BEFORE and AFTER are build folders with the benchmark programs of uts, of two versions of the library. Each program records
its work and span (PILFER_PROFILE), and in a second table its task graph, too. The figures are CPU times of whole runs, in
which the two versions take turns; a ratio is that of their medians. Programs that read debug information are not found
meanwhile: they run once for each file, at its end, and the last line says how long they take for this program.
"""
import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile

VARIANTS = ("pilfer_join", "pilfer_spawn", "pilfer_fork")
REPEAT = 40  # in one process, whose beginning and end then matter little


def cpu_seconds(build, variant, size, folder, graph, path=""):
    program = os.path.join(build, "bench", "bin", f"bench-uts-{variant}")
    environment = {**os.environ, "PILFER_PROFILE": os.path.join(folder, "profile"), "PILFER_WORKERS": "1",
                   "PATH": path}
    if graph:
        environment["PILFER_PROFILE_GRAPH"] = os.path.join(folder, "graph")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "--workers", "1", "--size", size, "--repeat", str(REPEAT)], env=environment, capture_output=True,
                          text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"{program} ends with {done.returncode}\n{done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--size", default="tiny", choices=["tiny", "quick", "medium", "full", "large"])
    options = parser.parse_args()
    print("| uts by | recorded | before, s | after, s | ratio |\n| --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for graph in (False, True):
            for variant in VARIANTS:
                times = {options.before: [], options.after: []}
                for i in range(options.rounds):
                    for build in (options.before, options.after) if i % 2 == 0 else (options.after, options.before):
                        times[build].append(cpu_seconds(build, variant, options.size, folder, graph))
                before, after = (statistics.median(times[b]) for b in (options.before, options.after))
                print(f"| {variant.removeprefix('pilfer_')} | {'and the graph' if graph else 'work and span'} | {before:.3f} | "
                      f"{after:.3f} | {after / before:.3f} |", flush=True)
        alone, read = (statistics.median(cpu_seconds(options.after, VARIANTS[0], "tiny", folder, False, path)
                                         for _ in range(options.rounds)) for path in ("", os.environ["PATH"]))
        print(f"\nReading the lines at the end takes {1e3 * (read - alone):.0f} ms.")


main()
