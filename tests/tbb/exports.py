#!/usr/bin/env python3
"""Checks dropin/tbb/functions.txt.

    exports.py LIBRARY [DEBIAN]

LIBRARY exports exactly the rows that are `exported`, without symbol versions and under the soname libtbb.so.12. If DEBIAN's own
libtbb.so.12 is given and is of version 12.8, it exports exactly all rows. A program that needs a `missing` one is refused by
the loader, which names it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(*command, **more):
    return subprocess.run(command, text=True, capture_output=True, **more)


def exported(library):
    lines = run("nm", "-D", "--defined-only", "--with-symbol-versions", library, check=True).stdout.splitlines()
    return {line.split()[2] for line in lines}


def compare(what, found, expected):
    for name in sorted(found - expected):
        print(f"{what}: exports {name}, which functions.txt does not say")
    for name in sorted(expected - found):
        print(f"{what}: does not export {name}, which functions.txt says")
    return found == expected


def main():
    library = sys.argv[1]
    table = pathlib.Path(__file__).resolve().parents[2] / "dropin" / "tbb" / "functions.txt"
    rows = [line.split()[:2] for line in table.read_text().splitlines() if not line.startswith("#")]
    if {state for state, _ in rows} - {"exported", "missing"} or len({name for _, name in rows}) != len(rows):
        print("functions.txt: a row is neither exported nor missing, or a name is there twice")
        return 1
    ours = {name for state, name in rows if state == "exported"}
    missing = sorted(name for state, name in rows if state == "missing")
    good = compare(library, exported(library), ours)
    if "libtbb.so.12]" not in run("readelf", "-d", library, check=True).stdout:
        print(f"{library}: the soname is not libtbb.so.12")
        good = False
    if len(sys.argv) > 2:
        debian = pathlib.Path(sys.argv[2]).resolve()
        if debian.name == "libtbb.so.12.8":
            good = compare(str(debian), exported(str(debian)), {name for _, name in rows}) and good
        else:
            print(f"{debian}: another version, not compared")
    with tempfile.TemporaryDirectory() as folder:
        for name in missing:
            source = os.path.join(folder, "needs.cpp")
            program = os.path.join(folder, "needs")
            pathlib.Path(source).write_text(f'extern "C" void {name}();\nint main() {{ {name}(); }}\n')
            # Linked against a library that has it, and started with ours.
            fake = os.path.join(folder, "libtbb.so.12")
            pathlib.Path(folder, "fake.cpp").write_text(f'extern "C" void {name}() {{}}\n')
            run("c++", "-shared", "-fPIC", "-Wl,-soname,libtbb.so.12", "-o", fake, os.path.join(folder, "fake.cpp"), check=True)
            run("c++", "-o", program, source, fake, "-Wl,-z,now", check=True)
            result = run(program, env={**os.environ, "LD_LIBRARY_PATH": os.path.dirname(library)})
            if result.returncode == 0 or not re.search(rf"undefined symbol: {name}\b", result.stderr):
                print(f"a program that needs {name} is not refused by name: {result.returncode} {result.stderr}")
                good = False
    print(f"{len(ours)} exported, {len(missing)} missing" if good else "functions.txt and the libraries differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
