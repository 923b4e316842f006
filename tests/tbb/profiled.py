#!/usr/bin/env python3
"""Profiles of a program that uses oneTBB alone, on libpilfer-tbb: the tasks and strands of work and span by formulae.

profiled.py PROGRAM
"""
import atexit
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
        subprocess.run([program, what], check=True, stdout=subprocess.DEVNULL,
                       env=os.environ | {"PILFER_PROFILE": profile, "PILFER_PROFILE_GRAPH": graph})
        with open(profile) as p, open(graph) as g:
            return json.load(p), g.read()


def meets(program):
    """A program that does not end in a recording."""
    return subprocess.Popen([program, "meeting"], stderr=subprocess.PIPE, text=True,
                            env=os.environ | {"PILFER_PROFILE": os.devnull})


def report_without_pool(program):
    """What is said if the file of the profile cannot be made."""
    return subprocess.run([program, "loop"], check=True, stderr=subprocess.PIPE, text=True,
                          env=os.environ | {"PILFER_PROFILE": os.devnull + "/none"}).stderr


def main():
    program = sys.argv[1]
    stuck = meets(program)
    atexit.register(stuck.kill)
    groups = fib(11) - 1  # of fib(10)
    outside = 5  # of which the thread outside forks these: in fib(10), fib(8), ... fib(2)
    # Strands, tasks, how many of each the longest chain has (None: any), a word of the graph. Two threads fork in "arena".
    expected = {
        "loop": (31, 16, 5, 5, "loop(int)"),
        "loops": (30, 16, 8, 8, "loop(int)"),
        "fib": (1 + 3 * groups - (1 + 2 * outside), groups, 17, 9, "fib(unsigned int)"),
        "arena": (14, 8, None, None, "loop(int)"),
        "graph": (2, 2, 1, 1, "function_input"),
        # These did not end.
        "late": (3, 2, 2, 1, "late_task()"),
        "shared": (2, 2, 1, 1, "shared_context(bool)"),
        "suspended": (2, 2, 1, 1, "shared_context(bool)"),
        "lock": (8, 5, None, None, "lock_held_outside()"),
    }
    wrong = 0
    for what, (strands, tasks, span_strands, span_tasks, word) in expected.items():
        p, graph = profile_of(program, what)
        right = (p["complete"] and (p["tasks"], p["strands"]) == (tasks, strands)
                 and span_strands in (None, p["span_strands"]) and span_tasks in (None, p["span_tasks"])
                 and any(line.startswith("function") and word in line for line in graph.splitlines())
                 and "/profiled.cpp" in graph and "/oneapi/" not in graph)
        if not right:
            print(f"{what}: {p}\n{graph}")
            wrong += 1
    says = report_without_pool(program)
    if "no workers" not in says or os.devnull + "/none" not in says:
        print(f"no pool: {says}")
        wrong += 1
    says = stuck.stderr.readline()  # after 10 s
    if "one thread runs all tasks" not in says:
        print(f"meeting: {says}")
        wrong += 1
    return wrong


sys.exit(main())
