#!/usr/bin/env python3
"""Measures the compilation of a hundred calls of join, spawn and fork, each with functions of its own, and of headers alone.

bench/compile_time.py [--against INCLUDE] [--rounds N]: processor time in seconds, medians of rounds in turn. With
another tree's include folder it also prints the ratio of this tree to that one.
"""
import argparse
import os
import resource
import statistics
import subprocess
import tempfile

CALLS = {
    "join": "pilfer::join([&] { x += %d; }, [&] { y += %d; });",
    "spawn": "pilfer::scope s; s.spawn([&] { x += %d; }); s.sync();",
    "fork": "pilfer::scope s; s.fork([&] { x += %d; }); s.sync();",
}
HEADERS = {"<pilfer/pilfer.hpp>": ("pilfer",), "with algorithm.hpp": ("pilfer", "algorithm")}
COMPILERS = (
    ("g++", "-O3"),
    ("clang++-19", "-O3"),
    ("clang++-19", "-O0", "-fsanitize=address,undefined"),
)


def seconds(compiler, include, source):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([*compiler, "-std=c++20", "-DPILFER_STATIC", "-I", include, "-c", source, "-o", os.devnull], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", help="include folder of another tree")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include")
    trees = [here] + ([arguments.against] if arguments.against else [])
    sources = {name: "".join(f"#include <pilfer/{header}.hpp>\n" for header in headers) for name, headers in HEADERS.items()}
    for name, call in CALLS.items():
        functions = [f"void f{i}(int& x, int& y) {{ (void)y; {call.replace('%d', str(i))} }}\n" for i in range(100)]
        sources[name] = "#include <pilfer/pilfer.hpp>\n" + "".join(functions)
    for compiler in COMPILERS:
        for name, source in sources.items():
            with tempfile.NamedTemporaryFile("w", suffix=".cpp") as file:
                file.write(source)
                file.flush()
                times = [[] for _ in trees]
                for _ in range(arguments.rounds):
                    for tree, taken in zip(trees, times):
                        taken.append(seconds(compiler, tree, file.name))
            medians = [statistics.median(taken) for taken in times]
            ratio = f"  {medians[0] / medians[1]:.2f}" if len(medians) > 1 else ""
            print(f"{' '.join(compiler):45} {name:22} {medians[0]:6.2f}{ratio}", flush=True)


if __name__ == "__main__":
    main()
