#!/usr/bin/env python3
"""When which is best: the pictures of docs/guides, each a speed-up over plain code by length or by work.

bench/pictures.py [PICTURE...] runs the programs of these pictures (default: of all), which verify every result. It writes
bench/results/pictures-<picture>-<machine>.json and draws docs/guides/<picture>.svg. --panels measures some panels alone; the
others of the file stay. With --check it measures nothing and ends with 1 if a picture is not what its file says."""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys

import algorithms
import panels
import results
import sort

HERE = os.path.dirname(os.path.abspath(__file__))
GUIDES = os.path.join(HERE, "..", "docs", "guides")
LENGTHS = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
WORK = [0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 100_000]  # nanoseconds of a task or of an item
LOOPS = {"loop_team": "team", "its phases": "phases", "for_each": "for_each", "oneTBB": "affinity", "OpenMP static": "static",
         "OpenMP dynamic": "dynamic", "plain": "plain"}


def medians(seconds):
    return {way: statistics.median(some) for way, some in seconds.items()}


def run(options, program, *arguments):
    """What a program that prints one line of JSON has measured."""
    path = os.path.join(options.build, "bench", "bin", f"bench-{program}")
    environment = {**os.environ, "PILFER_GOVERNOR": "off"}  # only pilfer would take fewer workers beside other programs
    done = subprocess.run([path, *map(str, arguments)], stdout=subprocess.PIPE, text=True, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"pictures.py: {' '.join(done.args)} ended with {done.returncode}")
    return json.loads(done.stdout)


def measure_algorithm(options, name):
    row = {}
    for length in LENGTHS:
        for found in algorithms.measure(options.build, options.workers, options.rounds, length, name)["rows"]:
            row[found["elements"]] = medians(found["seconds"])
    return row


def measure_sort(options, name):
    ways = {"std": "std", "pilfer": "pilfer", "oneTBB": "tbb", "std par": "par"}
    row = {}
    for length in LENGTHS if name not in ("strings", "lines") else LENGTHS[:-2]:
        seconds = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, its_name in ways.items():
                reports = sort.reports(options, (its_name, name, options.workers, length), max(1, min(100, 1_000_000 // length)))
                seconds[way] += [report["seconds"] for report in reports]
        row[length] = medians(seconds)
    return row


def measure_graph(options, name):
    row = {}
    for work in WORK:
        tasks = min(max(10_000_000 / max(work, 50), 400), 100_000)
        row[work] = medians(run(options, "graph", options.workers, options.rounds, math.isqrt(int(tasks)), work, name))
    return row


def measure_pipeline(options, name):
    kind, workers = ("middle", 1) if name == "alone" else (name, options.workers)
    return {work: medians(run(options, "pipeline", options.rounds, 20_000, work, kind, workers)) for work in WORK}


def measure_loops(options, name):
    row = {}
    for _ in range(options.rounds):
        for way, its_name in LOOPS.items():
            for elements, seconds in run(options, "loops", its_name, name, options.workers, 3).items():
                row.setdefault(elements, {}).setdefault(way, []).extend(seconds)
    return {elements: medians(seconds) for elements, seconds in row.items()}


TO_16 = {1 / 64: "1/64", 1 / 8: "1/8", 1: "1", 4: "4", 16: "16"}
TO_2 = {1 / 16: "1/16", 1 / 8: "1/8", 1 / 4: "1/4", 1 / 2: "1/2", 1: "1", 2: "2"}
PICTURES = {
    "algorithms": panels.picture(
        "Speed-up over the serial std algorithm on {workers} workers, by the number of elements",
        {"pilfer": "pilfer", "oneTBB": "tbb", "OpenMP": "libgomp", "std par": "libomp", "parlaylib": "parlay"}, "std", TO_16, False,
        "sort copies its input first; ",
        {name: name for name in ("transform", "reduce", "scan", "filter", "find", "histogram", "sort", "sort strings")}, measure_algorithm),
    "sorting": panels.picture(
        "Speed-up over std::sort on {workers} workers, by the number of elements",
        {"pilfer": "pilfer", "oneTBB": "tbb", "std par": "libomp"}, "std", {1 / 4: "1/4", 1: "1", 4: "4", 16: "16", 32: "32"}, False, "",
        {"random numbers": "uint64", "sorted numbers": "sorted", "16 different numbers": "few", "records": "records", "strings": "strings",
         "lines of a text": "lines"}, measure_sort),
    "graphs": panels.picture(
        "Speed-up over plain calls on {workers} workers, by the work of a task",
        {"pilfer": "pilfer", "oneTBB": "tbb"}, "plain", TO_2, True, "",
        {"tree": "tree", "wavefront": "wavefront", "chain: nothing in parallel": "chain"}, measure_graph),
    "pipelines": panels.picture(
        "Speed-up over plain calls on {workers} workers, by the work of an item",
        {"pilfer": "pilfer", "oneTBB": "tbb"}, "plain", TO_2, True, "",
        {"all in the parallel stage": "middle", "three equal stages": "equal", "one worker": "alone"}, measure_pipeline),
    "loops": panels.picture(
        "Speed-up over plain loops on {workers} workers, by the time of a plain loop",
        {"loop_team": "pilfer", "its phases": "team", "for_each": "parlay", "oneTBB": "tbb", "OpenMP static": "libgomp",
         "OpenMP dynamic": "libomp"}, "plain", TO_2, True, "",
        {"bodies of 2 ns": "short", "bodies of 1 us": "even", "uneven: nothing to 2 us": "uneven"}, measure_loops),
}


def path_of(picture):
    return os.path.join(GUIDES, f"{picture}.svg")


def draw(picture, name):
    with open(os.path.join(HERE, "results", name), encoding="utf-8") as file:
        return panels.draw(PICTURES[picture], name, json.load(file))


def is_drawn(picture):
    with open(path_of(picture), encoding="utf-8") as file:
        shown = file.read()
    name = shown.rsplit("<!-- ", 1)[1].split(" -->")[0]
    if shown != draw(picture, name):
        print(f"docs/guides/{picture}.svg is not what bench/results/{name} says; bench/pictures.py --draw puts it right", file=sys.stderr)
        return False
    return True


def measure(picture, options, path):
    """Measures the wanted panels and keeps the others of the file."""
    shape = PICTURES[picture]
    rows = results.load(path)["rows"] if os.path.exists(path) else {}
    for title, name in shape.panels.items():
        if not options.panels or name in options.panels.split(","):
            print(f"{picture}: {title}", file=sys.stderr)
            rows[title] = shape.measure(options, name)
    rows = {title: rows[title] for title in shape.panels if title in rows}
    data = {"machine": results.machine(), "note": options.note, "workers": options.workers, "rows": rows}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="*", metavar="PICTURE", help=", ".join(PICTURES))
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), metavar="DIR")
    parser.add_argument("--workers", type=int, default=2, help="number of workers (default: 2)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--panels", default="", help="names of panels, as the programs know them, separated by commas")
    parser.add_argument("--note", default="", help="a sentence for the file, such as what else the machine did")
    parser.add_argument("--draw", action="store_true", help="draw what is measured")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wanted = options.pictures or list(PICTURES)
    for picture in wanted:
        if picture not in PICTURES:
            parser.error(f"no picture {picture}")
    if options.check:
        return int(not all([is_drawn(picture) for picture in wanted]))
    for picture in wanted:
        name = f"pictures-{picture}-" + results.file_name(results.machine())
        if not options.draw:
            measure(picture, options, os.path.join(HERE, "results", name))
        with open(path_of(picture), "w", encoding="utf-8") as file:
            file.write(draw(picture, name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
