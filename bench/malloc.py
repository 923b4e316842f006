#!/usr/bin/env python3
"""How much of a kernel's time malloc takes: as glibc is set up by default, and if it keeps the memory that is freed.

By default glibc's malloc gives the free end of its heap back to the system, and the next use of that memory costs page
faults. When that happens depends on which blocks are still in use, hence on the runtime. Printed are medians of rounds, in
which all variants take turns: times as multiples of pilfer's with the default, and page faults of each process.
"""
import argparse
import os
import resource
import statistics
import sys

import run

KEEPS = {"MALLOC_TRIM_THRESHOLD_": "2000000000", "MALLOC_MMAP_THRESHOLD_": "2000000000"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(os.path.dirname(__file__), "..", "build", "release"), metavar="DIR",
                        help="build folder (default: build/release)")
    parser.add_argument("--kernel", default="strassen", help="kernel (default: strassen)")
    parser.add_argument("--runtimes", type=run.words, default=["pilfer_join", "libgomp", "tbb"],
                        help="runtimes, pilfer_join first (default: pilfer_join,libgomp,tbb)")
    run.add_measurement(parser, workers=[1, 2], rounds=11, size="medium")
    return parser.parse_args()


def measure(options, runtime, workers, keeps):
    """(seconds, page faults) of one process."""
    path = os.path.join(options.build, "bench", "bin", f"bench-{options.kernel}-{runtime}")
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    for name in KEEPS:
        os.environ.pop(name, None)
    if keeps:
        os.environ.update(KEEPS)
    report = run.run_case((options.kernel, runtime, workers, path), options.size, options.timeout)
    if "error" in report:
        sys.exit(f"malloc.py: {path}: {report['error']}")
    return report["seconds"][0], resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before


def main():
    options = arguments()
    cases = [(runtime, workers, keeps) for workers in options.workers for runtime in options.runtimes
             for keeps in (False, True)]
    rounds = [[measure(options, *case) for case in cases] for _ in range(options.rounds)]
    found = {case: [statistics.median(column) for column in zip(*results)] for case, results in zip(cases, zip(*rounds))}
    print("| runtime | workers | default | faults | keeps memory | faults |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for workers in options.workers:
        base = found[options.runtimes[0], workers, False][0]
        for runtime in options.runtimes:
            cells = [f"{seconds / base:.2f} | {faults:.0f}"
                     for seconds, faults in (found[runtime, workers, keeps] for keeps in (False, True))]
            print(f"| {runtime} | {workers} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
