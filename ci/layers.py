#!/usr/bin/env python3
"""Checks that rooms depend downwards only.

    ci/layers.py [--root FOLDER]                  what the files include
    ci/layers.py [--root FOLDER] --linked BUILD   what the objects of the library in BUILD need from each other
    ci/layers.py --self-test                      the check itself: every kind of offence is found, lawful code is not

A room is a folder of src/, with include/pilfer/detail/<room>/ as its inline half. The table PUBLIC gives each public
header its room. A violation is printed as `room -> room: symbol or include, file`, and the exit code is 1.

The linked half exists because a forward declaration hides a dependency from the first half: it asks `nm` for each object's
undefined symbols, and reports those that only higher rooms define. Inline functions are in the object that calls them, so
the first half is responsible for them.

ALLOWED names violations that still exist. An entry that is not needed any longer is an error, so that the list only shrinks.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# From the ground up: a room may use itself and what is named before it. A room may be here that the tree does not have.
RANKS = """
    base platform names race_history race instrument trace profile deque balance machine context memory idle task worker cancel wait backend pool governor guest
    scope timer future sync io observe runtime coroutine objects parallel sort algorithm pipeline graph search explore check capi capi_objects adapters everything cluster jobqueue engines capi_cluster
""".split()

# A room that may use less than what is below it.
ONLY = {
    "balance": {"base"},  # pure values, shared with the simulator
    "machine": {"base", "platform", "balance"},  # may be asked without a pool
}

# The room of each public header, without ".hpp".
PUBLIC = {
    "balance": "balance",
    "cancel": "cancel",
    "base": "error task_options",
    "trace": "counters trace",
    "profile": "profile",
    "machine": "options",
    "task": "named",
    "worker": "checked_lock yield",
    "guest": "blocking",
    "pool": "attachment keep_warm pool",
    "scope": "first_result_scope join scope",
    "future": "future promise when",
    "timer": "timer",
    "sync": "barrier channel condition_variable event latch mutex semaphore shared_mutex stop",
    "io": "io on",
    "observe": "metrics",
    "coroutine": "co_await co_barrier co_lock scheduler task",
    "objects": "co_call monitor synchronized worker_local",
    "sort": "algorithm/merge sort",
    "algorithm": "algorithm",
    "pipeline": "pipeline",
    "graph": "graph",
    "search": "test test_atomic test_atomic_ref test_new",
    "capi": "pilfer.h pilfer_algorithm.h pilfer_graph.h pilfer_io.h pilfer_names.h pilfer_objects.h pilfer_pipeline.h pilfer_sync.h threadpool.h",
    "everything": "pilfer",
    "cluster": "cluster",
    "capi_cluster": "pilfer_cluster.h",
}
# Files of include/pilfer/detail/ that are in no room's folder.
LOOSE = {"fwd.hpp": "base"}

# (half, room, room it may not use) -> what it uses all the same: paths below include/ or src/, or symbols by their short names.
ALLOWED = {
    # A static library has what makes a pool only if something that a program uses refers to it, and pool::common() makes
    # the common pool on behalf of every room.
    ("linked", "pool", "runtime"): "make_pool",
}

SOURCE = re.compile(r"\.(?:hpp|cpp|ipp|h|c|S|inc)$")
COMMENT_OR_STRING = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.M)


def header_rooms():
    """The room of each public header, by its path below include/pilfer."""
    return {name if name.endswith(".h") else name + ".hpp": room
            for room, names in PUBLIC.items() for name in names.split()}


def room_of(path, headers):
    """The room of a file, None if it has none. `path` is relative to the project."""
    parts = path.split("/")
    if parts[0] == "src":
        return parts[1] if len(parts) > 2 else None
    if parts[:2] != ["include", "pilfer"]:
        return None
    if parts[2] == "detail":
        return parts[3] if len(parts) > 4 else LOOSE.get(parts[3])
    return headers.get("/".join(parts[2:]), parts[2] if len(parts) > 3 else None)


def sources(root):
    """Files of src/ and include/, relative to the project, sorted."""
    return sorted(str(path.relative_to(root)) for top in ("include", "src") for path in (root / top).rglob("*")
                  if path.is_file() and SOURCE.search(path.name))


def includes(root, path):
    """Files of the project that a file includes."""
    text = COMMENT_OR_STRING.sub(lambda m: m.group(1) or "\n" * m.group(0).count("\n"),
                                 (root / path).read_text(encoding="utf-8"))
    for name in INCLUDE.findall(text):
        for folder in (os.path.dirname(path), "src", "include"):
            target = os.path.normpath(os.path.join(folder, name))
            if (root / target).is_file():
                yield target
                break


def is_upward(room, used):
    if room == used or used in ONLY.get(room, ()):
        return False
    return room in ONLY or RANKS.index(used) > RANKS.index(room)


def include_violations(root):
    """(room, used room, include, file) of each include that goes upwards, and a list of other complaints."""
    headers = header_rooms()
    found, complaints = [], []
    files = sources(root)
    for path in files:
        room = room_of(path, headers)
        if room not in RANKS:
            complaints.append(f"{path}: room '{room}' has no place in ci/layers.py" if room else
                              f"{path}: in no room: PUBLIC in ci/layers.py does not name it")
            continue
        for target in includes(root, path):
            used = room_of(target, headers)
            if path.startswith("include/") and target.startswith("src/"):
                complaints.append(f"{path}: a public header includes {target}")
            elif used in RANKS and is_upward(room, used):
                found.append((room, used, target.split("/", 1)[1], path))
    if files:
        complaints += [f"ci/layers.py: PUBLIC names {name}, which is no file" for name in headers
                       if not (root / "include/pilfer" / name).is_file()]
    return found, complaints


def objects(build):
    """(room, file) of each object that the library is linked of. The folder may have objects of older builds too.

    An object of several rooms, which PILFER_UNITY=ON makes, has None as its room."""
    script = build / "build.ninja"
    rules = script.read_text(encoding="utf-8") if script.is_file() else ""
    for line in re.findall(r"^build .*: CXX_\w+_LIBRARY_LINKER__pilfer(?:_threadpool)?_.*$", rules, re.M):
        for folder, name in re.findall(r"(\S*CMakeFiles/pilfer(?:_threadpool)?\.dir/)(\S+\.o)\b", line):
            room = re.match(r"src/([^/]+)/", name)
            if room or name.startswith("Unity/"):
                yield room and room.group(1), build / (folder + name)


def symbols(path):
    """Symbols that an object needs and those that it defines for others, mangled."""
    needed, defined = set(), set()
    lines = subprocess.run(["nm", "--format=posix", str(path)], check=True, capture_output=True, text=True).stdout
    for line in lines.splitlines():
        name, kind = line.split()[:2]
        if kind in "Uwv":
            needed.add(name)
        elif kind.isupper() or kind == "u":
            defined.add(name)
    return needed, defined


def plain(names):
    """The names as a reader writes them."""
    lines = subprocess.run(["c++filt"], input="\n".join(names), check=True, capture_output=True, text=True).stdout
    return dict(zip(names, lines.splitlines()))


def short(name):
    """A demangled symbol as ALLOWED writes it: `a::b::f(int) const` is f, and what a class C has by itself is C."""
    name = re.sub(r"^(?:typeinfo name|typeinfo|vtable|VTT|guard variable|TLS \w+ function) for ", "", name)
    name = re.sub(r"\[abi:\w+\]", "", name).replace("(anonymous namespace)", "anonymous")
    depth, kept = 0, ""
    for letter in name:
        depth -= letter == ">"
        if letter == "(" and depth == 0:
            break
        kept += letter if depth == 0 and letter not in "<>" else ""
        depth += letter == "<"
    return kept.split("::")[-1].split(" ")[-1].lstrip("~")


def linked_violations(build):
    """(room, used room, symbol, file) of each symbol that an object needs and only higher rooms define."""
    definers, needs, complaints, count = {}, [], [], 0
    for room, path in objects(build):
        count += 1
        if room is None:
            complaints.append(f"{path}: an object of several rooms; configure {build} with -DPILFER_UNITY=OFF")
            continue
        if room not in RANKS:
            complaints.append(f"{path}: room '{room}' has no place in ci/layers.py")
            continue
        needed, defined = symbols(path)
        needs += [(room, name, path) for name in sorted(needed)]
        for name in defined:
            definers.setdefault(name, set()).add(room)
    if count == 0:
        complaints.append(f"{build}: no object of the library; build it there first")
    found = []
    for room, name, path in needs:
        rooms = definers.get(name, ())
        if rooms and all(is_upward(room, used) for used in rooms):
            found.append((room, min(rooms, key=RANKS.index), name, path.name))
    names = plain(sorted({row[2] for row in found}))
    return [(room, used, names[name], path) for room, used, name, path in found], complaints


def judge(half, found, allowed):
    """Lines for violations that are not allowed, and for allowed ones that no file needs."""
    name_of = short if half == "linked" else str
    used = {(half, room, used, name_of(what)) for room, used, what, _ in found}
    permitted = {(*key, name) for key, names in allowed.items() if key[0] == half for name in names.split()}
    lines = [f"{room} -> {used}: {what}, {path}" for room, used, what, path in found
             if (half, room, used, name_of(what)) not in permitted]
    return lines + [f"{room} -> {used}: ALLOWED in ci/layers.py names {name}, which is not needed any longer"
                    for _, room, used, name in sorted(permitted - used)]


def as_table(half, found):
    """Violations as ALLOWED would name them."""
    table = {}
    for room, used, what, _ in found:
        table.setdefault((half, room, used), set()).add(short(what) if half == "linked" else what)
    return "".join(f'    ("{half}", "{room}", "{used}"): "{" ".join(sorted(names))}",\n'
                   for (half, room, used), names in sorted(table.items()))


def self_test():
    """Trees with one offence each, and lawful ones."""
    wrong = []

    def tree(root, files):
        lawful = {f"include/pilfer/{name}": "" for name in header_rooms()}
        lawful |= {"src/base/os.hpp": "", "src/worker/loop.hpp": "", "include/pilfer/detail/worker/hot.hpp": ""}
        for path, text in (lawful | files).items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text + "\n", encoding="utf-8")

    def expect(expected, half, lines, what):
        if bool(lines) != expected:
            wrong.append(f"{half}: expected {'a find' if expected else 'none'}: {what}; printed {lines}")

    def included(expected, path, text, allowed=None):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            tree(root, {path: text})
            found, complaints = include_violations(root)
            expect(expected, "include", complaints + judge("include", found, allowed or {}), f"{path}: {text}")

    included(True, "src/deque/a.cpp", '#include "worker/loop.hpp"')
    included(True, "src/deque/a.cpp", '#include "../worker/loop.hpp"')
    included(True, "src/deque/a.cpp", "#include <pilfer/detail/worker/hot.hpp>")
    included(True, "src/deque/a.cpp", "#  include <pilfer/pool.hpp>")
    included(True, "include/pilfer/detail/deque/deque.hpp", "#include <pilfer/detail/worker/hot.hpp>")
    included(True, "include/pilfer/detail/idle/sleep.hpp", "#include <pilfer/pool.hpp>")
    included(True, "include/pilfer/pool.hpp", "#include <pilfer/scope.hpp>")
    included(True, "include/pilfer/pool.hpp", '#include "scope.hpp"')
    included(True, "include/pilfer/pool.hpp", '#include "../../src/base/os.hpp"')
    included(True, "include/pilfer/detail/fwd.hpp", "#include <pilfer/detail/worker/hot.hpp>")
    included(True, "src/machine/a.cpp", '#include <pilfer/profile.hpp>')
    included(True, "src/nowhere/a.cpp", "int x;")
    included(True, "include/pilfer/detail/nowhere/a.hpp", "int x;")
    included(True, "include/pilfer/unlisted.hpp", "int x;")
    included(False, "src/worker/a.cpp", '#include "worker/loop.hpp"')
    included(False, "src/worker/a.cpp", '#include "base/os.hpp"')
    included(False, "src/worker/a.cpp", "#include <pilfer/detail/worker/hot.hpp>")
    included(False, "src/deque/a.cpp", '// #include "worker/loop.hpp"')
    included(False, "src/deque/a.cpp", "#include <vector>")
    included(False, "include/pilfer/scope.hpp", "#include <pilfer/pool.hpp>")
    allowed = {("include", "deque", "worker"): "worker/loop.hpp"}
    included(False, "src/deque/a.cpp", '#include "worker/loop.hpp"', allowed)
    included(True, "src/deque/a.cpp", "#include <pilfer/detail/worker/hot.hpp>", allowed)
    included(True, "src/deque/a.cpp", "int x;", allowed)  # not needed any longer

    def linked(expected, upper, lower, allowed=None, lower_name="src/deque/a.cpp.o"):
        with tempfile.TemporaryDirectory() as folder:
            build = pathlib.Path(folder)
            names = {"CMakeFiles/pilfer.dir/src/worker/a.cpp.o": upper, f"CMakeFiles/pilfer.dir/{lower_name}": lower}
            for name, text in names.items():
                (build / name).parent.mkdir(parents=True)
                subprocess.run([os.environ.get("CXX", "c++"), "-x", "c++", "-c", "-o", str(build / name), "-"],
                               input=text, text=True, check=True)
            (build / "build.ninja").write_text(
                "build libpilfer.a: CXX_STATIC_LIBRARY_LINKER__pilfer_Release " + " ".join(names) + " || x\n")
            found, complaints = linked_violations(build)
            expect(expected, "linked", complaints + judge("linked", found, allowed or {}), f"{upper} | {lower}")

    call = "void up(int); void down() { up(1); }"
    linked(True, "void up(int) {}", call)
    linked(False, "void down(); void up() { down(); }", "void down() {}")
    linked(False, "inline void both() {} void up() { both(); }", "inline void both() {} void down() { both(); }")
    linked(True, "struct up { up(); ~up(); }; up::up() {} up::~up() {}", "struct up { up(); ~up(); }; void f() { up u; }")
    linked(False, "void up(int) {}", call, {("linked", "deque", "worker"): "up"})
    linked(True, "void up(int) {}", call, {("linked", "deque", "worker"): "another up"})
    linked(True, "void up(int) {}", "", {("linked", "deque", "worker"): "up"})
    linked(True, "", "", lower_name="Unity/unity_part_0_cxx.cxx.o")  # several rooms in one object
    for name, expected in (("a::b<c(d)>::f(int, g<h>) const", "f"), ("a::q::~q()", "q"), ("typeinfo for a::q", "q"),
                           ("void a::f<int>(b)", "f"), ("a::r[abi:cxx11](int&)", "r")):
        expect(False, "short name", [] if short(name) == expected else [short(name)], name)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    parser.add_argument("--linked", type=pathlib.Path, metavar="BUILD", help="look at the objects in this build folder")
    parser.add_argument("--print-allowed", action="store_true", help="print ALLOWED as it would have to be")
    parser.add_argument("--self-test", action="store_true", help="test the check itself")
    arguments = parser.parse_args()
    if arguments.self_test:
        lines = self_test()
        print(*lines, "layers: the check finds what it should" if not lines else "layers: FAILED", sep="\n")
        return 1 if lines else 0
    half = "linked" if arguments.linked else "include"
    found, lines = linked_violations(arguments.linked) if arguments.linked else include_violations(arguments.root)
    if arguments.print_allowed:
        print(as_table(half, found), end="")
        return 0
    if found or not lines:  # else there was nothing to look at, or the tree is no tree of rooms
        lines += judge(half, found, ALLOWED)
    for line in lines:
        print(line)
    edges = {row[:2] for row in found}
    print(f"layers: {half}: {len(lines)} finds; allowed are {len(found)} uses over {len(edges)} pairs of rooms"
          if not lines else f"layers: {half}: {len(lines)} finds")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
