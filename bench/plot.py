#!/usr/bin/env python3
"""Draws a results file as bars: time relative to pilfer_join, on a logarithmic axis, one group for each kernel."""
import argparse
import math
import os
import sys
from xml.sax.saxutils import escape

import results

COLOURS = {"serial": "#9a9a9a", "serial_twice": "#c4c4c4", "pilfer_join": "#0b6e4f", "pilfer_spawn": "#2fa37c",
           "pilfer_fork": "#73c9a9", "pilfer_classic": "#b5e2d1", "tbb": "#1f5fa8", "libgomp": "#c8702a",
           "libomp": "#e3a45f", "rayon": "#a23b3b"}
LEFT, WIDTH, BAR, GAP, TOP = 210, 620, 15, 16, 78


def groups(records, size, workers, compiler):
    """(kernel, [(label, runtime, ratio, seconds)]) for each kernel that pilfer_join has run."""
    wanted = [r for r in records if r["size"] == size and r.get("seconds")
              and (r["workers"] == workers or r["runtime"] == "serial")
              and (r["compiler"].startswith(compiler) or r["runtime"] in ("libomp", "libgomp", "rayon"))]
    for kernel in sorted({r["kernel"] for r in wanted}):
        base = results.pick([r for r in wanted if r["compiler"].startswith(compiler)],
                            kernel=kernel, runtime="pilfer_join", workers=workers)
        if base is None:
            continue
        bars = {r["runtime"]: (results.ratio(r, base), results.median(r))
                for r in wanted if r["kernel"] == kernel and r["runtime"] in COLOURS}
        yield kernel, [(name, *bars[name]) for name in COLOURS if name in bars]


def text(x, y, content, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(content)}</text>'


def draw(title, note, drawn):
    ratios = [ratio for _, bars in drawn for _, ratio, _ in bars]
    low = min(math.floor(math.log10(min(ratios))), -1)
    high = max(math.ceil(math.log10(max(ratios))), 1)
    position = lambda ratio: LEFT + WIDTH * (math.log10(ratio) - low) / (high - low)
    height = TOP + sum(len(bars) * BAR + GAP for _, bars in drawn) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 130}" height="{height}" '
           'font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>',
           text(16, 26, title, 'font-size="17" font-weight="bold"'), text(16, 46, note, 'fill="#555"')]
    for power in range(low, high + 1):
        x = position(10.0 ** power)
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - 24}" '
                   f'stroke="{"#333" if power == 0 else "#ddd"}"/>')
        out.append(text(x, TOP - 13, f"{10.0 ** power:g}", 'text-anchor="middle" fill="#555"'))
    y = TOP
    for kernel, bars in drawn:
        out.append(text(16, y + BAR - 3, kernel, 'font-weight="bold"'))
        for name, ratio, seconds in bars:
            start, end = sorted((position(1), position(ratio)))
            out.append(text(LEFT - 100, y + BAR - 3, name))
            out.append(f'<rect x="{start:.1f}" y="{y + 1}" width="{max(end - start, 1.5):.1f}" height="{BAR - 3}" '
                       f'fill="{COLOURS[name]}"/>')
            out.append(text(max(position(ratio), position(1)) + 5, y + BAR - 3, f"{ratio:.2f}  ({seconds:.3g} s)", 'font-size="10.5"'))
            y += BAR
        y += GAP
    out.append("</svg>")
    return "\n".join(out) + "\n"


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--input", help="results file (default: bench/results/<machine>.json)")
    parser.add_argument("--output", help="picture (default: beside the results file)")
    parser.add_argument("--size", default="full")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--compiler", default="g++")
    options = parser.parse_args()
    source = options.input or os.path.join(here, "results", results.file_name(results.machine()))
    data = results.load(source)
    drawn = list(groups(data["records"], options.size, options.workers, options.compiler))
    if not drawn:
        sys.exit(f"plot.py: {os.path.basename(source)} has no pilfer_join by {options.compiler} with size "
                 f"{options.size} and {options.workers} workers")
    plural = "worker" if options.workers == 1 else "workers"
    title = f"Time relative to pilfer_join, {options.workers} {plural}, size {options.size}"
    note = f"{data['machine']['cpu']}, {data['machine']['cores']} cores, {options.compiler}; shorter is faster; medians"
    target = options.output or os.path.splitext(source)[0] + ".svg"
    with open(target, "w", encoding="utf-8") as file:
        file.write(draw(title, note, drawn))
    return 0


if __name__ == "__main__":
    sys.exit(main())
