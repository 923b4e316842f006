#!/usr/bin/env python3
"""Profiles of a program that uses oneTBB alone, on libpilfer-tbb: tasks, strands, work and span by formulae.

profiled.py PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def profile_of(program, what):
    """What the recording counted, and the lines and functions of its graph."""
    with tempfile.TemporaryDirectory() as folder:
        profile, graph = folder + "/profile", folder + "/graph"
        subprocess.run([program, what], check=True, stdout=subprocess.DEVNULL, timeout=100,
                       env=os.environ | {"PILFER_PROFILE": profile, "PILFER_PROFILE_GRAPH": graph})
        with open(profile) as p, open(graph) as g:
            return json.load(p), g.read()


def is_near(ns, milliseconds):
    """Another program's load changes CPU times a little."""
    return 0.8e6 * milliseconds <= ns <= 1.5e6 * milliseconds + 5e5


def main():
    program = sys.argv[1]
    groups = fib(11) - 1  # of fib(10)
    outside = 5  # of which the thread outside forks these: in fib(10), fib(8), ... fib(2)
    # Milliseconds of work and span, tasks, those on the longest chain, strands, a word of the graph. None: any.
    expected = {
        "loop": (16, 1, 16, 5, 31, "loop(int)"),
        "loops": (16, 2, 16, 8, 30, "loop(int)"),
        "fib": (None, None, groups, 9, 1 + 3 * groups - (1 + 2 * outside), "fib(unsigned int)"),
        "arena": (8, None, 8, None, 14, "loop(int)"),
        "graph": (4, 2, 2, 1, 2, "function_input"),
    }
    wrong = 0
    for what, (work, span, tasks, span_tasks, strands, word) in expected.items():
        p, graph = profile_of(program, what)
        right = (p["complete"] and (p["tasks"], p["strands"]) == (tasks, strands) and span_tasks in (None, p["span_tasks"])
                 and (work is None or is_near(p["work_ns"], work)) and (span is None or is_near(p["span_ns"], span))
                 and any(line.startswith("function") and word in line for line in graph.splitlines())
                 and "/profiled.cpp" in graph and "/oneapi/" not in graph)
        if not right:
            print(f"{what}: {p}\n{graph}")
            wrong += 1
    return wrong


sys.exit(main())
