#!/usr/bin/env python3
"""Fails every k-th call of every kind in every scenario of the victim, and judges how the process ended.

A run is legal if the victim says how it ended, and that is one of the ways documented for the kinds of calls that
failed; everything else (crash, hang, wrong result, leak, undocumented exception) is a failure and is printed with the
command that repeats it. README.md says more.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import random
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time

AS_USUAL, PLAIN, FEWER, UNPINNED = "as without fault", "plain calls", "fewer workers", "unpinned"
BAD_ALLOC, SYSTEM_ERROR, REFUSED = "bad_alloc", "system_error", "refused"

# How a run may end in which such a call failed. What is not listed may only end as if nothing had happened.
LEGAL = {
    "pthread_create": {FEWER, SYSTEM_ERROR, REFUSED},
    "mmap": {AS_USUAL, PLAIN, BAD_ALLOC, REFUSED},
    "malloc": {AS_USUAL, PLAIN, UNPINNED, BAD_ALLOC, REFUSED},  # unpinned: a set of CPUs is memory
    "calloc": {AS_USUAL, PLAIN, BAD_ALLOC, REFUSED},
    "realloc": {AS_USUAL, PLAIN, BAD_ALLOC, REFUSED},
    "aligned_alloc": {AS_USUAL, PLAIN, BAD_ALLOC, REFUSED},
    "sched_getaffinity": {AS_USUAL, UNPINNED},
    "cpu_alloc": {AS_USUAL, UNPINNED},
    "sched_setaffinity": {UNPINNED},
    "atfork": {BAD_ALLOC, REFUSED},
}
# The victim does not know how many workers it was to get.
AUTOMATIC = {"start_automatic", "common", "forked"}
# Scenarios with a pool of one worker, or one that C asked for: only there may one thread that cannot be made be an error.
LONE = {"start_1", "threadpool", "c_interface", "record", "record_graph", "spawn_deep_1", "fork_large", "drop", "full_ring_join",
        "full_ring_spawn", "full_ring_fork", "full_ring_async", "guests"}
# Scenarios in which the library tries a second time after a failure: threads that are made with a mask, then
# without one; and a timekeeper.
SECOND_TRY = {"pinned_nested", "descriptors", "coroutine_limits"}
# Scenarios that need a file that their user has named.
FILES = {"record_graph"}
# Scenarios that promise to end only if nothing else fails.
ONLY = {"rendezvous": {"futex_eintr", "futex_spurious", "futex_eagain", "pthread_create", "membarrier_register"}}
# A call that is made only where another one has failed before.
NEEDS = {"mprotect": "guard:1+"}
SCENARIOS_AFTER = {"start_8", "start_automatic", "spawn_deep_2", "spawn_stolen", "large_stacks", "futures_inside",
                   "nested_pools"}
# Deques without membarrier (src/deque/README.md) meet the other faults too.
PINNED = "membarrier_register:1"
FENCE_TEXT = "pilfer: the system call membarrier has stopped working"
OVERFLOW_TEXT = "pilfer: a task overflowed its stack of"
# Without these the message cannot be had and the signal alone ends the process.
OVERFLOW_QUIET = {"sigaction", "sigaltstack", "malloc"}


class Run:
    """One process: what was wished for, and how it ended."""

    def __init__(self, scenario, rules):
        self.scenario, self.rules = scenario, rules
        self.faults = []  # (kind, k, ((module, offset), ...))
        self.calls = {}
        self.outcome = None
        self.missing = 0  # workers
        self.status = None
        self.text = ""

    def kinds(self):
        return {kind for kind, _, _ in self.faults}


class Bench:
    """Starts victims."""

    def __init__(self, inject, victim, folder, limit):
        self.inject, self.victim, self.folder, self.limit = inject, victim, folder, limit
        self.numbers = iter(range(10**9))
        self.lock = threading.Lock()

    def command(self, run):
        return (f"LD_PRELOAD={shlex.quote(self.inject)} PILFER_FAULT={shlex.quote(run.rules)} "
                f"PILFER_FAULT_REPORT=/dev/stderr {shlex.quote(self.victim)} {run.scenario}")

    def __call__(self, run):
        with self.lock:
            path = os.path.join(self.folder, str(next(self.numbers)))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PILFER_")}
        environment.update(LD_PRELOAD=self.inject, PILFER_FAULT=run.rules, PILFER_FAULT_REPORT=path)
        try:
            done = subprocess.run([self.victim, run.scenario], env=environment, timeout=self.limit,
                                  stdin=subprocess.DEVNULL, capture_output=True, check=False)
            run.status = done.returncode
            run.text = done.stderr.decode(errors="replace")
            found = re.fullmatch(r"outcome: (.*)\nmissing: (\d+)\n", done.stdout.decode(errors="replace"))
            if found and done.returncode == 0:
                run.outcome, run.missing = found.group(1), int(found.group(2))
        except subprocess.TimeoutExpired as e:
            run.status = "hang"
            run.text = (e.stderr or b"").decode(errors="replace")
        try:
            self.read_report(run, path)
            os.unlink(path)
        except FileNotFoundError:
            pass
        return run

    @staticmethod
    def read_report(run, path):
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            word = line.split()
            if word[0] == "calls":
                run.calls[word[1]] = int(word[2])
            elif word[0] == "fault":
                frames = tuple((f.rsplit("+", 1)[0], int(f.rsplit("+", 1)[1], 16)) for f in word[3:])
                run.faults.append((word[1], int(word[2]), frames))


def wrong(run):
    """Why a run is illegal, or None."""
    if run.status == "hang":
        return "hangs"
    if isinstance(run.status, int) and run.status < 0:
        return f"killed by {signal.Signals(-run.status).name}"
    if run.status != 0 or run.outcome is None:
        return f"ended with {run.status}"
    legal = set()
    for kind in run.kinds():
        legal |= {SYSTEM_ERROR} if kind == "fopen" and run.scenario in FILES else LEGAL.get(kind, {AS_USUAL})
    if len(run.kinds()) != 1 or run.scenario in AUTOMATIC | SECOND_TRY:
        legal.add(AS_USUAL)
    return None if run.outcome in legal else f"ended with '{run.outcome}', which {sorted(run.kinds())} do not explain"


def wrong_single(run):
    """The same after a single fault: one thread that cannot be made is one worker fewer, not more."""
    again = run.scenario in SECOND_TRY and run.outcome == AS_USUAL
    if "pthread_create" in run.kinds() and run.scenario not in AUTOMATIC and not again:
        if (run.outcome in (SYSTEM_ERROR, REFUSED)) != (run.scenario in LONE) or run.missing != (run.outcome == FEWER):
            return f"ended with '{run.outcome}' and {run.missing} workers missing, after one thread could not be made"
    return wrong(run)


def wrong_overflow(run):
    """The same for the scenario that ends in a stack overflow."""
    if run.outcome in (BAD_ALLOC, SYSTEM_ERROR):
        return None if run.outcome in set().union(*(LEGAL.get(k, set()) for k in run.kinds()), set()) else run.outcome
    if run.status == -signal.SIGABRT and OVERFLOW_TEXT in run.text:
        return None
    if run.status in (-signal.SIGSEGV, -signal.SIGBUS) and run.kinds() & OVERFLOW_QUIET:
        return None
    return f"ended with {run.status} and '{run.text.strip()}'"


def wrong_fence(run):
    """membarrier that fails after its registration worked: a documented abort, since two threads could otherwise
    take the same task."""
    if not run.faults:
        return None if run.status == 0 else f"ended with {run.status}"
    return None if run.status == -signal.SIGABRT and FENCE_TEXT in run.text else f"ended with {run.status}"


class Names:
    """Addresses to functions, all at once."""

    def __init__(self, addresses):
        self.names = {}
        by_module = collections.defaultdict(set)
        for module, offset in addresses:
            by_module[module].add(offset)
        for module, offsets in by_module.items():
            self.ask(module, sorted(offsets))

    def ask(self, module, offsets):
        text = subprocess.run(["addr2line", "-a", "-i", "-f", "-C", "-e", module],
                              input="\n".join(hex(o) for o in offsets), text=True, capture_output=True,
                              check=True).stdout
        offset, lines = None, []
        for line in text.splitlines() + ["0x0"]:
            if re.fullmatch(r"0x[0-9a-f]+", line):
                if offset is not None:
                    pairs = zip(lines[0::2], lines[1::2])
                    self.names[(module, offset)] = [self.tidy(f, at, offset) for f, at in pairs]
                offset, lines = int(line, 16), []
            else:
                lines.append(line)

    @staticmethod
    def tidy(function, at, offset):
        at = re.sub(r" \(discriminator \d+\)", "", at)
        name = re.sub(r"\bv0::", "", re.sub(r" \[clone [^]]*\]", "", function))
        if not name.startswith(("std::", "pilfer::", "faults::")):
            name = re.sub(r"^.*? (?=pilfer::)", "", name)  # the type that a template returns
        return name, f"+{offset:#x}" if at.endswith("?") else os.path.basename(at)

    def site(self, frames):
        """The innermost function of pilfer; where there is none the program's own."""
        named = [n for f in frames for n in self.names.get(f, [])]
        for function, at in named:
            if function.startswith("pilfer::"):
                return f"{function} {at}"
        return None


