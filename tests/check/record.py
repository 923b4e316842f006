#!/usr/bin/env python3
"""Records programs that know nothing of it, and repeats them: record.py PROGRAM GTEST_PROGRAM [PILFER]. See programs.cpp.

With PILFER, by `pilfer record` and `pilfer check`."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

PROGRAM, TESTS = sys.argv[1:3]
PILFER = sys.argv[3] if len(sys.argv) > 3 else None
MOST = 400  # recordings until one fails
AGAIN = 10
FOLDER = tempfile.TemporaryDirectory()
FILE = os.path.join(FOLDER.name, "a recording")
PASSED_OVER = "n a child that its owner runs after an older one"
wrong = 0


def expect(name, holds, *done):
    global wrong
    if not holds:
        wrong += 1
        print(f"{name}:", *[f"exit code {d.returncode}\n{d.stdout}\n{d.stderr}" for d in done])


def environment(**more):
    all_of_it = {name: value for name, value in os.environ.items() if not name.startswith("PILFER_")}
    all_of_it["ASAN_OPTIONS"] = "detect_leaks=0:handle_segv=0:handle_abort=0"
    return {**all_of_it, "PILFER_WORKERS": "3", **more}


def run(words, seconds=300, **more):
    return subprocess.run(words, env=environment(**more), text=True, capture_output=True, timeout=seconds)


def record(words, program=PROGRAM, seconds=60):
    if PILFER:
        return run([PILFER, "record", "--output", FILE, program, *words], seconds)
    return run([program, *words], seconds, PILFER_RECORD=FILE)


def replay(words, program=PROGRAM, file=FILE):
    if PILFER:
        return run([PILFER, "check", "--replay", file, program, *words])
    return run([program, *words], PILFER_SCHEDULE="@" + file)


def text():
    with open(FILE, "rb") as f:
        return f.read().rstrip(b"\0").decode()


def fails_again(words, why, code, end=None, program=PROGRAM):
    """Records until a run ends with `code`. Each repetition fails for the reason `why`, with the same output."""
    for _ in range(MOST):
        done = record(words, program)
        if done.returncode == code and PASSED_OVER not in text():
            break
    else:
        expect(f"{words}: no run has failed", False, done)
        return
    expect(f"{words}: the text", end is None or text().endswith(end), done)
    for _ in range(AGAIN):
        again = replay(words, program)
        same = again.returncode == 1 and re.search("failed: .*" + why, again.stderr) and done.stdout == again.stdout
        expect(f"{words} again", same, done, again)
        expect(f"{words} names its file", f"PILFER_SCHEDULE=@{FILE} repeats it" in again.stderr, again)
    other = replay(["right"])
    expect(f"{words} of another program", other.returncode == 2 and "does not fit this program" in other.stderr, other)


def passes_again(words, program=PROGRAM):
    for _ in range(MOST):
        done = record(words, program)
        if PASSED_OVER not in text():
            break
    expect(f"{words} is recorded", done.returncode == 0 and text().endswith("\ne\n"), done)
    again = replay(words, program)
    expect(f"{words} again", again.returncode == 0 and "check: passed: 1 schedules" in again.stderr, done, again)


def by_signal(number):
    return 128 + number if PILFER else -number


for name in "right", "pools_for_short", "handled", "forks_a_child", "forks_and_returns":
    passes_again([name])
passes_again(["--gtest_filter=*right"], program=TESTS)

ended = "the program has ended inside main() "
fails_again(["race_returns"], r"main\(\) has returned 3", 3, "\ne main() has returned 3\n")
fails_again(["race_crashes"], r"ended inside main\(\) by signal 11", by_signal(signal.SIGSEGV),
            f"\ne {ended}by signal 11, Segmentation fault\n" if PILFER else None)
fails_again(["race_exits"], r"ended inside main\(\) with exit code 4", 4, f"\ne {ended}with exit code 4\n" if PILFER else None)
fails_again(["race_throws"], r"main\(\) has thrown the wrong order", by_signal(signal.SIGABRT), "\ne main() has thrown the wrong order\n")

# The pools of this one wait for what comes only after their end.
done = record(["waits_for_older"])
expect("waits_for_older", done.returncode == 0, done)

# A task that is left behind ends with the program.
done = record(["leaves_a_task"])
expect("leaves_a_task", done.returncode == 0 and not text().endswith("\ne\n"), done)
again = replay(["leaves_a_task"])
expect("leaves_a_task again", again.returncode == 1 and "main() has ended, and tasks wait for ever" in again.stderr, again)

# A timer that its pool would have ended.
done = record(["leaves_a_timer"])
expect("leaves_a_timer", done.returncode == 0 and "\nn a timer that goes on after the end of a pool\n" in text(), done)
again = replay(["leaves_a_timer"])
expect("leaves_a_timer again", again.returncode == 2 and "cannot be repeated" in again.stderr, again)

# A program that stands still is ended from outside, and its recording is there.
for _ in range(MOST):
    with subprocess.Popen([PROGRAM, "race_of_locks"], env=environment(PILFER_RECORD=FILE), text=True, stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as still:
        line = still.stderr.readline()
        if line:
            still.kill()
            break
expect("race_of_locks says so", "the recording ends with a deadlock" in line, again)
for _ in range(AGAIN):
    again = replay(["race_of_locks"])
    expect("race_of_locks again", again.returncode == 1 and "a deadlock: all tasks wait" in again.stderr, again)

# A program that is killed at any moment leaves a text that can be read.
for hundredths in range(0, 30, 3):
    with subprocess.Popen([PROGRAM, "never_ends"], env=environment(PILFER_RECORD=FILE), stdout=subprocess.DEVNULL) as killed:
        try:
            killed.wait(hundredths / 100)
        except subprocess.TimeoutExpired:
            killed.kill()
    if os.path.exists(FILE) and text():
        expect("a killed program", re.fullmatch(r"recorded main 1\n(([wtne] .*|e|\d+ \d+)\n)*", text()), again)

done = run([PROGRAM, "right"], PILFER_RECORD="/nowhere/at/all")
expect("no such folder", done.returncode == 2 and "/nowhere/at/all" in done.stderr and "began" not in done.stdout, done)
done = run([PROGRAM, "right"], PILFER_SCHEDULE="@/nowhere/at/all")
expect("no such recording", done.returncode == 2 and "/nowhere/at/all" in done.stderr, done)

# A text of which nothing is known is not taken for a run without one.
for damaged in "", "recorded main 1", "recorded main 2\nt 0\ne\n", "\0\0\0\0", "garbage":
    with open(FILE, "w", encoding="ascii") as f:
        f.write(damaged)
    for done in run([PROGRAM, "right"], PILFER_SCHEDULE="@" + FILE), replay(["right"]):
        expect(f"{damaged!r} is refused", done.returncode == 2 and done.stderr and "began" not in done.stdout, done)
done = run([PROGRAM, "right"], PILFER_SCHEDULE="@" + FOLDER.name)
expect("a folder is refused", done.returncode == 2 and FOLDER.name + ": Is a directory" in done.stderr, done)

# A recording that ends too early says so, although what it has can be repeated.
with open(FILE, "w", encoding="ascii") as f:
    f.write("recorded main 1\nt 0\n")
done = replay(["right"])
expect("a cut recording", done.returncode == 0 and "the recording has no end" in done.stderr, done)

# Two programs do not write one file: the memory of the first one would end with the file.
with subprocess.Popen([PROGRAM, "reads"], env=environment(PILFER_RECORD=FILE), text=True, stdin=subprocess.PIPE,
                      stdout=subprocess.PIPE) as first:
    first.stdout.readline()
    done = run([PROGRAM, "right"], PILFER_RECORD=FILE)
    first.communicate("#")
expect("a busy file", done.returncode == 2 and FILE in done.stderr and "began" not in done.stdout, done)
expect("the first one of two", first.returncode == 0 and text().endswith("\ne\n"), done)

# Nor do two commands, or a command beside a program.
if PILFER:
    commands = [PILFER, "record", "--output", FILE, PROGRAM]
    for words, more in (commands, {}), ([PROGRAM], {"PILFER_RECORD": FILE}):
        with subprocess.Popen([*words, "reads"], env=environment(**more), text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as first:
            first.stdout.readline()
            done = run([*commands, "right"])
            _, errors = first.communicate("#")
        expect("a busy command", done.returncode == 2 and FILE in done.stderr and "began" not in done.stdout, done)
        expect("the first command of two", first.returncode == 0 and text().endswith("\ne\n"), done)
        expect("the first command says so", ("operations are in" in errors) == (not more), done)

# A program with more rights than its caller writes no file for it.
if os.geteuid() == 0 and not os.statvfs(FOLDER.name).f_flag & os.ST_NOSUID:
    os.remove(FILE)
    os.chmod(FOLDER.name, 0o777)
    owned = shutil.copy(PROGRAM, os.path.join(FOLDER.name, "owned"))
    os.chown(owned, 65534, 65534)
    os.chmod(owned, 0o4755)
    done = run([owned, "right"], PILFER_RECORD=FILE, PILFER_SCHEDULE="@/nowhere/at/all")
    expect("more rights", done.returncode == 0 and not os.path.exists(FILE), done)

# What is no file stays what it is.
if PILFER:
    for name, make in ("a folder", os.mkdir), ("a pipe", os.mkfifo):
        path = os.path.join(FOLDER.name, name)
        make(path)
        before = os.stat(path)
        done = run([PILFER, "record", "--output", path, PROGRAM, "right"])
        after = os.stat(path)
        same = (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
        expect(f"{name} stays", same and done.returncode == 2 and path in done.stderr, done)
    target, link = FILE + " of a link", FILE + " by a link"
    open(target, "w", encoding="ascii").close()
    os.symlink(target, link)
    done = run([PILFER, "record", "--output", link, PROGRAM, "right"])
    expect("a link stays", os.path.islink(link) and os.path.getsize(target) > 0 and done.returncode == 0, done)
    done = run([PILFER, "record", "--output", FILE, "/nowhere/at/all"])
    expect("nothing is left", done.returncode == 127 and not os.path.exists(FILE), done)
sys.exit(1 if wrong else 0)
