#!/usr/bin/env python3
"""Checks programs that know nothing of schedules: run.py PROGRAM GTEST_PROGRAM [CATCH2_PROGRAM]. See programs.cpp."""

import os
import re
import subprocess
import sys

PROGRAM, TESTS = sys.argv[1:3]
CATCH2_TESTS = sys.argv[3] if len(sys.argv) > 3 else None
wrong = 0


def run(check=None, words=(), schedule=None, program=PROGRAM, text="", stdin=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PILFER_")}
    environment["ASAN_OPTIONS"] = "detect_leaks=0:handle_segv=0:handle_abort=0"
    if check is not None:
        environment["PILFER_CHECK"] = check
    if schedule is not None:
        environment["PILFER_SCHEDULE"] = schedule
    return subprocess.run([program, *words], env=environment, input=None if stdin else text, stdin=stdin, text=True,
                          capture_output=True, timeout=300)


def expect(name, holds, done):
    global wrong
    if not holds:
        wrong += 1
        print(f"{name}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")


def passes(check, *words, program=PROGRAM):
    done = run(check, words, program=program)
    expect(f"{check} {words}", done.returncode == 0 and "check: passed: " in done.stderr, done)


def fails(check, *words, why, steps="", program=PROGRAM, by_text=True):
    """A schedule fails for this reason, is repeated by its text alone, and does not fit another program.

    by_text=False: it needs the other settings, too."""
    done = run(check, words, program=program)
    found = re.search(r"^PILFER_SCHEDULE=(main:\S+@\d+:\d+) repeats it$", done.stderr, re.M)
    holds = done.returncode == 1 and re.search(why, done.stderr) and re.search(steps, done.stderr)
    expect(f"{check} {words} fails", holds and found and len(found[1]) <= 4096, done)
    if not found:
        return
    ways = [run(f"{check} replay={found[1]}", words, program=program)]
    if by_text:
        ways.append(run(schedule=found[1], words=words, program=program))
    for again in ways:
        message = re.search(r"failed: (.*)", done.stderr)[1]
        expect(f"{words} again", again.returncode == 1 and "failed: " + message in again.stderr, again)
        expect(f"{words} shows its output", program != PROGRAM or f"began {words[0]}" in again.stdout, again)
    other = run(schedule=found[1], words=["right"])
    expect(f"{words} of another program", other.returncode == 2 and "does not fit this program" in other.stderr, other)


def refused(text, why):
    done = run(**text, words=["right"])
    expect(f"{text} is refused", done.returncode == 2 and why in done.stderr and "began" not in done.stdout, done)


usual = run(words=["lost"])
expect("without a check main() runs as usual", usual.returncode in (0, 3) and usual.stdout == "began lost\n", usual)

passes("schedules=20", "right")
passes("schedules=40", "pools")
passes("schedules=40", "waits_for_older")
passes("schedules=40", "handled")
passes("schedules=20", "days")
fails("schedules=200", "lost", why=r"main\(\) has returned 3", steps=r"task 1 locks mutex 1 \(.*programs.cpp:\d+\)|task 1 locks mutex 1")
fails("schedules=200 strategy=pct", "two_locks", why=r"a deadlock: all tasks wait.*\n.*waits for mutex \d.*that is for task \d")
fails("schedules=200 strategy=random", "crashes", why="ended inside main\\(\\) by signal 11", steps="task 1 forks task")
fails("schedules=200 minimise=0", "aborts", why="ended inside main\\(\\) by signal 6")
fails("schedules=200", "exits", why="ended inside main\\(\\) with exit code 4")
fails("schedules=200 strategy=exhaustive", "throws", why=r"main\(\) has thrown the wrong order")
fails("schedules=20", "leaves_a_task", why=r"main\(\) has ended, and tasks wait for ever")
fails("schedules=20", "thrown", why="a task without a waiter has thrown nobody expects it")
fails("schedules=20 steps=50", "days", why="no end after 50 steps", by_text=False)
passes("schedules=20", "memory_wrong")
passes("schedules=40 faults=2 memory=1", "memory")
fails("schedules=100 faults=1 memory=1", "memory_wrong", why=r"main\(\) has returned 3", steps="has a fault: (an allocation|no memory)")
passes("schedules=40 faults=3", "bytes_wrong")
passes("schedules=60 faults=3 io=1", "bytes")
fails("schedules=200 faults=1 io=1", "bytes_wrong", why=r"main\(\) has returned [678]", steps="has a fault: a (short transfer|connection)")

# Standard input is what each schedule finds.
with open(sys.argv[0]) as me:
    done = run("schedules=20", ["reads"], stdin=me)
    expect("a file at standard input", done.returncode == 0, done)
expect("a pipe at standard input is empty", run("schedules=2", ["reads"], text="#").returncode == 1, done)

passes("schedules=30", "--gtest_filter=*right", program=TESTS)
fails("schedules=200", "--gtest_filter=*wrong", why=r"main\(\) has returned 1", program=TESTS)

for name in "in_main", "with_zero":
    done = run(words=["--gtest_list_tests", f"--gtest_filter=exit.{name}"], program=TESTS)
    expect(f"exit.{name} is there", name in done.stdout, done)
passes("schedules=40", "--gtest_filter=exit.in_main", program=TESTS)
passes("schedules=40", "--gtest_filter=exit.with_zero", program=TESTS)
fails("schedules=40", "--gtest_filter=exit.with_a_code", why=r"ended inside main\(\) with exit code 4", program=TESTS)

# Each schedule begins with the program's own mask of signals.
passes("schedules=3", "asks")

# A program that does not end after main().
for check, name in ("schedules=40", "never_ends"), ("replay=main:d1:", "never_ends_busily"):
    done = run(f"{check} patience=1", [name])
    expect(name, done.returncode == 1 and "main() has ended, and the program has not" in done.stderr, done)

# Test cases of Catch2 that call schedules(): the failing case shows the text, and the text repeats it.
if CATCH2_TESTS:
    done = run(words=["right"], program=CATCH2_TESTS)
    expect("a right case of Catch2", done.returncode == 0, done)
    for case, why in ("wrong", "both additions count"), ("an assertion of the body", r"sum_of_two\(false\) == 2"):
        done = run(words=[case], program=CATCH2_TESTS)
        found = re.search(r"PILFER_SCHEDULE=(d1:\S+@\d+:\d+) repeats it", done.stdout)
        expect(f"{case}: Catch2 shows the schedule", done.returncode != 0 and found and re.search(why, done.stdout), done)
        if found:
            again = run(words=[case], schedule=found[1], program=CATCH2_TESTS)
            expect(f"{case}: again", again.returncode != 0 and "schedule 0 failed" in again.stdout and
                   "does not fit" not in again.stdout and re.search(why, again.stdout), again)
    fails("schedules=200", "usual", why=r"main\(\) has returned 1", program=CATCH2_TESTS)

refused({"check": "schedules=0"}, '"schedules=0": it must be a number from 1')
refused({"check": "strategy=best"}, "it must be mixed, random, pct or exhaustive")
refused({"check": "speed=9"}, "there is no such word")
refused({"check": "replay=d1:0"}, "is of a call of test::schedules()")
refused({"schedule": "main:d1:0-"}, "is no schedule: a number is missing")
refused({"schedule": "main:d1:0!"}, "is no schedule")
sys.exit(1 if wrong else 0)
