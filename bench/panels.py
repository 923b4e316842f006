"""Pictures of speed-ups: panels side by side, each with a line for every way, on logarithmic axes."""
import dataclasses
import math
import typing
from xml.sax.saxutils import escape

import front

WIDTH, COLUMNS, PANEL_WIDTH, PANEL_HEIGHT, LEFT, GAP = 760, 3, 190, 130, 46, 52
COLOURS = {"pilfer": ("#0b7a57", "#3fb98c"), "team": ("#6cc04a", "#a5e075"), "tbb": ("#2f6fbf", "#6ea8fe"), "libgomp": ("#c8702a", "#f0975a"),
           "libomp": ("#b9933a", "#e2c26a"), "parlay": ("#8250df", "#c297ff")}  # light, dark


def style():
    def strokes(dark):
        return "".join(f"path.{name}{{stroke:{pair[dark]}}}" for name, pair in COLOURS.items())
    lines = ",".join(f"path.{name}" for name in COLOURS)
    return (front.STYLE + f"{lines}{{fill:none;stroke-width:2}}{strokes(0)}\n"
            f"@media (prefers-color-scheme: dark){{{strokes(1)}}}\n")


@dataclasses.dataclass
class picture:
    """What a picture shows. Its data are rows: {panel: {position: {way: seconds}}}."""
    title: str
    lines: dict  # way: its colour
    base: str  # the way to which the others are compared
    speeds: dict  # ticks of the speed-up with their labels; lines outside of them lie on the edge
    by_time: bool  # whether a position is the seconds of the base, or else the number of elements
    foot: str = ""
    panels: dict = dataclasses.field(default_factory=dict)  # panel: its name for the program that measures it
    measure: typing.Callable = None  # measure(options, name of a panel) gives its {position: {way: seconds}}

    def place(self, position, seconds):
        return seconds[self.base] if self.by_time else float(position)

    def ticks(self):
        if self.by_time:
            return {1e-9: "1 ns", 1e-7: "100 ns", 1e-5: "10 us", 1e-3: "1 ms"}
        return {10 ** power: f"{10 ** power:,}" for power in (2, 4, 6)}


def text(x, y, content, kind="soft", size=11, more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" font-size="{size}" {more}>{escape(content)}</text>'


class axis:
    """Puts values on a logarithmic scale. What is outside of it lies on its edge."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value):
        inside = min(max(value, self.low), self.high)
        return self.start + (self.end - self.start) * math.log(inside / self.low) / math.log(self.high / self.low)


def panel(shape, name, row, left, top):
    points = sorted((shape.place(position, seconds), seconds) for position, seconds in row.items())
    x = axis(points[0][0], points[-1][0], left, left + PANEL_WIDTH)
    y = axis(min(shape.speeds), max(shape.speeds), top + PANEL_HEIGHT, top)
    out = [text(left, top - 8, name, "ink", 13, 'font-weight="bold"')]
    for speed, shown in shape.speeds.items():
        out.append(f'<line x1="{left}" x2="{left + PANEL_WIDTH}" y1="{y(speed):.1f}" y2="{y(speed):.1f}" '
                   f'class="{"axis" if speed == 1 else "line"}"/>')
        out.append(text(left - 5, y(speed) + 4, shown, more='text-anchor="end"'))
    for value, shown in shape.ticks().items():
        if x.low <= value <= x.high:
            anchor = "middle" if x(value) < left + PANEL_WIDTH - 20 else "end"  # the next panel begins there
            out.append(text(x(value), top + PANEL_HEIGHT + 15, shown, more=f'text-anchor="{anchor}"'))
    for way, kind in reversed(shape.lines.items()):
        line = [f"{x(place):.1f} {y(seconds[shape.base] / seconds[way]):.1f}" for place, seconds in points if way in seconds]
        if line:
            out.append(f'<path class="{kind}" d="M{" L".join(line)}"/>')
    return out


def draw(shape, name, data):
    """The picture of a file of results as SVG. Its last comment is the name of the file."""
    machine, rows = data["machine"], data["rows"]
    out = [text(16, 26, shape.title.format(workers=data["workers"]), "ink", 15, 'font-weight="bold"')]
    for number, (way, kind) in enumerate(shape.lines.items()):
        out.append(f'<path class="{kind}" d="M{LEFT + 115 * number} 44 h18"/>' + text(LEFT + 24 + 115 * number, 48, way))
    top = 0
    for number, (title, row) in enumerate(rows.items()):
        top = 82 + number // COLUMNS * (PANEL_HEIGHT + 56)
        out += panel(shape, title, row, LEFT + number % COLUMNS * (PANEL_WIDTH + GAP), top)
    height = top + PANEL_HEIGHT + 56
    out.append(text(16, height - 14, f"Above 1: faster than {shape.base}{' code' * shape.by_time}. {machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; "
                                     f"medians; {shape.foot}drawn by bench/pictures.py"))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="system-ui, sans-serif"><style>{style()}</style><rect width="100%" height="100%" class="paper"/>\n'
            + "\n".join(out) + f"\n<!-- {name} -->\n</svg>\n")
