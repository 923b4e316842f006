#!/usr/bin/env python3
"""pilfer::sort and stable_sort against std::sort, oneTBB's parallel_sort and std::execution::par, in one interleaved run.

In round r every way sorts every input once, each in a process of its own, and each result is verified. The tables give
ratios of medians. The records go to bench/results/sort-<machine>.json or --output. docs/guides/sorting.md has the tables of
every file that it names.
--check measures nothing and ends with 1 if that page differs from the records that it names.
"""
import argparse
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys

import results

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "docs", "guides", "sorting.md")
PLACE = re.compile(r"(<!-- sorts: )(\S+)( -->\n).*?(<!-- /sorts -->)", re.S)
INPUTS = ["uint32", "uint64", "double", "sorted", "reversed", "few", "records", "strings", "lines"]
SORTS, STABLE = ["std", "pilfer", "tbb", "par"], ["std_stable", "pilfer_stable", "par_stable"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), help="build folder")
    parser.add_argument("--inputs", default=",".join(INPUTS), help="separated by commas (default: all)")
    parser.add_argument("--workers", default="1,2", help="numbers of workers (default: 1,2)")
    parser.add_argument("--count", type=int, default=10_000_000, help="elements; strings and lines: a tenth (default: 10^7)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--output", help="results file (default: bench/results/sort-<machine>.json)")
    parser.add_argument("--no-page", action="store_true", help="leave the page as it is")
    parser.add_argument("--limit", action="store_true",
                        help="only print the gain of two programs of one worker at once: no sort on two workers gains more")
    parser.add_argument("--check", action="store_true", help="only compare the page with the records that it names")
    return parser.parse_args()


