#!/usr/bin/env python3
"""The algorithms against std, std::execution::par, oneTBB and OpenMP: medians of rounds in which all take turns.

bench/algorithms.py [--build DIR] [--workers 1,2] [--rounds N] [--elements N] runs bench-algorithms, which verifies every
result, and writes bench/results/algorithms-<machine>.json and the tables of docs/results.md. With --row NAME it measures one
algorithm again, for the workers and elements of the file. With --check it writes nothing and ends with 1 if the page is not
what the file says."""
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
PAGE = os.path.join(HERE, "..", "docs", "results.md")
PLACE = re.compile(r"(<!-- algorithms: )(\S+)( -->\n).*?(<!-- /algorithms -->)", re.S)
RUNTIMES = ("std", "std par", "oneTBB", "OpenMP", "parlaylib")


def measure(build, workers, rounds, elements, *row_and_runtime):
    path = os.path.join(build, "bench", "bin", "bench-algorithms")
    # libgomp's idle threads would spin beside the runtime that is measured. Only pilfer takes fewer workers if other
    # programs want the CPUs; here all use the number that was asked for.
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "PILFER_GOVERNOR": "off"}
    done = subprocess.run([path, str(workers), str(rounds), str(elements), *row_and_runtime], stdout=subprocess.PIPE, text=True,
                          env=environment)
    if done.returncode != 0:
        sys.exit(f"algorithms.py: {path} ended with {done.returncode}")
    return json.loads(done.stdout)


def limits(build, rounds, rows):
    """How much more two programs of one worker do at once than one of them alone: no run on two workers gains more."""
    found = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pair:
        for row in rows:
            name, elements = row["name"], row["elements"]
            def seconds(_, name=name, elements=elements):
                return statistics.median(measure(build, 1, rounds, elements, name, "pilfer")["rows"][0]["seconds"]["pilfer"])
            found[name] = 2 * seconds(0) / max(pair.map(seconds, range(2)))
    return found


def measure_row(data, build, rounds, name):
    """Replaces the figures of one algorithm."""
    for run in data["runs"]:
        if name not in [row["name"] for row in run["rows"]]:
            sys.exit(f"algorithms.py: the file has no algorithm {name!r}")
        (new,) = measure(build, run["workers"], rounds, run["elements"], name)["rows"]
        run["rows"] = [new if row["name"] == name else row for row in run["rows"]]
    data["limits"].update(limits(build, rounds, [new]))


def gains(data):
    """Of each row, pilfer's time on one worker as a multiple of that on two."""
    seconds = {run["workers"]: {row["name"]: statistics.median(row["seconds"]["pilfer"]) for row in run["rows"]} for run in data["runs"]}
    return {name: seconds[1][name] / took for name, took in seconds[2].items()}


def tables(data):
    machine = data["machine"]
    lines = [f"Machine: {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}. Medians of interleaved rounds, results verified. The",
             "others are times as multiples of pilfer's: below 1, pilfer is slower."]
    if data.get("note"):
        lines.append(data["note"])
    for run in data["runs"]:
        count = "one worker" if run["workers"] == 1 else f"{run['workers']} workers"
        lines += ["", f"{run['elements']:,} elements, {count}:".capitalize(), "",
                  "| algorithm | pilfer, s | " + " | ".join(RUNTIMES) + " |", "| --- |" + " ---: |" * (len(RUNTIMES) + 1)]
        for row in run["rows"]:
            seconds = {name: statistics.median(times) for name, times in row["seconds"].items()}
            cells = [f"{seconds[name] / seconds['pilfer']:.2f}" if name in seconds else "" for name in RUNTIMES]
            fewer = f", {row['elements']:,}" if row.get("elements", run["elements"]) != run["elements"] else ""
            lines.append(f"| {row['name']}{fewer} | {seconds['pilfer']:.3g} | " + " | ".join(cells) + " |")
    if "limits" in data:
        lines += ["", "Two workers against one, and two programs of one worker at once, whose memory is the limit of both:", "",
                  "| algorithm | two workers | two programs |", "| --- | ---: | ---: |"]
        lines += [f"| {name} | {gain:.2f} | {data['limits'][name]:.2f} |" for name, gain in gains(data).items()]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), metavar="DIR")
    parser.add_argument("--workers", default="1,2", help="numbers of workers (default: 1,2)")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--elements", type=int, default=100_000_000)
    parser.add_argument("--row", metavar="NAME", help="measure this algorithm alone, and keep the others' figures")
    parser.add_argument("--note", default="", help="a sentence for the page, such as what else the machine did")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()

    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    place = PLACE.search(page)
    if place is None:
        sys.exit("algorithms.py: docs/results.md has no place for the tables")
    name = place.group(2) if options.check else "algorithms-" + results.file_name(results.machine())
    path = os.path.join(HERE, "results", name)
    if options.row:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        measure_row(data, options.build, options.rounds, options.row)
    elif not options.check:
        runs = [measure(options.build, int(workers), options.rounds, options.elements) for workers in options.workers.split(",")]
        data = {"machine": results.machine(), "note": options.note, "runs": runs}
        if {1, 2} <= {run["workers"] for run in runs}:
            data["limits"] = limits(options.build, options.rounds, runs[0]["rows"])
    if not options.check:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(data, file, indent=1)
            file.write("\n")
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    text = PLACE.sub(lambda m: m.group(1) + name + m.group(3) + "\n".join(tables(data)) + "\n" + m.group(4), page)
    if options.check:
        if text != page:
            print(f"docs/results.md is not what bench/results/{name} says; bench/algorithms.py puts it right", file=sys.stderr)
        return int(text != page)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(text)
    print("\n".join(tables(data)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
