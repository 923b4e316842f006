#!/usr/bin/env python3
"""Runs the benchmark programs in turn, A B C A B C, and reports medians and ratios.

Every program runs once in each round, so that a change of the machine's speed meets all of them. With more than one
worker, two serial programs at once are measured too ("serial_twice"): the gain of two cores without any runtime.
"""
import argparse
import json
import os
import signal
import subprocess
import sys

import results

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", action="append", metavar="DIR",
                        help="build folder; several may be given, as for g++ and clang++ (default: build/release)")
    parser.add_argument("--kernels", type=words, help="kernels, separated by commas (default: all)")
    parser.add_argument("--runtimes", type=words, help="runtimes, separated by commas (default: all)")
    add_measurement(parser, workers=[1], rounds=5, size="quick")
    parser.add_argument("--output", help="results file (default: bench/results/<machine>.json)")
    parser.add_argument("--dry-run", action="store_true", help="only list what would run")
    return parser.parse_args()


def add_measurement(parser, workers, rounds, size):
    """The options of a script that runs programs of kernels in rounds, with these defaults."""
    parser.add_argument("--workers", type=numbers, default=workers,
                        help=f"numbers of workers (default: {','.join(map(str, workers))})")
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds (default: %(default)s)")
    parser.add_argument("--size", default=size, choices=["tiny", "quick", "medium", "full", "large"],
                        help="size of the kernels (default: %(default)s)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one program (default: %(default)s)")


def words(text):
    return [word for word in text.split(",") if word]


def numbers(text):
    return [int(word) for word in words(text)]


def programs(options):
    """(kernel, runtime, path) of all programs that are built and wanted."""
    found = []
    for build in options.build or [os.path.join(HERE, "..", "build", "release")]:
        folder = os.path.join(build, "bench", "bin")
        if not os.path.isdir(folder):
            sys.exit(f"run.py: {folder} is not there; build with PILFER_BENCH=ON first")
        for name in sorted(os.listdir(folder)):
            parts = name.split("-")
            if len(parts) != 3 or parts[0] != "bench":
                continue
            _, kernel, runtime = parts
            if (not options.kernels or kernel in options.kernels) and (
                    not options.runtimes or runtime in options.runtimes or runtime == "serial"):
                found.append((kernel, runtime, os.path.join(folder, name)))
    return sorted(found)


def start(path, workers, size):
    return subprocess.Popen([path, "--workers", str(workers), "--size", size, "--repeat", "1"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def finish(process, timeout):
    """The program's report, or one with an error."""
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # its children too: they would hold the pipe
        process.communicate()
        return {"error": f"over {timeout:g} s"}
    try:
        report = json.loads(output)
    except json.JSONDecodeError:
        last = (errors.strip().splitlines() or ["no message"])[-1]
        return {"error": f"exit status {process.returncode}: {last}"}
    if process.returncode != 0 or not report["ok"]:
        return {**report, "seconds": [], "error": f"wrong answer {report['answer']}"}
    return report


def run_case(case, size, timeout):
    _, runtime, workers, path = case
    if runtime != "serial_twice":
        return finish(start(path, workers, size), timeout)
    pair = [start(path, 1, size) for _ in range(2)]
    reports = [finish(process, timeout) for process in pair]
    for report in reports:
        if "error" in report:
            return report
    both = dict(reports[0])
    both["seconds"] = [max(report["seconds"][0] for report in reports)]
    both["peak_kib"] = sum(report["peak_kib"] for report in reports)
    return both


def cases_of(found, workers):
    cases = []
    for kernel, runtime, path in found:
        if runtime == "serial":
            cases.append((kernel, "serial", 1, path))
            if any(count > 1 for count in workers):
                cases.append((kernel, "serial_twice", 2, path))
        else:
            cases += [(kernel, runtime, count, path) for count in workers]
    return sorted(cases, key=lambda case: (case[0], case[2]))


def measure(cases, options):
    """Runs all cases in rounds, kernel by kernel. Returns the records; a case that failed is not run again."""
    records = {}
    for kernel in sorted({case[0] for case in cases}):
        mine = [case for case in cases if case[0] == kernel]
        for turn in range(options.rounds):
            for number, case in enumerate(mine):
                record = records.get(case)
                if record is not None and "error" in record:
                    continue
                print(f"\r{kernel}: round {turn + 1}/{options.rounds}, {number + 1}/{len(mine)} {case[1]:<16}",
                      end="", file=sys.stderr, flush=True)
                report = run_case(case, options.size, options.timeout)
                records[case] = merge(record, report, case, options.size)
        print(file=sys.stderr)
    return list(records.values())


def merge(record, report, case, size):
    kernel, runtime, workers, _ = case
    if "error" in report:
        compiler = (record or report).get("compiler", "?")
        print(f"\n{kernel} on {runtime}: {report['error']}", file=sys.stderr)
        return {"kernel": kernel, "runtime": runtime, "compiler": compiler, "workers": workers, "size": size,
                "seconds": [], "peak_kib": 0, "error": report["error"]}
    if record is None:
        return {**report, "runtime": runtime, "workers": workers}
    for name in ("seconds", "smallest_share", "largest_share"):
        if name in report:
            record[name] += report[name]
    record["peak_kib"] = max(record["peak_kib"], report["peak_kib"])
    return record


def main():
    options = arguments()
    found = programs(options)
    for missing in set(options.kernels or []) - {kernel for kernel, _, _ in found}:
        sys.exit(f"run.py: no program for kernel {missing}")
    cases = cases_of(found, options.workers)
    if options.dry_run:
        for kernel, runtime, workers, path in cases:
            print(kernel, runtime, workers, path)
        return 0
    machine = results.machine()
    records = measure(cases, options)
    # A program may be in several build folders (Rayon, libomp): one record of it is enough.
    records = list({results.key(record): record for record in records}.values())
    path = options.output or os.path.join(HERE, "results", results.file_name(machine))
    results.save(path, machine, records)
    print(f"## {machine['cpu']}, {machine['cores']} cores, medians of {options.rounds} interleaved rounds")
    print(results.table(records))
    return 1 if any("error" in record for record in records) else 0


if __name__ == "__main__":
    sys.exit(main())