def single_faults(counted, base, most):
    """Every k of every kind. `base` fails as well in each of them."""
    for scenario, calls in counted.items():
        for kind, n in calls.items():
            # And the last ones: calls at the end of a scenario may have much higher numbers.
            late = 10 if kind in ("malloc", "mmap") and not base else 0
            for k in sorted({*range(1, min(n, most) + 1), *range(max(1, n - late + 1), n + 1)}):
                yield Run(scenario, f"{base},{kind}:{k}" if base else f"{kind}:{k}")


def exhaustion(counted):
    """A resource that is gone for good from its k-th use on."""
    for scenario, calls in counted.items():
        for kind, n in calls.items():
            if kind == "epoll_eintr":
                continue  # whoever never gets an answer waits for good
            # A wait that always ends early is a spin; one such run is enough.
            for k in (1,) if kind.startswith("futex") else (1, 4, 30):
                if k <= n:
                    yield Run(scenario, f"{kind}:{k}+")


def pairs(counted, count, seed):
    dice = random.Random(seed)
    for _ in range(count if counted else 0):
        scenario = dice.choice(sorted(counted))
        kinds = sorted(kind for kind, n in counted[scenario].items() if n > 0)
        chosen = [(kind, dice.randint(1, min(counted[scenario][kind], 50))) for kind in dice.choices(kinds, k=2)]
        yield Run(scenario, ",".join(f"{kind}:{k}" for kind, k in chosen))


