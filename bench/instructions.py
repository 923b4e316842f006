#!/usr/bin/env python3
"""Counts the instructions of join, spawn and fork that nobody steals.

bench/instructions.py [--base COMMIT] [--compilers g++,clang++-19]: instructions per call of a recursion on one worker, by
callgrind, with a column for each compiler, and for COMMIT beside the working tree. Each tree is compiled from its amalgamation.
The counts are exact: a difference is a difference of the code. The recursion by plain calls is the part that is no fork.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = """
#include "pilfer.hpp"
#include <cstdlib>
#include <cstring>

long plain(long n);
long by_join(long n);
long by_spawn(long n);
long by_fork(long n);

int main(int, char** argv) {
    const long n = std::atol(argv[2]);
    pilfer::options o;
    o.workers = 1;
    pilfer::pool p(o);
    const char* const how = argv[1];
    const long r = p.run([&] {
        return std::strcmp(how, "plain") == 0   ? plain(n)
               : std::strcmp(how, "join") == 0  ? by_join(n)
               : std::strcmp(how, "spawn") == 0 ? by_spawn(n)
                                                : by_fork(n);
    });
    return r > 0 ? 0 : 1;
}
"""
# Each in a file of its own, so that no compiler sees what it calls.
RECURSIONS = {
    "plain": "long plain(long n) { if (n < 2) return 1; long a = plain(n - 1); asm volatile(\"\" : \"+r\"(a)); return a + plain(n - 2); }",
    "join": """long by_join(long n) {
        if (n < 2) return 1;
        auto [a, b] = pilfer::join([=] { return by_join(n - 1); }, [=] { return by_join(n - 2); });
        return a + b;
    }""",
    "spawn": """long by_spawn(long n) {
        if (n < 2) return 1;
        long a = 0;
        pilfer::scope s;
        s.spawn([&a, n] { a = by_spawn(n - 1); });
        const long b = by_spawn(n - 2);
        s.sync();
        return a + b;
    }""",
    "fork": """long by_fork(long n) {
        if (n < 2) return 1;
        long a = 0;
        pilfer::scope s;
        s.fork([&a, n] { a = by_fork(n - 1); });
        const long b = by_fork(n - 2);
        s.sync();
        return a + b;
    }""",
}
SMALL, LARGE = 12, 20


def run(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **options).stdout


def unpack(commit, folder):
    archive = folder / "tree.tar"
    run("git", "-C", ROOT, "archive", "-o", archive, commit)
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") else tar.extractall(folder)
    return folder


def calls(n):
    """The inner calls of the recursion: each makes one fork."""
    return 0 if n < 2 else 1 + calls(n - 1) + calls(n - 2)


def executed(program, how, n, out):
    run("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", program, how, n)
    totals = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M)
    return int(totals.group(1))


def build(tree, compiler, folder, *link):
    """The program of all recursions, from the amalgamation of the tree in folder/amalgamation."""
    amalgamation = folder / "amalgamation"
    run(sys.executable, tree / "tools/amalgamate.py", amalgamation)
    flags = ["-std=c++20", "-O2", "-I", amalgamation]
    (folder / "main.cpp").write_text(PROGRAM)
    objects = []
    sources = {"pilfer": amalgamation / "pilfer.cpp", "main": folder / "main.cpp"}
    for name, text in RECURSIONS.items():
        sources[name] = folder / f"{name}.cpp"
        sources[name].write_text('#include "pilfer.hpp"\n' + text + "\n")
    for name, source in sources.items():
        objects.append(folder / f"{name}.o")
        run(compiler, *flags, "-c", source, "-o", objects[-1])
    program = folder / "program"
    run(compiler, *link, *objects, "-o", program, "-lpthread")
    return program


def per_call(tree, compiler, folder):
    program = build(tree, compiler, folder)
    result = {}
    for how in RECURSIONS:
        # A difference of two runs: what starts and ends the pool is in both.
        counts = [executed(program, how, n, folder / "callgrind.out") for n in (SMALL, LARGE)]
        result[how] = (counts[1] - counts[0]) / (calls(LARGE) - calls(SMALL))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", help="a commit to compare with")
    parser.add_argument("--compilers", default="g++,clang++-19")
    arguments = parser.parse_args()
    compilers = arguments.compilers.split(",")
    columns = {}
    with tempfile.TemporaryDirectory() as top:
        trees = {"now": ROOT}
        if arguments.base:
            (pathlib.Path(top) / "base").mkdir()
            trees = {"base": unpack(arguments.base, pathlib.Path(top) / "base"), **trees}
        for compiler in compilers:
            for name, tree in trees.items():
                folder = pathlib.Path(top) / f"{compiler}-{name}"
                folder.mkdir()
                columns[f"{compiler}, {name}"] = per_call(tree, compiler, folder)
    print("| instructions per call | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for how in RECURSIONS:
        print(f"| {how} | " + " | ".join(f"{column[how]:.2f}" for column in columns.values()) + " |")


if __name__ == "__main__":
    main()
