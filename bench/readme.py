#!/usr/bin/env python3
"""Fills the tables of the README from a results file: nothing there is typed by hand."""
import argparse
import os
import re
import sys

import results

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "..", "README.md")
RUNTIMES = ["serial", "pilfer_join", "pilfer_spawn", "pilfer_fork", "pilfer_classic", "tbb", "libgomp", "libomp", "rayon"]


def find(records, kernel, runtime, workers, size, compiler):
    wanted = {"kernel": kernel, "runtime": runtime, "workers": workers, "size": size}
    same = [r for r in records if r["compiler"].startswith(compiler)]
    return results.pick(same, **wanted) or results.pick(records, **wanted)


def one_worker(records, compiler):
    """Times on one worker as multiples of pilfer's join, at the largest size that was measured."""
    kernels = sorted({r["kernel"] for r in records if r["workers"] == 1})
    lines = ["| kernel | size | pilfer_join, s | " + " | ".join(r for r in RUNTIMES if r != "pilfer_join") + " |",
             "| --- | --- | ---: |" + " ---: |" * (len(RUNTIMES) - 1)]
    for kernel in kernels:
        for size in ("full", "medium"):
            base = find(records, kernel, "pilfer_join", 1, size, compiler)
            if base is not None:
                break
        else:
            continue
        cells = [results.show(results.ratio(find(records, kernel, runtime, 1, size, compiler), base))
                 for runtime in RUNTIMES if runtime != "pilfer_join"]
        lines.append(f"| {kernel} | {size} | {results.median(base):.3g} | " + " | ".join(cells) + " |")
    return lines


def two_workers(records, size, compiler):
    """Speed-up from one worker to two, and the rivals' times as multiples of pilfer's."""
    rivals = ["tbb", "libgomp", "libomp", "rayon"]
    lines = ["| kernel | two serial programs at once | pilfer, 2 against 1 | " + " | ".join(rivals) + " |",
             "| --- | ---: | ---: |" + " ---: |" * len(rivals)]
    for kernel in sorted({r["kernel"] for r in records if r["size"] == size and r["workers"] == 2}):
        one, two = (find(records, kernel, "pilfer_join", n, size, compiler) for n in (1, 2))
        serial = find(records, kernel, "serial", 1, size, compiler)
        twice = find(records, kernel, "serial_twice", 2, size, compiler)
        if one is None or two is None:
            continue
        reference = 2 / results.ratio(twice, serial) if twice and serial else None
        cells = [results.show(results.ratio(find(records, kernel, r, 2, size, compiler), two)) for r in rivals]
        lines.append(f"| {kernel} | {results.show(reference)} | {results.ratio(one, two):.2f} | " + " | ".join(cells) + " |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", help="default: this machine's file in bench/results")
    parser.add_argument("--compiler", default="g++", help="whose records come first (default: g++)")
    options = parser.parse_args()
    path = options.results or os.path.join(HERE, "results", results.file_name(results.machine()))
    data = results.load(path)
    machine, records = data["machine"], data["records"]
    text = [f"Machine: {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}. Medians of interleaved runs,",
            "answers verified. One worker, time as a multiple of `pilfer::join` (above 1: slower than it):", ""]
    text += one_worker(records, options.compiler)
    text += ["", "Two workers: what two cores give to two serial programs, pilfer's speed-up, and the rivals' times on two",
             "workers as multiples of pilfer's:", ""]
    text += two_workers(records, "medium", options.compiler)
    with open(README, encoding="utf-8") as file:
        before = file.read()
    after, count = re.subn(r"(<!-- results -->\n).*?(<!-- /results -->)",
                           lambda m: m.group(1) + "\n".join(text) + "\n" + m.group(2), before, flags=re.S)
    if count != 1:
        sys.exit("readme.py: the README has no place for the results")
    with open(README, "w", encoding="utf-8") as file:
        file.write(after)
    return 0


if __name__ == "__main__":
    sys.exit(main())