def sprinkled(counted, count, seed):
    dice = random.Random(seed)
    scenarios = sorted(set(counted) - set(ONLY))
    for _ in range(count if scenarios else 0):
        rate = dice.choice((2, 5, 20, 100, 300))
        yield Run(dice.choice(scenarios), f"*?{rate}@{dice.randrange(1 << 30)}")


class Session:
    def __init__(self, arguments, folder):
        self.bench = Bench(arguments.inject, arguments.victim, folder, arguments.limit)
        self.jobs = arguments.jobs
        self.seed = arguments.seed
        self.failures = []
        self.single = []  # the runs of single faults, with their frames
        self.lines = []  # every run in a line
        self.workers = concurrent.futures.ThreadPoolExecutor(self.jobs)

    def finished(self, runs):
        """The runs, as they end, in their order. After 20 failures no more are started: each may be a hang."""
        runs, ahead = iter(runs), collections.deque()
        while True:
            wanted = 4 * self.jobs - len(ahead) if len(self.failures) < 20 else 0
            ahead.extend(self.workers.submit(self.bench, run) for run in itertools.islice(runs, wanted))
            if not ahead:
                return
            yield ahead.popleft().result()

    def phase(self, name, runs, judge=wrong):
        """Runs and judges. `runs` may be a million long, so only what is asked for later is kept."""
        begin, count, reached, kept = time.monotonic(), 0, 0, []
        for run in self.finished(runs):
            count += 1
            reached += bool(run.faults)
            reason = judge(run)
            if reason is not None:
                self.failures.append((name, run, reason))
            self.lines.append(f"{name}: {run.scenario} {run.rules or '-'}: {run.outcome or run.status}")
            if name.startswith("every k"):
                self.single.append(run)
            elif name.startswith("counting"):
                kept.append(run)
        print(f"{name}: {count} runs, in {reached} of them a call failed, {time.monotonic() - begin:.0f} s", flush=True)
        return kept

    def count(self, scenarios, base=""):
        """What each scenario calls when nothing fails but `base`."""
        counted = {}  # without those that did not come to their end
        for run in self.phase(f"counting{' after ' + base if base else ''}", [Run(s, base) for s in scenarios]):
            if run.calls:
                only = ONLY.get(run.scenario, set(run.calls) - {"membarrier"})
                counted[run.scenario] = {kind: n for kind, n in run.calls.items() if kind in only}
        return counted

    def victim_says(self, option):
        return subprocess.run([self.bench.victim, option], text=True, capture_output=True, check=True).stdout.split()


