#!/usr/bin/env python3
"""run.py PROGRAM FOLDER [--alone]: runs the cases of race_cases, planted and repaired.

A planted race must be found, and each reported access must be in a line of the case that is marked "races"; those of
c_library.cpp must all be reported. Repaired cases must
end with 0 and with a promise. Cases run together in few processes, those of forks alone first, and a planted race that is not
found so runs once more in a process of its own: there a race of the same two instructions is reported once. --alone: each in its own.
A case that only promises ends with 0, and its last line has the text. A case that waits for ever must be ended with a message.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

OF_FORKS = ("algorithms.cpp", "c_library.cpp", "graphs.cpp", "join.cpp", "loops.cpp", "repeated_accesses.cpp", "scope.cpp")


def read_cases(folder):
    """The file of each case, and the case of each marked line: the one around it or the next one."""
    files, marked = {}, {}
    for file in Path(folder).glob("*.cpp"):
        lines = file.read_text().splitlines()
        starts = [(n, m[2], m[1]) for n, line in enumerate(lines, 1) if (m := re.match(r"(PLANTED|REPAIRED|PROMISES)\((\w+)", line))]
        files |= {name: file.name for _, name, _ in starts}
        for n, line in enumerate(lines, 1):
            if "// races" in line:
                around = [s for s in starts if s[0] <= n][-1:]
                inside = around and around[0][2] == "PLANTED" and not any(l == "}" for l in lines[around[0][0]:n])
                marked[file.name, n] = around[0][1] if inside else next(s[1] for s in starts if s[0] > n and s[2] == "PLANTED")
    return files, marked


def run(program, which, names):
    done = subprocess.run([program, which, *names], capture_output=True, text=True, timeout=600,
                          env={**os.environ, "PILFER_RACE_PATIENCE": "1"})
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
    alone = "--alone" in sys.argv
    files, marked = read_cases(folder)
    listed = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    kinds = dict(line.split("\t") for line in listed)
    promises = {name: kind.removeprefix("promises ") for name, kind in kinds.items() if kind.startswith("promises ")}
    ended = [name for name, kind in kinds.items() if kind == "ended"]
    cases = sorted(kinds.keys() - promises.keys() - set(ended))
    problems = []
    found = set()
    lines = set()

    def look(names):
        status, report = run(program, "planted", names)
        at = list(accesses(report))
        known = {marked.get(a) for a in at}
        if wrong := [a for a in at if marked.get(a) not in names]:
            problems.append(f"{names}: reported in lines that are not marked: {wrong}\n{report}")
        lines.update(at)
        if status == 66:
            found.update(known & set(names))
        return report

    groups = [[n] for n in cases] if alone else [[n for n in cases if (files[n] in OF_FORKS) == forks] for forks in (True, False)]
    for names in groups:
        look(names)
        status, report = run(program, "repaired", names)
        if status != 0 or "pilfer race: no race " not in report:
            problems.append(f"{names}: repaired programs do not end well (status {status})\n{report}")
    for name in sorted(set(cases) - found):
        report = look([name])
        if name not in found:
            problems.append(f"{name}: the race was not found\n{report}")
    if missed := [at for at, name in marked.items() if at[0] == "c_library.cpp" and name in kinds and at not in lines]:
        problems.append(f"a race in a function of C was not found: {missed}")
    for name, text in sorted(promises.items()):
        status, report = run(program, "repaired", [name])
        last = report.strip().rpartition("\n")[2]
        if status != 0 or not last.startswith("pilfer race: no race ") or text not in last:
            problems.append(f"{name}: the last line does not say '{text}' (status {status})\n{report}")
    for name in ended:
        status, report = run(program, "repaired", [name])
        if status != -1 or "a pool has one worker here" not in report or "the program was ended early" not in report:
            problems.append(f"{name}: is not ended with a message (status {status})\n{report}")
    if "read_without_lock" in kinds:
        _, report = run(program, "planted", ["read_without_lock"])
        if 'under the lock "the word\'s lock", which the other one does not hold' not in report:
            problems.append(f"the lock of a race has no name\n{report}")
    print("\n".join(problems))
    print(f"found {len(found)} of {len(cases)} planted races; {len(problems)} problems")
    return 1 if problems or len(cases) < 60 or len(promises) < 10 or not ended else 0


if __name__ == "__main__":
    sys.exit(main())