def reports(options, case, repeat=1):
    """What bench-sort says of each repetition. pilfer alone would take fewer workers beside other programs."""
    way, data, workers, count = case
    program = os.path.join(options.build, "bench", "bin", "bench-sort")
    done = subprocess.run([program, "--way", way, "--input", data, "--workers", str(workers), "--count", str(count), "--repeat", str(repeat)],
                          stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, "PILFER_GOVERNOR": "off"})
    if done.returncode != 0:
        sys.exit(f"sort.py: {' '.join(done.args)} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def once(options, case):
    return reports(options, case)[0]


def print_limit(options):
    for data in options.inputs.split(","):
        case = ("pilfer", data, 1, options.count // 10 if data in ("strings", "lines") else options.count)
        both = case[:2] + (2,) + case[3:]
        gains = {"two programs": [], "two workers": []}
        with concurrent.futures.ThreadPoolExecutor(2) as pair:
            for _ in range(options.rounds):
                alone = once(options, case)["seconds"]
                slower = max(report["seconds"] for report in pair.map(once, [options] * 2, [case] * 2))
                gains["two programs"].append(2 * alone / slower)
                gains["two workers"].append(alone / once(options, both)["seconds"])
        print(f"{data:<10}" + "".join(f"  {name} {statistics.median(gain):.2f}" for name, gain in gains.items()))


def measure(options):
    cases = []
    for data in options.inputs.split(","):
        count = options.count // 10 if data in ("strings", "lines") else options.count
        for way in SORTS + STABLE:
            numbers = [1] if way.startswith("std") else [int(w) for w in options.workers.split(",")]
            cases += [(way, data, workers, count) for workers in numbers]
    records = {case: dict(zip(("way", "input", "workers", "count"), case), seconds=[], cpu=[]) for case in cases}
    for turn in range(options.rounds):
        for number, case in enumerate(cases):
            print(f"\rround {turn + 1}/{options.rounds}, {number + 1}/{len(cases)} {case[0]} {case[1]:<12}", end="",
                  file=sys.stderr, flush=True)
            report = once(options, case)
            records[case]["seconds"].append(report["seconds"])
            records[case]["cpu"].append(report["cpu"])
    print(file=sys.stderr)
    return {"machine": results.machine(), "load": os.getloadavg()[0], "records": list(records.values())}


def median(data, field, **wanted):
    for record in data["records"]:
        if all(record[name] == value for name, value in wanted.items()):
            return statistics.median(record[field])
    return None


def ratio(data, field, way, workers, base, base_workers, name):
    one = median(data, field, way=way, workers=workers, input=name)
    other = median(data, field, way=base, workers=base_workers, input=name)
    return "" if one is None or other is None else f"{one / other:.2f}"


def tables(data):
    machine = data["machine"]
    counts = {r["input"]: r["count"] for r in data["records"]}
    lines = [f"Machine: {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; {data['load']:.0f} other tasks wanted them",
             "at the end. Medians of interleaved runs, results verified. One worker: processor time as a multiple of",
             "`std::sort`'s and `std::ranges::stable_sort`'s. Below 1 is faster than these.", "",
             "| input | elements | std::sort, s | pilfer | oneTBB | par | std stable, s | pilfer stable | par stable |",
             "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, count in counts.items():
        cells = [name, f"{count:,}", f"{median(data, 'cpu', way='std', input=name):.3g}"]
        cells += [ratio(data, "cpu", way, 1, "std", 1, name) for way in SORTS[1:]]
        cells += [f"{median(data, 'cpu', way='std_stable', input=name):.3g}"]
        cells += [ratio(data, "cpu", way, 1, "std_stable", 1, name) for way in STABLE[1:]]
        lines.append("| " + " | ".join(cells) + " |")
    if any(r["workers"] == 2 for r in data["records"]):
        lines += ["", "Two workers: the first columns say how much faster pilfer is than with one worker, the others the rivals' time",
                  "as a multiple of pilfer's. Above 1 is slower than pilfer.", "",
                  "| input | pilfer, 2 against 1 | stable, 2 against 1 | oneTBB | par | par stable |",
                  "| --- | ---: | ---: | ---: | ---: | ---: |"]
        for name in counts:
            cells = [name, ratio(data, "seconds", "pilfer", 1, "pilfer", 2, name),
                     ratio(data, "seconds", "pilfer_stable", 1, "pilfer_stable", 2, name),
                     ratio(data, "seconds", "tbb", 2, "pilfer", 2, name), ratio(data, "seconds", "par", 2, "pilfer", 2, name),
                     ratio(data, "seconds", "par_stable", 2, "pilfer_stable", 2, name)]
            lines.append("| " + " | ".join(cells) + " |")
    return lines


def filled(text, wanted=None, data=None):
    """The page with the tables of every records file that it names. Those of `wanted` come from `data`."""
    def place(match):
        name = match.group(2)
        records = data if name == wanted else results.load(os.path.join(HERE, "results", name))
        return match.group(1) + name + match.group(3) + "\n".join(tables(records)) + "\n" + match.group(4)
    return PLACE.sub(place, text)


def main():
    options = arguments()
    if options.limit:
        print_limit(options)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    named = [match.group(2) for match in PLACE.finditer(text)]
    if not named:
        sys.exit("sort.py: docs/guides/sorting.md has no place for the tables")
    if options.check:
        if filled(text) != text:
            print(f"docs/guides/sorting.md is not what {', '.join(named)} in bench/results say; bench/sort.py puts it right",
                  file=sys.stderr)
            return 1
        return 0
    data = measure(options)
    path = options.output or os.path.join(HERE, "results", "sort-" + results.file_name(data["machine"]))
    with open(path, "w", encoding="utf-8") as file:
        lines = ",\n  ".join(json.dumps(record) for record in data["records"])
        file.write(f'{{"machine": {json.dumps(data["machine"])}, "load": {data["load"]:.1f},\n "records": [\n  {lines}\n]}}\n')
    print("\n".join(tables(data)))
    if os.path.basename(path) not in named:
        print(f"docs/guides/sorting.md names no {os.path.basename(path)}, so it stays as it is", file=sys.stderr)
    elif not options.no_page:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(filled(text, os.path.basename(path), data))
    return 0


if __name__ == "__main__":
    sys.exit(main())