def self_test(session):
    """Scenarios that are wrong in every way there is: each must be seen."""
    limit, session.bench.limit = session.bench.limit, 3
    scenarios = session.victim_says("--list-broken")
    unseen = [r.scenario for r in session.workers.map(session.bench, [Run(s, "") for s in scenarios])
              if wrong(r) is None]
    session.bench.limit = limit
    if unseen or len(scenarios) < 5:
        sys.exit(f"these broken scenarios were found legal: {unseen} of {scenarios}")
    print(f"seed {session.seed}\nself test: all of {', '.join(scenarios)} are seen")


def ranges(numbers):
    """1-4 7 9-12"""
    parts = []
    for n in sorted(numbers):
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return " ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def kind_of(run):
    """Of a single fault: what is to fail, with what fails before it, and k."""
    base, _, fault = run.rules.rpartition(",")
    kind, k = fault.split(":")
    return kind + (f" after {base}" if base else ""), kind, int(k)


def table(session):
    """function, scenario, k's, outcomes: of the single faults."""
    rows = collections.OrderedDict()
    for run in session.single:
        title, kind, k = kind_of(run)
        ks, outcomes = rows.setdefault((title, run.scenario), (set(), collections.Counter()))
        if any(fault[:2] == (kind, k) for fault in run.faults):
            ks.add(k)
            outcomes[run.outcome or str(run.status)] += 1
        else:
            outcomes["not reached"] += 1
    yield f"{'call':46} {'scenario':22} {'k':16} ended"
    for (title, scenario), (ks, outcomes) in rows.items():
        ended = ", ".join(f"{n} {what}" for what, n in outcomes.most_common())
        yield f"{title:46} {scenario:22} {ranges(ks):16} {ended}"


def sites(session):
    """(kind, site) -> k's, of all single faults that hit a call of the library; and the number of others."""
    names = Names({frame for run in session.single for _, _, frames in run.faults for frame in frames})
    inside, outside = collections.defaultdict(set), set()
    for run in session.single:
        for kind, k, frames in run.faults:
            site = names.site(frames)
            if site is None:
                outside.add((kind, k, frames[:1]))
            else:
                inside[(kind, site)].add(k)
    return inside, outside


def counts(counted, scenarios):
    """What documents would otherwise have to repeat."""
    met = {kind for n in counted.values() for kind, calls in n.items() if calls}
    return f"{len(scenarios)} scenarios, which call {len(met)} kinds"


def report(session, path, heading):
    inside, outside = sites(session)
    distinct = sum(len(ks) for ks in inside.values())
    lines = [f"{distinct} different (call site, k) pairs at {len(inside)} call sites of the library, "
             f"{len(outside)} pairs in the programs themselves", heading, ""]
    for (kind, site), ks in sorted(inside.items()):
        lines += [f"{kind:20} {site}", f"{'':20}   k = {ranges(ks)}"]
    lines += [""] + list(table(session)) + ["", "every run:"] + session.lines
    pathlib.Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return distinct


