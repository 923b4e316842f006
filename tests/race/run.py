#!/usr/bin/env python3
"""run.py PROGRAM FOLDER [--figures]: runs each case of race_cases once, planted and repaired.

A case that only promises ends with 0, and its last line has the text. A planted race must be found in the one run, and each reported access must be in a line of the case that is
marked "races". A repaired case must end with 0 and with a promise.
"""
import re
import subprocess
import sys
from pathlib import Path


def marked_lines(folder):
    return {(f.name, n) for f in Path(folder).glob("*.cpp")
            for n, line in enumerate(f.read_text().splitlines(), 1) if "// races" in line}


def run(program, name, which):
    done = subprocess.run([program, name, which], capture_output=True, text=True, timeout=120)
    if done.stdout != "the program has ended\n":  # the report must not cost the program's own output
        return -1, done.stderr
    return done.returncode, done.stderr


def accesses(report):
    """The first line of each access."""
    lines = report.splitlines()
    for at, line in enumerate(lines):
        if re.match(r"  (is parallel to an earlier )?(read|write) of ", line):
            place = re.match(r"\s+(\S+?):(\d+)", lines[at + 1]) if at + 1 < len(lines) else None
            yield (Path(place[1]).name, int(place[2])) if place else ("?", 0)


def main():
    program, folder = sys.argv[1:3]
    marked = marked_lines(folder)
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = dict(line.split("\t") for line in listed)
    promises = {name: kind.removeprefix("promises ") for name, kind in kinds.items() if kind.startswith("promises ")}
    cases = sorted(kinds.keys() - promises.keys())
    problems = []
    found = 0
    for name in cases:
        status, report = run(program, name, "planted")
        at = list(accesses(report))
        if status != 66 or not at:
            problems.append(f"{name}: the race was not found (status {status})\n{report}")
        elif wrong := [a for a in at if a not in marked]:
            problems.append(f"{name}: reported in lines that are not marked: {wrong}\n{report}")
        else:
            found += 1
        status, report = run(program, name, "repaired")
        if status != 0 or "pilfer race: no race " not in report:
            problems.append(f"{name}: the repaired program does not end well (status {status})\n{report}")
    for name, text in sorted(promises.items()):
        status, report = run(program, name, "repaired")
        last = report.strip().rpartition("\n")[2]
        if status != 0 or not last.startswith("pilfer race: no race ") or text not in last:
            problems.append(f"{name}: the last line does not say '{text}' (status {status})\n{report}")
    print("\n".join(problems))
    print(f"found {found} of {len(cases)} planted races; {len(problems)} problems")
    return 1 if problems or len(cases) < 40 or len(promises) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
