"""The chart of the front page: the cost of a fork, and the time of rivals on some kernels as multiples of pilfer's."""
import math
from xml.sax.saxutils import escape

import results

# Runtimes differ most in recursions that fork down to single calls, and least in loops and coarse tasks.
# pilfer loses the last kernel.
KERNELS = {"fib": "recursion, forks down to single calls", "uts": "search of an unbalanced tree",
           "nqueens": "backtracking", "mergesort": "divide and conquer over memory", "strassen": "nested matrix products",
           "dispatch": "loops of 64 empty bodies"}
RIVALS = {"tbb": "oneTBB", "libgomp": "OpenMP of g++", "libomp": "OpenMP of clang++"}
FORKS = {"serial": "plain call, inlined", "pilfer_join": "pilfer join", "pilfer_spawn": "pilfer spawn", "pilfer_fork": "pilfer fork",
         "tbb": "oneTBB"}
WIDTH, LEFT, RIGHT, BAR = 760, 150, 90, 18
STYLE = """
.paper{fill:#ffffff}.ink{fill:#1f2328}.soft{fill:#59636e}.line{stroke:#d1d9e0}.axis{stroke:#59636e}
.serial{fill:#8c959f}.pilfer{fill:#0b7a57}.tbb{fill:#2f6fbf}.libgomp{fill:#c8702a}.libomp{fill:#b9933a}
@media (prefers-color-scheme: dark){
.paper{fill:#0d1117}.ink{fill:#f0f6fc}.soft{fill:#9198a1}.line{stroke:#3d444d}.axis{stroke:#9198a1}
.serial{fill:#8c959f}.pilfer{fill:#3fb98c}.tbb{fill:#6ea8fe}.libgomp{fill:#f0975a}.libomp{fill:#e2c26a}}
"""


def of(records, kernel, runtime, workers):
    """A record of the medium size: one by g++, else by any compiler."""
    wanted = {"kernel": kernel, "runtime": runtime, "workers": workers, "size": "medium"}
    return results.pick([r for r in records if r["compiler"].startswith("g++")], **wanted) or results.pick(records, **wanted)


def forks(answer):
    """How many forks fib(n) makes, by its answer: one for each call with n of at least 2, which is fib(n + 1) - 1."""
    low, high = 0, 1
    while high < answer:
        low, high = high, low + high
    return low + high - 1


def fork_costs(records):
    """(runtime, nanoseconds for each fork and the call around it) on one worker."""
    for runtime in FORKS:
        record = of(records, "fib", runtime, 1)
        if record is not None:
            yield runtime, results.median(record) / forks(record["answer"]) * 1e9


def multiples(records):
    """(kernel, [(rival, time on two workers as a multiple of pilfer_join's)])."""
    for kernel in KERNELS:
        base = of(records, kernel, "pilfer_join", 2)
        found = [(rival, results.ratio(of(records, kernel, rival, 2), base)) for rival in RIVALS]
        if base is not None:
            yield kernel, [(rival, ratio) for rival, ratio in found if ratio is not None]


class picture:
    """Rows of bars, one below the other, on logarithmic axes."""

    def __init__(self):
        self.out, self.y = [], 14

    def text(self, x, content, kind="ink", size=12, more=""):
        self.out.append(f'<text x="{x:.1f}" y="{self.y:.1f}" class="{kind}" font-size="{size}" {more}>{escape(content)}</text>')

    def axis(self, low, high, origin, unit, rows):
        """A scale from 10**low to 10**high; bars begin at origin."""
        def place(value):
            return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(value) - low) / (high - low)
        self.place, self.origin = place, origin
        self.y += 16
        for power in range(math.ceil(low), math.floor(high) + 1):
            x = place(10.0 ** power)
            self.text(x, f"{10.0 ** power:g}{unit}", "soft", 11, 'text-anchor="middle"')
            self.out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{self.y + 5}" y2="{self.y + 10 + rows}" '
                            f'class="{"axis" if 10.0 ** power == origin else "line"}"/>')
        self.y += 8

    def bar(self, kind, value, shown):
        start, end = sorted((self.place(self.origin), self.place(value)))
        self.out.append(f'<rect x="{start:.1f}" y="{self.y + 3}" width="{max(end - start, 2):.1f}" height="{BAR - 5}" class="{kind}"/>')
        self.y += BAR
        self.y -= 5
        self.text(end + 6, shown, "ink", 11)
        self.y += 5

    def label(self, content):
        self.y += BAR - 5
        self.text(LEFT - 8, content, "ink", 12, 'text-anchor="end"')
        self.y -= BAR - 5


def draw(data):
    """The chart as SVG. It brings its own paper, light or dark as the reader's system is."""
    records = data["records"]
    shape = picture()
    costs, kernels = list(fork_costs(records)), list(multiples(records))
    shape.y += 8
    shape.text(16, "Cost of a fork, one worker, in nanoseconds (shorter is better)", size=15, more='font-weight="bold"')
    shape.axis(0, 2.5, 1.0, " ns", len(costs) * BAR)
    for runtime, cost in costs:
        shape.label(FORKS[runtime])
        shape.bar("pilfer" if runtime.startswith("pilfer") else runtime, cost, f"{cost:.1f}")
    shape.y += 36
    shape.text(16, "Time on two workers as a multiple of pilfer's (right of 1: slower than pilfer)", size=15,
               more='font-weight="bold"')
    shape.y += 20
    x = LEFT
    for rival, name in RIVALS.items():
        shape.out.append(f'<rect x="{x}" y="{shape.y - 10}" width="11" height="11" class="{rival}"/>')
        shape.text(x + 16, name, "soft")
        x += 150
    shape.axis(-0.5, 2, 1.0, "x", sum(len(bars) * BAR + 8 for _, bars in kernels))
    for kernel, bars in kernels:
        shape.label(kernel)
        for rival, ratio in bars:
            shape.bar(rival, ratio, f"{ratio:.2f}")
        shape.y += 8
    shape.y += 22
    machine = data["machine"]
    shape.text(16, f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; medians; drawn by bench/readme.py", "soft", 11)
    height = shape.y + 14
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'font-family="system-ui, sans-serif"><style>{STYLE}</style><rect width="100%" height="100%" class="paper"/>\n'
            + "\n".join(shape.out) + "\n</svg>\n")


def table(data):
    """Six rows for the front page."""
    records, machine = data["records"], data["machine"]
    lines = ["| kernel | what it is | speed-up of pilfer, 2 workers to 1 | serial code | " + " | ".join(RIVALS.values()) + " |",
             "| --- | --- | ---: | ---: |" + " ---: |" * len(RIVALS)]
    for kernel, what in KERNELS.items():
        one, two = (of(records, kernel, "pilfer_join", n) for n in (1, 2))
        if one is None or two is None:
            continue
        cells = [results.show(results.ratio(one, two)), results.show(results.ratio(of(records, kernel, "serial", 1), one))]
        cells += [results.show(results.ratio(of(records, kernel, rival, 2), two)) for rival in RIVALS]
        lines.append(f"| {kernel} | {what} | " + " | ".join(cells) + " |")
    return lines + ["", "The last four columns are times as multiples of pilfer's: a rival above 1 is slower than pilfer. The serial code is",
                    f"compared on one core, the rivals on two. Empty cells were not measured. Machine: {machine['cpu']}, {machine['cores']} cores, Linux "
                    f"{machine['kernel']}; medians of interleaved runs, answers verified."]