def summary(session):
    """kind -> how single faults ended, over all scenarios."""
    rows = collections.OrderedDict()
    for run in session.single:
        outcome = (run.outcome or str(run.status)) if run.faults else "not reached"
        rows.setdefault(kind_of(run)[1], collections.Counter())[outcome] += 1
    for kind, outcomes in rows.items():
        print(f"  {kind:20} " + ", ".join(f"{n} {what}" for what, n in outcomes.most_common()))


def systematic(session, scenarios, counted, most, long):
    session.phase("every k", single_faults(counted, "", most), wrong_single)
    for kind, base in NEEDS.items():
        after = session.count([s for s in counted if long or s in SCENARIOS_AFTER], base)
        session.phase(f"every k after {base}",
                      single_faults({s: {kind: n.get(kind, 0)} for s, n in after.items()}, base, most))
    pinned = {s: {kind: n.get(kind, 0) for kind in ("malloc", "mmap", "futex_spurious")}
              for s, n in session.count(counted, PINNED).items()}
    session.phase(f"every k after {PINNED}", single_faults(pinned, PINNED, most if long else 5))
    session.phase("gone for good", exhaustion(counted))
    session.phase("membarrier stops", [Run(s, f"membarrier:{k}") for s in counted for k in (1, 3)], wrong_fence)
    if "overflow" in scenarios:
        kinds = ("sigaction", "sigaltstack", "malloc", "aligned_alloc", "mmap", "guard", "pthread_create")
        session.phase("overflow", [Run("overflow", "")] +
                      [Run("overflow", f"{kind}:{k}") for kind in kinds for k in range(1, 9)], wrong_overflow)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inject", required=True, help="the library to preload")
    parser.add_argument("--victim", required=True, help="the program under test")
    parser.add_argument("--report", required=True, help="where the full list goes")
    parser.add_argument("--limit", type=float, default=60, help="seconds after which a run hangs")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--most", type=int, help="largest k (default: 30; all with PILFER_TEST_SCALE)")
    parser.add_argument("--least", type=int, default=500, help="fewer different pairs than this are a failure")
    parser.add_argument("--pairs", type=int, help="runs with two faults (default: 150, times PILFER_TEST_SCALE)")
    parser.add_argument("--sprinkled", type=int, help="runs in which any call may fail (100, times the same)")
    parser.add_argument("--seed", type=int, default=1, help="of the pairs and the sprinkled runs")
    parser.add_argument("--random-only", action="store_true", help="just these two")
    parser.add_argument("--only", help="one scenario")
    arguments = parser.parse_args()
    scale = max(1, int(os.environ.get("PILFER_TEST_SCALE", "1")))

    with tempfile.TemporaryDirectory() as folder:
        session = Session(arguments, folder)
        self_test(session)
        scenarios = session.victim_says("--list")
        if arguments.only:
            scenarios = [s for s in scenarios if s == arguments.only] or sys.exit(f"no scenario {arguments.only}")
        counted = session.count([s for s in scenarios if s != "overflow"])
        if not arguments.random_only:
            systematic(session, scenarios, counted, arguments.most or (30 if scale == 1 else 10**6), scale > 1)
        session.phase("pairs", pairs(counted, arguments.pairs or 150 * scale, arguments.seed))
        session.phase("sprinkled", sprinkled(counted, arguments.sprinkled or 100 * scale, arguments.seed))
        heading = counts(counted, scenarios)
        distinct = report(session, arguments.report, heading)
        print("single faults:")
        summary(session)
        if len(session.failures) >= 20:
            print("stopped after so many failures:")
        for name, run, reason in session.failures[:20]:
            print(f"FAILED ({name}): {reason}\n  {session.bench.command(run)}\n"
                  + "".join(f"  | {line}\n" for line in run.text.strip().splitlines()[-6:]))
        print(f"{heading}; {len(session.lines)} runs, {distinct} different (call site, k) pairs in the library, "
              f"{len(session.failures)} failures; the list: {arguments.report}")
        if distinct < arguments.least and not arguments.only and not arguments.random_only:
            sys.exit(f"fewer than {arguments.least} different pairs")
        sys.exit(1 if session.failures else 0)


if __name__ == "__main__":
    main()
