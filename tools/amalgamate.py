#!/usr/bin/env python3
"""Writes the library as two files, pilfer.hpp and pilfer.cpp, and its C interface as a third one, pilfer.h.

    tools/amalgamate.py FOLDER

A program that includes pilfer.hpp is compiled together with pilfer.cpp, by one command and without any other file:

    g++ -std=c++20 -O2 -pthread -fstack-clash-protection program.cpp pilfer.cpp

Each header of the library is copied to the place of its first #include. The assembly of the stack switch becomes an
asm declaration. <pilfer/threadpool.h> is left out: its functions have no prefix and could clash with the program's.
"""
import argparse
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INCLUDE = ROOT / "include"
SRC = ROOT / "src"
OPTIONAL = tuple(SRC / room for room in ("capi_cluster", "cluster", "engines", "jobqueue",  # libraries of their own
                                         "instrument", "race", "race_history"))
LEFT_OUT = SRC / "capi" / "threadpool.cpp"  # CMakeLists.txt builds a second library from this file

INCLUDE_LINE = re.compile(r'\s*#\s*include\s*(<[^>]+>|"[^"]+")')
IF = re.compile(r"\s*#\s*if")
ENDIF = re.compile(r"\s*#\s*endif")
DEFINE = re.compile(r"\s*#\s*define\s+(\w+)\s*(.*)")


def own_file(name):
    """The project's file that an #include names, None for one of the system."""
    for path in (INCLUDE / name[1:-1], SRC / name[1:-1]):
        if path.is_file():
            return path
    if name.startswith('"'):
        raise SystemExit(f"amalgamate.py: no file for #include {name}")
    return None


def without_guard(lines):
    """A header's lines without `#pragma once`, or without the `#ifndef` and `#define` that guard a C header."""
    directives = [i for i, line in enumerate(lines) if line.startswith("#")]
    guard = len(directives) > 2 and re.match(r"#ifndef (\w+_H)$", lines[directives[0]])
    if guard:
        dropped = {directives[0], directives[1], directives[-1]}
        return [line for i, line in enumerate(lines) if i not in dropped]
    return [line for line in lines if line.strip() != "#pragma once"]


class Writer:
    """One output file. `seen` holds what earlier files of the same program have already included."""

    def __init__(self, seen=()):
        self.seen = set(seen)
        self.lines = []

    def include(self, name):
        """Copies a header of the project; keeps the first #include of any other."""
        if name in self.seen:
            return
        self.seen.add(name)
        path = own_file(name)
        if path is None:
            self.lines.append(f"#include {name}")
        else:
            self.copy(path)

    def copy(self, path):
        self.lines += ["", f"// ---- {path.relative_to(ROOT)}"]
        lines = without_guard(path.read_text().splitlines())
        depth = 0
        for i, line in enumerate(lines):
            if IF.match(line):
                if depth == 0:
                    self.hoist(lines[i:])
                depth += 1
            elif ENDIF.match(line):
                depth -= 1
            include = INCLUDE_LINE.match(line)
            if include is None or (depth > 0 and own_file(include[1]) is None):
                self.lines.append(line)
            elif depth == 0:
                self.include(include[1])

    def hoist(self, block):
        """Includes the project's headers of a conditional block before it: another file may need them always."""
        depth = 0
        for line in block:
            depth += 1 if IF.match(line) else -1 if ENDIF.match(line) else 0
            include = INCLUDE_LINE.match(line)
            if include is not None and own_file(include[1]) is not None:
                self.include(include[1])
            if depth == 0:
                return

    def assembly(self, path):
        """An .S file as an asm declaration: preprocessor lines stay, every other line becomes a string."""
        self.lines += ["", f"// ---- {path.relative_to(ROOT)}"]
        defined, opened = {}, False
        for line in path.read_text().splitlines():
            code = re.sub(r"\s*//.*", "", line)
            if DEFINE.match(code):
                name, value = DEFINE.match(code).groups()
                defined[name] = f"PILFER_ASM_{name}"
                self.lines.append(f'#define {defined[name]} "{value}"')
            elif code.startswith("#"):
                if opened and ENDIF.match(code):  # the file's outer condition
                    self.lines.append('    ".popsection");')
                    opened = False
                self.lines.append(code)
            elif code.strip() and ".note.GNU-stack" not in code:  # the compiler writes that section itself
                if not opened:
                    self.lines.append('asm(".pushsection .text\\n"')
                    opened = True
                word = code.strip()
                text = defined.get(word) or '"' + code.replace("\\", "\\\\").replace('"', '\\"') + '"'
                self.lines.append(f'    {text} "\\n"')
        self.lines += [f"#undef {name}" for name in defined.values()]

    def write(self, path, head):
        text = "\n".join(head + self.lines) + "\n"
        path.write_text(re.sub(r"\n{3,}", "\n\n", text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="gets the files; it is made if it does not exist")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)

    version = re.search(r"project\(pilfer VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    notice = [
        f"/* pilfer {version}, a work-stealing runtime for C++20. SPDX-License-Identifier: Apache-2.0",
        " * Written by tools/amalgamate.py from the library's sources. */",
    ]
    static = ["#ifndef PILFER_STATIC", "#define PILFER_STATIC", "#endif"]

    header = Writer()
    header.include("<pilfer/pilfer.hpp>")
    for path in sorted(INCLUDE.rglob("*.hpp")):
        # Adapters and the cluster need other libraries.
        if not {"detail", "adapters", "cluster"} & {*path.parts[len(INCLUDE.parts):], path.stem}:
            header.include(f"<{path.relative_to(INCLUDE)}>")
    header.write(folder / "pilfer.hpp", [*notice, "#pragma once", *static])

    c_header = Writer()
    c_header.include("<pilfer/pilfer.h>")
    c_header.lines = [re.sub(r"^// (----.*)", r"/* \1 */", line) for line in c_header.lines]
    c_header.write(folder / "pilfer.h", [*notice, "#ifndef PILFER_PILFER_H", "#define PILFER_PILFER_H", *static])
    with (folder / "pilfer.h").open("a") as file:
        file.write("#endif\n")

    library = Writer(header.seen)
    library.lines += ["#define PILFER_BUILDING", '#include "pilfer.hpp"']
    sources = sorted(path for path in SRC.rglob("*.cpp") if path != LEFT_OUT and path.parent not in OPTIONAL)
    if not LEFT_OUT.is_file():
        raise SystemExit(f"amalgamate.py: {LEFT_OUT} is gone")
    for path in sources:
        library.copy(path)
    for path in sorted(SRC.rglob("*.S")):
        library.assembly(path)
    library.write(folder / "pilfer.cpp", notice)


if __name__ == "__main__":
    main()
