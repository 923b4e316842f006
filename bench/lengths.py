#!/usr/bin/env python3
"""From which length on a parallel algorithm pays: the speed-up over the serial algorithm of std, by the number of elements.

bench/lengths.py [--build DIR] [--workers N] [--rounds N] runs bench-algorithms, which verifies every result, for lengths
from 100 to 10^7. It writes bench/results/lengths-<machine>.json and draws docs/guides/algorithms.svg. With --check it
measures nothing and ends with 1 if the picture is not what the file says."""
import argparse
import json
import math
import os
import statistics
import sys
from xml.sax.saxutils import escape

import algorithms
import front
import results

HERE = os.path.dirname(os.path.abspath(__file__))
PICTURE = os.path.join(HERE, "..", "docs", "guides", "algorithms.svg")
LENGTHS = [100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]
LINES = {"pilfer": "pilfer", "oneTBB": "tbb", "OpenMP": "libgomp", "std par": "libomp", "parlaylib": "parlay"}  # runtime: class of its colour
WIDTH, COLUMNS, PANEL_WIDTH, PANEL_HEIGHT = 760, 3, 190, 130
LOW, HIGH = 1 / 64, 16  # of a speed-up
STYLE = front.STYLE + """
path.pilfer,path.tbb,path.libgomp,path.libomp,path.parlay{fill:none;stroke-width:2}path.pilfer{stroke:#0b7a57}path.tbb{stroke:#2f6fbf}path.libgomp{stroke:#c8702a}path.libomp{stroke:#b9933a}path.parlay{stroke:#8250df}
@media (prefers-color-scheme: dark){path.pilfer{stroke:#3fb98c}path.tbb{stroke:#6ea8fe}path.libgomp{stroke:#f0975a}path.libomp{stroke:#e2c26a}path.parlay{stroke:#c297ff}}
"""


def measure(options):
    rows = {}
    for length in LENGTHS:
        print(f"\r{length:<12}", end="", file=sys.stderr, flush=True)
        for row in algorithms.measure(options.build, options.workers, options.rounds, length)["rows"]:
            rows.setdefault(row["name"], {})[row["elements"]] = {name: statistics.median(s) for name, s in row["seconds"].items()}
    print(file=sys.stderr)
    return rows


def text(x, y, content, kind="soft", size=11, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" font-size="{size}" {more}>{escape(content)}</text>'


def panel(name, row, left, top):
    """One algorithm. Speed-ups outside of the panel lie on its edge."""
    lengths = sorted(row, key=int)
    first, last = (math.log(int(lengths[i])) for i in (0, -1))

    def x(length):
        return left + PANEL_WIDTH * (math.log(int(length)) - first) / (last - first)

    def y(speed):
        part = math.log(min(max(speed, LOW), HIGH) / LOW) / math.log(HIGH / LOW)
        return top + PANEL_HEIGHT * (1 - part)

    out = [text(left, top - 8, name, "ink", 13, 'font-weight="bold"')]
    for speed, shown in ((LOW, "1/64"), (1 / 8, "1/8"), (1, "1"), (4, "4"), (HIGH, "16")):
        out.append(f'<line x1="{left}" x2="{left + PANEL_WIDTH}" y1="{y(speed):.1f}" y2="{y(speed):.1f}" '
                   f'class="{"axis" if speed == 1 else "line"}"/>')
        out.append(text(left - 5, y(speed) + 4, shown, more='text-anchor="end"'))
    for length in lengths:
        power = math.log10(int(length))
        if power == int(power) and int(power) % 2 == 0:
            out.append(text(x(length), top + PANEL_HEIGHT + 15, f"{int(length):,}", more='text-anchor="middle"'))
    for runtime, kind in reversed(LINES.items()):
        points = [f"{x(n):.1f} {y(row[n]['std'] / row[n][runtime]):.1f}" for n in lengths if runtime in row[n]]
        if points:
            out.append(f'<path class="{kind}" d="M{" L".join(points)}"/>')
    return out


def draw(data):
    machine, rows = data["machine"], data["rows"]
    out = [text(16, 26, f"Speed-up over the serial std algorithm on {data['workers']} workers, by the number of elements", "ink", 15,
                'font-weight="bold"')]
    for number, (name, kind) in enumerate(LINES.items()):
        out.append(f'<path class="{kind}" d="M{46 + 110 * number} 44 h18"/>' + text(70 + 110 * number, 48, name))
    top = 0
    for number, (name, row) in enumerate(rows.items()):
        top = 82 + number // COLUMNS * (PANEL_HEIGHT + 56)
        out += panel(name, row, 46 + number % COLUMNS * (PANEL_WIDTH + 52), top)
    height = top + PANEL_HEIGHT + 56
    out.append(text(16, height - 14, f"Above 1: faster than std. {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; "
                                     "medians; sort copies its input first; drawn by bench/lengths.py"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="system-ui, sans-serif"><style>{STYLE}</style><rect width="100%" height="100%" class="paper"/>\n'
            + "\n".join(out) + f"\n<!-- {data['name']} -->\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build", "release"), metavar="DIR")
    parser.add_argument("--workers", type=int, default=2, help="number of workers (default: 2)")
    parser.add_argument("--rounds", type=int, default=11, help="rounds (default: 11)")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        with open(PICTURE, encoding="utf-8") as file:
            shown = file.read()
        name = shown.rsplit("<!-- ", 1)[1].split(" -->")[0]
        with open(os.path.join(HERE, "results", name), encoding="utf-8") as file:
            wanted = draw(json.load(file))
        if shown != wanted:
            print(f"docs/guides/algorithms.svg is not what bench/results/{name} says; bench/lengths.py draws it", file=sys.stderr)
        return int(shown != wanted)
    name = "lengths-" + results.file_name(results.machine())
    path = os.path.join(HERE, "results", name)
    data = {"name": name, "machine": results.machine(), "workers": options.workers, "rows": measure(options)}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
        file.write("\n")
    with open(path, encoding="utf-8") as file:
        picture = draw(json.load(file))  # as --check reads it: keys are strings there
    with open(PICTURE, "w", encoding="utf-8") as file:
        file.write(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
