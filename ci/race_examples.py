#!/usr/bin/env python3
"""race_examples.py BUILD [NAME...]: `pilfer race` over the examples and the benchmarks' kernels that can run serially.

BUILD has libpilfer_race.a. No program may show a race. Programs of TWO_WORKERS wait for a second
worker: they must end with status 70 and say so. The others must end as they do without `pilfer race`. ci/long calls it.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLAGS = ["-std=c++20", "-g", "-O1", f"-I{ROOT}/include", f"-I{ROOT}/bench", "-DPILFER_STATIC", "-DPILFER_RACE", "-fsanitize=thread",
         "-fno-builtin"]
TWO_WORKERS = {"balance", "shared_scopes", "stall", "weights"}
# Reasons are in the guide's list of what is not followed.
LEFT_OUT = {"schedules": "needs pilfer::test", "fork": "a child process reports, too", "whatif": "runs the command",
            "resize": "needs several workers", "one_pool": "has a part that runs on oneTBB",
            "names": "ends by _Exit, without a report"}
PER_WORKER = {"flat_loop", "flat_tasks", "short_loop"}  # kernels that count in a slot for each worker, of which there is one here
TINY = ["--size", "tiny", "--workers", "1", "--repeat", "1"]


def kernels():
    for folder in sorted(f for f in (ROOT / "bench/kernels").iterdir() if f.name not in PER_WORKER):
        for runtime in ("pilfer_join", "pilfer_spawn", "pilfer_fork"):
            source = folder / f"{runtime}.cpp"
            if source.exists():
                yield f"{folder.name}_{runtime}", source, []
            else:  # as bench/cmake/programs.cmake
                yield (f"{folder.name}_{runtime}", ROOT / "bench/common/program.cpp",
                       [f'-DBENCH_RUNTIME_HEADER="common/runtimes/{runtime}.hpp"', f'-DBENCH_KERNEL_HEADER="kernels/{folder.name}/kernel.hpp"'])


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("build")
    options.add_argument("names", nargs="*")
    options.add_argument("--compiler", default="g++")
    o = options.parse_args()
    compiler = o.compiler.split()
    programs = [(s.stem, s, [], []) for s in sorted((ROOT / "examples").glob("*.cpp")) if s.stem not in LEFT_OUT]
    programs += [(name, s, more, TINY) for name, s, more in kernels()]
    failed, ran = [], 0
    environment = {**os.environ, "PILFER_RACE_PATIENCE": "5", "PILFER_WORKERS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        of_kernels = f"{folder}/report.o"
        subprocess.run([*compiler, "-std=c++20", f"-I{ROOT}/bench", "-c", f"{ROOT}/bench/common/report.cpp", "-o", of_kernels], check=True)
        for name, source, more, arguments in programs:
            if o.names and name not in o.names:
                continue
            program = f"{folder}/{name}"
            built = subprocess.run([*compiler, *FLAGS, *more, "-c", str(source), "-o", f"{program}.o"], capture_output=True, text=True)
            if built.returncode == 0:
                objects = [f"{program}.o"] + ([of_kernels] if arguments else [])
                built = subprocess.run([*compiler, *objects, "-o", program, f"{o.build}/libpilfer_race.a", "-lhwloc", "-lpthread", "-ldl"],
                                       capture_output=True, text=True)
            if built.returncode != 0:
                failed.append(f"{name}: is not built\n{built.stderr[-2000:]}")
                continue
            report = f"{folder}/report"
            Path(report).unlink(missing_ok=True)
            try:
                done = subprocess.run([program, *arguments], capture_output=True, text=True, cwd=folder, timeout=900,
                                      stdin=subprocess.DEVNULL, env={**environment, "PILFER_RACE_REPORT": report})
                status, output = done.returncode, done.stderr
            except subprocess.TimeoutExpired:
                status, output = -1, "ran longer than 900 s"
            text = Path(report).read_text() if Path(report).exists() else ""
            last = text.strip().rpartition("\n")[2]
            if name in TWO_WORKERS:
                good = status == 70 and "a pool has one worker here" in text and "races" not in last
            else:
                good = status == 0 and last.startswith("pilfer race: no race")
            ran += 1
            print(f"{'ok' if good else 'FAILED':6} {name}: {status}: {last}", flush=True)
            if not good:
                failed.append(f"{name}: status {status}\n{text[-3000:]}{output[-1000:]}")
    print("\n".join(failed))
    print(f"{ran} programs, {len(failed)} problems")
    return 1 if failed or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
