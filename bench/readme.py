#!/usr/bin/env python3
"""Fills the README's table and docs/results.md from a results file and draws docs/front.svg: no figure is typed by hand."""
import argparse
import os
import re
import sys

import front
import results

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..")
README, RESULTS, CHART = (os.path.join(ROOT, *path) for path in (("README.md",), ("docs", "results.md"), ("docs", "front.svg")))
PLACE = re.compile(r"(<!-- results: )(\S+)( -->\n).*?(<!-- /results -->)", re.S)
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


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def filled(path, source, lines):
    """The text of a page with these lines between its marks, which also name the results file."""
    text, count = PLACE.subn(lambda m: m.group(1) + source + m.group(3) + "\n".join(lines) + "\n" + m.group(4), read(path))
    if count != 1:
        sys.exit(f"readme.py: {os.path.basename(path)} has no place for the results")
    return text


def all_tables(data, compiler):
    machine, records = data["machine"], data["records"]
    return ([f"Machine: {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}. Medians of interleaved runs, answers verified.",
             "", "## One worker", "Times as multiples of `pilfer::join`'s: above 1 is slower than it.", ""]
            + one_worker(records, compiler)
            + ["", "## Two workers",
               "The first column says what two cores give to two serial programs at once, the second how much faster pilfer is with",
               "two workers than with one. The others are the rivals' times on two workers as multiples of pilfer's.", ""]
            + two_workers(records, "medium", compiler))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", help="default: this machine's file in bench/results")
    parser.add_argument("--compiler", default="g++", help="compiler whose records come first (default: g++)")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; end with 1 if a page differs from the results file that the README names")
    options = parser.parse_args()
    named = PLACE.search(read(README))
    source = named.group(2) if options.check and named else results.file_name(results.machine())
    path = options.results or os.path.join(HERE, "results", source)
    data = results.load(path)
    source = os.path.basename(path)
    pages = {README: filled(README, source, front.table(data)),
             RESULTS: filled(RESULTS, source, all_tables(data, options.compiler)), CHART: front.draw(data)}
    stale = [page for page, text in pages.items() if read(page) != text]
    for page in stale:
        if options.check:
            print(f"{os.path.relpath(page, ROOT)} differs from bench/results/{source}; bench/readme.py writes it again", file=sys.stderr)
        else:
            with open(page, "w", encoding="utf-8") as file:
                file.write(pages[page])
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
