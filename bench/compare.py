#!/usr/bin/env python3
"""Compares two builds of the same programs: bench/compare.py OLD NEW

In each round every program of OLD runs, then that of NEW, then that of OLD once more. Printed are the ratios of medians:
new to old, and the second runs of old to the first ones. The latter is the noise that a difference has to exceed. A line
ends with `slower` if new/old is above both 1.02 and the largest noise of all lines with as many workers.
"""
import argparse
import statistics
import sys

import run


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", help="build folder")
    parser.add_argument("new", help="build folder")
    parser.add_argument("--kernels", type=run.words, help="kernels, separated by commas (default: all)")
    parser.add_argument("--runtimes", type=run.words, default=["pilfer_join", "pilfer_spawn"],
                        help="runtimes, separated by commas (default: pilfer_join,pilfer_spawn)")
    run.add_measurement(parser, workers=[1, 2], rounds=11, size="quick")
    return parser.parse_args()


def cases(options, build):
    options.build = [build]
    found = [program for program in run.programs(options) if program[1] != "serial"]
    return {(kernel, runtime, workers): path for kernel, runtime, path in found for workers in options.workers}


def seconds(case, path, options):
    kernel, runtime, workers = case
    report = run.run_case((kernel, runtime, workers, path), options.size, options.timeout)
    if "error" in report:
        sys.exit(f"compare.py: {path}: {report['error']}")
    return report["seconds"][0]


def measure(options):
    """The ratios new/old and old/old of each program that both builds have."""
    old, new = cases(options, options.old), cases(options, options.new)
    ratios = {}
    for case in sorted(old.keys() & new.keys()):
        print(f"\r{' '.join(map(str, case)):<40}", end="", file=sys.stderr, flush=True)
        rounds = [[seconds(case, path[case], options) for path in (old, new, old)] for _ in range(options.rounds)]
        first, changed, again = (statistics.median(column) for column in zip(*rounds))
        ratios[case] = changed / first, again / first
    print(file=sys.stderr)
    return ratios


def main():
    ratios = measure(arguments())
    noise = {workers: max(abs(again - 1) for (_, _, count), (_, again) in ratios.items() if count == workers)
             for workers in {case[2] for case in ratios}}
    print("| kernel | runtime | workers | new / old | old / old | |\n| --- | --- | ---: | ---: | ---: | --- |")
    for (kernel, runtime, workers), (changed, again) in ratios.items():
        slower = changed > 1 + max(0.02, noise[workers])
        print(f"| {kernel} | {runtime} | {workers} | {changed:.3f} | {again:.3f} | {'slower' if slower else ''} |")
    means = [statistics.geometric_mean(pair[i] for pair in ratios.values()) for i in (0, 1)]
    print(f"\nGeometric means: new / old {means[0]:.3f}, old / old {means[1]:.3f}.")


if __name__ == "__main__":
    main()
