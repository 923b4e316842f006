#!/usr/bin/env python3
"""profile_lines.py BEFORE AFTER [--rounds N] [--size SIZE] [--repeat N]: what a recording costs in two versions.

BEFORE and AFTER are build folders with the benchmark programs of uts, of two versions of the library. Each program records
its work and span (PILFER_PROFILE), and then its task graph, too. The figures are CPU times of whole runs, in which the two
versions and a run of AFTER that records nothing take turns; a ratio is that of AFTER's median to BEFORE's. Programs that read debug information are not found
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
NOTHING, FIGURES, GRAPH = "nothing", "work and span", "and the graph"


def cpu_seconds(build, variant, options, folder, recorded, path=""):
    program = os.path.join(build, "bench", "bin", f"bench-uts-{variant}")
    environment = {**os.environ, "PILFER_WORKERS": "1", "PATH": path}
    if recorded != NOTHING:
        environment["PILFER_PROFILE"] = os.path.join(folder, "profile")
    if recorded == GRAPH:
        environment["PILFER_PROFILE_GRAPH"] = os.path.join(folder, "graph")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([program, "--workers", "1", "--size", options.size, "--repeat", str(options.repeat)], env=environment,
                          capture_output=True, text=True)
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
    parser.add_argument("--repeat", type=int, default=40, help="in one process; the more, the less its begin and end matter")
    options = parser.parse_args()
    print("| uts by | recorded | not recorded, s | before, s | after, s | ratio |\n| --- | --- | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        for recorded in (FIGURES, GRAPH):
            for variant in VARIANTS:
                runs = [(options.after, NOTHING), (options.before, recorded), (options.after, recorded)]
                times = [[] for _ in runs]
                for i in range(options.rounds):
                    for n in (0, 1, 2) if i % 2 == 0 else (2, 1, 0):
                        times[n].append(cpu_seconds(runs[n][0], variant, options, folder, runs[n][1]))
                plain, before, after = map(statistics.median, times)
                print(f"| {variant.removeprefix('pilfer_')} | {recorded} | {plain:.3f} | {before:.3f} | {after:.3f} | "
                      f"{after / before:.3f} |", flush=True)
        options.size, options.repeat = "tiny", 1
        times = {"": [], os.environ["PATH"]: []} # without addr2line, and with it
        for _ in range(options.rounds):
            for path, seconds in times.items():
                seconds.append(cpu_seconds(options.after, VARIANTS[0], options, folder, FIGURES, path))
        alone, read = map(statistics.median, times.values())
        print(f"\nReading the lines at the end takes {1e3 * (read - alone):.0f} ms.")


main()
