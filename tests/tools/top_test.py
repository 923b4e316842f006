"""`pilfer top` on programs whose state is known.

    top_test.py PILFER TARGET [case...]

Ends with 77 where the kernel lets no process read another one.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

PILFER, TARGET = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
SOURCE = pathlib.Path(__file__).with_name("top_target.cpp")
INLINED = "[[gnu::always_inline]] inline void take_price(pilfer::channel<int>& queue) { (void)queue.receive(); }"
LIMIT = 120  # seconds; for a machine that does other things too


class Target:
    """A process of top_target.cpp, from its "ready" on."""

    def __init__(self, *words, program=TARGET):
        self.process = subprocess.Popen(
            [program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PILFER_WORKERS": "2"}
        )
        line = self.process.stdout.readline()
        if line != "ready\n":
            raise RuntimeError(f"top_target {words}: {line!r}")
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def metrics(self):
        """prometheus_text() of the process itself."""
        self.process.stdin.write("m")
        self.process.stdin.flush()
        lines = []
        while not lines or lines[-1] != "# EOF\n":
            lines.append(self.process.stdout.readline())
        return "".join(lines[:-1])


def top(*words, user=None):
    return subprocess.run(
        [PILFER, "top", *(str(word) for word in words)], capture_output=True, text=True, timeout=LIMIT, user=user, check=False
    )


def looked(pid):
    said = top("--once", "--json", pid)
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\} ([0-9]+)')


def parsed(text):
    """{(family, labels): value}, and {family: type}. Fails unless the text keeps Prometheus' rules."""
    values, types, helps = {}, {}, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in helps, f"{family} twice"
            helps.add(family)
        elif line.startswith("# TYPE "):
            _, _, family, kind = line.split()
            assert family in helps and family not in types
            assert kind in ("counter", "gauge")
            assert family.endswith("_total") == (kind == "counter"), family
            types[family] = kind
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            family, labels, value = found.groups()
            assert list(types)[-1] == family, f"{family} is not with its family"
            assert (family, labels) not in values, line
            values[family, labels] = int(value)
    return values, types


class Top(unittest.TestCase):
    def test_a_cycle_of_mutexes_is_named_on_the_first_screen(self):
        with Target("locks") as target:
            said = top("--once", target.pid)
            self.assertEqual(said.returncode, 0, said.stderr)
            lines = said.stdout.splitlines()
            self.assertLessEqual(len(lines), 40)
            self.assertRegex(lines[1], r"^STALL in pool 1: nothing has run for [0-9.]+ s, and 2 contexts")
            self.assertEqual(lines[2], "a cycle of waits:")
            for name in ("transfer money", "close account"):
                self.assertRegex(said.stdout, rf'\n  context \d+ "{name}" waits for a mutex \(0x[0-9a-f]+\), held by context')
                self.assertRegex(said.stdout, rf'\nmutex 0x[0-9a-f]+: 1 waiting, .* by context \d+ "{name}", which waits for a mutex')
            self.assertRegex(said.stdout, r'\npool 1 "target": 2 workers: 0 running, 0 searching, 2 asleep; 2 contexts wait of \d+\n')
            self.assertRegex(
                said.stdout,
                r"\n  tasks begun \d+ \(0/s\), resumed \d+ \(0/s\); thefts \d+ \(0/s\); in deques 0; submissions none\n",
            )
            self.assertNotIn("STOPPED", said.stdout)
            self.assertIn("\nwaits: 2 for a mutex\n", said.stdout)
            self.assertIn("\noldest ready task: none\n", said.stdout)

    def test_mutexes_with_names(self):
        with Target("named") as target:
            said = top("--once", target.pid).stdout
            for name in ("accounts", 'audit "log"'):
                self.assertRegex(said, rf'\n  context \d+ "[a-z ]+" waits for a mutex \("{name}", 0x[0-9a-f]+\), held by context')
                self.assertRegex(said, rf'\nmutex 0x[0-9a-f]+ "{name}": 1 waiting, ')
            self.assertRegex(said, r'"listener", suspended on worker \d, waits [0-9.]+ s for an event \("event 1500", 0x')
            found = looked(target.pid)
            self.assertEqual({lock["name"] for lock in found["mutexes"]}, {"accounts", 'audit "log"'})
            self.assertEqual({wait["object_name"] for wait in found["waiting"]}, {"accounts", 'audit "log"', "event 1500"})

    def test_holders_of_locks_of_every_kind(self):
        with Target("holders") as target:
            locks = {lock["name"]: lock for lock in looked(target.pid)["mutexes"]}
            shown = "\n".join(top("--once", target.pid).stdout.splitlines())
        self.assertEqual({name: lock["waiters"] for name, lock in locks.items()}, dict.fromkeys(locks, 1))
        self.assertEqual({name for name, lock in locks.items() if lock["shared_mutex"]}, {"alone", "read", "outside", "shared", "by coroutine"})
        for name in ("alone", "plain", "shared", "gate", "by coroutine"):
            self.assertRegex(locks[name]["holder"], r"^context \d+$")
        self.assertEqual(locks["read"]["holder"], "readers, whose names it does not keep")
        self.assertEqual(
            locks["outside"]["holder"], "a thread outside the pools, a task without a stack, or one that has got it and waits for its turn"
        )
        self.assertRegex(shown, r"\n(shared )?mutex 0x")
        self.assertRegex(shown, r'waits [0-9.]+ s for a shared mutex, with others \("alone", 0x[0-9a-f]+\), held by context \d+ "writer"')
        for name, inside in (("plain", "in plain"), ("gate", "in gate")):
            self.assertRegex(shown, rf'waits [0-9.]+ s for a mutex \("{name}", 0x[0-9a-f]+\), held by context \d+ "{inside}"')

    def test_names_that_are_no_text(self):
        """A screen and JSON are UTF-8, whatever the memory of the process has. Names are cut between characters."""
        with Target("texts") as target:
            for words in (("--once",), ("--once", "--json")):
                said = subprocess.run([PILFER, "top", *words, str(target.pid)], stdout=subprocess.PIPE, timeout=LIMIT, check=True)
                text = said.stdout.decode("utf-8")
                self.assertTrue("Z\u00fcrich" in text or "Z\\u00fcrich" in text, text)
                self.assertNotRegex(text, "[\u0080-\u009f\ufffd]")
                self.assertNotIn("fffd", text)
            names = sorted(wait["name"] for wait in json.loads(text)["waiting"])
        self.assertEqual(names, ["", "", "", "Z\u00fcrich", 63 * "x"])

    def test_a_cycle_through_children_of_a_scope(self):
        with Target("family") as target:
            said = top("--once", target.pid).stdout
            self.assertEqual(said.count("a cycle of waits:\n"), 2)
            self.assertEqual(len(re.findall(r"for the children of a scope .*, among them context", said)), 3)
            self.assertEqual({len(cycle) for cycle in looked(target.pid)["cycles"]}, {2})

    def test_stacks_of_waiting_contexts(self):
        lines = {text: number for number, text in enumerate(SOURCE.read_text("ascii").splitlines(), 1)}

        def line(text):
            return f"top_target.cpp:{lines[text]}"

        with Target("stacks") as target:
            said = top("--once", "--stacks", target.pid)
            if "built without libdw" in said.stderr:
                self.skipTest("built without libdw")
            screen = said.stdout.splitlines()
            found = json.loads(top("--once", "--json", "--stacks", target.pid).stdout)
        shop = next(wait["stack"] for wait in found["waiting"] if wait["name"] == "shop")
        functions = [re.search("take_price|serve_customer|open_shop|$", frame["function"]).group() for frame in shop]
        at = functions.index("take_price")
        self.assertEqual(functions[at : at + 3], ["take_price", "serve_customer", "open_shop"])
        self.assertEqual(
            [frame["line"] for frame in shop[at : at + 3]],
            [line(INLINED), line("    take_price(queue);"), line("    serve_customer(queue);")],
        )
        self.assertIsNone(shop[at]["address"])  # inlined
        self.assertTrue(all(frame["address"] for frame in shop[at + 1 : at + 3]))
        # The child of spawn has a stack of its own, which ends there.
        self.assertEqual(sum("serve_customer" in str(wait["stack"]) for wait in found["waiting"]), 2)
        self.assertEqual(sum("open_shop" in str(wait["stack"]) for wait in found["waiting"]), 1)
        self.assertEqual(len([text for text in screen if re.match(r"    #0  0x[0-9a-f]{12} in ", text)]), 3)
        self.assertTrue(any(re.fullmatch(r"    #\d+ +inlined in .*take_price.* at top_target.cpp:\d+", text) for text in screen))

    def test_stacks_without_symbols_and_file(self):
        with tempfile.TemporaryDirectory() as folder:
            bare = os.path.join(folder, "bare")
            subprocess.run(["strip", "-o", bare, TARGET], check=True)
            with Target("stacks", program=bare) as target:
                os.remove(bare)
                os.mkfifo(bare + " (deleted)")  # the path that the system shows now; who opens it waits for ever
                said = top("--once", "--json", "--stacks", target.pid)
        if "built without libdw" in said.stderr:
            self.skipTest("built without libdw")
        for wait in json.loads(said.stdout)["waiting"]:
            self.assertGreater(len(wait["stack"]), 3)

    def test_ten_thousand_waiting_contexts(self):
        with Target("waits", "10000") as target:
            said = top("--once", target.pid)
            self.assertIn("; 10000 contexts wait of ", said.stdout)
            self.assertIn("\nwaits: 10000 for a channel's next value\n", said.stdout)
            self.assertRegex(said.stdout, r"\nand \d+ more waiting contexts\n$")
            found = looked(target.pid)
            self.assertEqual(len({wait["context"] for wait in found["waiting"]}), 10_000)
            self.assertEqual({wait["what"] for wait in found["waiting"]}, {"a channel's next value"})
            self.assertEqual(len({wait["object"] for wait in found["waiting"]}), 1)
            self.assertIsNotNone(found["pools"][0]["stall"])

    def test_workers_in_endless_tasks_beside_a_submission(self):
        with Target("hogs") as target:
            said = top("--once", target.pid)
            self.assertRegex(said.stdout.splitlines()[1], "^BUSY in pool 1: all 2 workers have been in the same tasks for")
            self.assertEqual(len(re.findall(r'\n  worker \d .*: running context \d+ "endless loop" for', said.stdout)), 2)
            self.assertRegex(said.stdout, r"\noldest ready task: a submission, [0-9.]+ s\n")
            self.assertIn("; in deques 0; submissions some (not counted)\n", said.stdout)
            self.assertIsNone(looked(target.pid)["pools"][0]["submissions_queued"])

    def test_a_bounded_queue_is_counted(self):
        with Target("bounded") as target:
            self.assertIn("; submissions 3 of at most 5\n", top("--once", target.pid).stdout)
            self.assertEqual(looked(target.pid)["pools"][1]["submissions_queued"], 3)

    def test_resumptions_are_no_begun_tasks(self):
        with Target("naps") as target:
            said = top("--once", target.pid).stdout
            self.assertRegex(said, r"\n  tasks begun 1 \(0/s\), resumed [1-9]\d+ \([1-9]\d*/s\); ")

    def test_a_wait_for_a_time_is_no_stall(self):
        with Target("timers") as target:
            found = looked(target.pid)
            self.assertIsNone(found["pools"][0]["stall"])
            self.assertEqual({wait["name"] for wait in found["waiting"]}, {"patient", "listener"})
            self.assertEqual({wait["what"] for wait in found["waiting"]}, {"a time", "an event"})
            said = top("--once", target.pid).stdout
            self.assertRegex(said, r'"patient", suspended on worker \d, waits [0-9.]+ s for a time\n')
            self.assertNotIn("0x0", said)

    def test_a_stopped_process_is_shown(self):
        with Target("locks") as target:
            os.kill(target.pid, signal.SIGSTOP)
            said = top("--once", target.pid).stdout
            self.assertIn("STALL in pool 1", said)
            self.assertRegex(said.splitlines()[1], "^STOPPED: a signal")
            self.assertTrue(looked(target.pid)["stopped"])
            os.kill(target.pid, signal.SIGCONT)
            self.assertFalse(looked(target.pid)["stopped"])

    def test_a_program_that_works_meanwhile(self):
        """Nothing stops for a look, so words contradict each other; no look fails, and counters only grow."""
        with Target("busy") as target:
            watch = subprocess.Popen(
                [PILFER, "top", "--json", "--interval", "0.05", str(target.pid)], stdout=subprocess.PIPE, text=True
            )
            try:
                looks = [json.loads(watch.stdout.readline())["pools"][0] for _ in range(30)]
            finally:
                watch.kill()
                watch.communicate()
            self.assertEqual([look["stall"] for look in looks], [None] * 30)
            begun = [sum(look["counters"][c] for c in ("own", "submitted", "stolen", "resumed")) for look in looks]
            self.assertEqual(begun, sorted(begun))
            self.assertGreater(begun[-1], begun[0])
            said = top("--once", target.pid)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertNotIn("STALL", said.stdout)

    def test_looks_go_on_until_the_process_ends(self):
        with Target("waits", "3") as target:
            watch = subprocess.Popen(
                [PILFER, "top", "--json", "--interval", "0.05", str(target.pid)],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            looks = [json.loads(watch.stdout.readline()) for _ in range(4)]
            target.process.kill()
            target.process.wait()
            _, said = watch.communicate(timeout=LIMIT)
            self.assertEqual(watch.returncode, 0)
            self.assertIn(f"process {target.pid} has ended", said)
            times = [look["waiting"][0]["seconds"] for look in looks]
            self.assertEqual(times, sorted(set(times)))  # a wait that goes on grows older
            self.assertGreater(looks[-1]["pools"][0]["still_seconds"], looks[0]["pools"][0]["still_seconds"])

    def test_a_stripped_program(self):
        if shutil.which("strip") is None:
            self.skipTest("no strip")
        with tempfile.TemporaryDirectory() as folder:
            bare = os.path.join(folder, "bare")
            subprocess.run(["strip", "-o", bare, TARGET], check=True)
            with Target("locks", program=bare) as target:
                os.remove(bare)  # nor is the file needed
                self.assertIn("STALL in pool 1", top("--once", target.pid).stdout)

    def test_prometheus_text(self):
        with Target("waits", "3") as target:
            values, types = parsed(top("--prometheus", target.pid).stdout)
            self.assertEqual((values, types), parsed(target.metrics()))
            label = 'pool="1",name="target"'
            self.assertEqual(values["pilfer_suspended_contexts", label], 3)
            self.assertEqual(values["pilfer_tasks_begun_total", label + ',source="submitted"'], 3)
            states = [values["pilfer_workers", f'{label},state="{s}"'] for s in ("running", "searching", "asleep", "retired")]
            self.assertEqual(sum(states), 2)
            self.assertEqual(types["pilfer_workers"], "gauge")
            self.assertEqual(types["pilfer_tasks_begun_total"], "counter")


    def test_characters_that_prometheus_escapes(self):
        with Target("quoted") as target:
            values, _ = parsed(top("--prometheus", target.pid).stdout)
            self.assertEqual(values["pilfer_suspended_contexts", r'pool="1",name="a\"b\\c"'], 3)

    def test_a_name_with_control_characters(self):
        """A file's name becomes the process' name."""
        with tempfile.TemporaryDirectory() as folder:
            with Target("waits", "3", program=shutil.copy(TARGET, os.path.join(folder, "\x1b[31mHI\nX"))) as target:
                self.assertEqual(looked(target.pid)["name"], "?[31mHI?X")
                said = top("--once", target.pid).stdout
                self.assertIn("?[31mHI?X", said.splitlines()[0])
                self.assertNotIn("\x1b", said)


class Errors(unittest.TestCase):
    def refused(self, reason, *words, user=None):
        said = top(*words, user=user)
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn(reason, said.stderr)
        self.assertEqual(said.stdout, "")

    def test_a_program_without_pilfer(self):
        with subprocess.Popen(["sleep", "1000"]) as other:
            try:
                self.refused("does not use pilfer", "--once", other.pid)
            finally:
                other.kill()

    def test_a_process_that_has_ended(self):
        with subprocess.Popen(["true"]) as ended:
            ended.wait()
            self.refused(f"there is no process {ended.pid}", "--once", ended.pid)

    def test_a_program_without_a_pool(self):
        with Target("none") as target:
            said = top("--once", target.pid)
            self.assertEqual(said.returncode, 0, said.stderr)
            self.assertIn("0 pools", said.stdout)

    def test_a_process_of_another_user(self):
        if os.getuid() != 0:
            self.skipTest("not root")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = shutil.copy(PILFER, folder)
            with Target("waits", "3") as target:
                said = subprocess.run([copy, "top", "--once", str(target.pid)], capture_output=True, text=True, timeout=LIMIT,
                                      user=65534, group=65534, check=False)
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertIn("may not be read: only its own user and root may", said.stderr)

    def test_root_without_the_capability(self):
        if os.getuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("not root, or no setpriv")
        bare = ["setpriv", "--bounding-set=-sys_ptrace", "--inh-caps=-sys_ptrace"]
        with subprocess.Popen(["setpriv", "--reuid=65534", "--clear-groups", "sleep", "1000"]) as other:
            try:
                said = subprocess.run([*bare, PILFER, "top", "--once", str(other.pid)], capture_output=True, text=True,
                                      timeout=LIMIT, check=False)
            finally:
                other.kill()
        self.assertEqual(said.returncode, 1, said.stdout)
        self.assertRegex(said.stderr, "may not be read: this root lacks the capability SYS_PTRACE|ptrace_scope is 3")

    def test_a_program_of_pilfer_test(self):
        """A copy of the program whose table says PILFER_TEST."""
        program = pathlib.Path(TARGET).read_bytes()
        tables = [t for t in (struct.pack("<4Q", 3, saved, 0, 8) for saved in (1, 2, 3)) if program.count(t) == 1]
        if not tables:
            self.skipTest("the table is in a shared library")
        kind = program.index(tables[0]) + 23 * 8
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other")
            pathlib.Path(other).write_bytes(program[:kind] + bytes([program[kind] ^ 4]) + program[kind + 1 :])
            os.chmod(other, 0o755)
            with Target("waits", "3", program=other) as target:
                self.refused("is linked with pilfer::test, which no command can show", "--once", target.pid)

    def test_another_version(self):
        """A copy of the program whose table of the layout has another version."""
        program = pathlib.Path(TARGET).read_bytes()
        table = next((t for t in (struct.pack("<4Q", 3, saved, 0, 8) for saved in (1, 2, 3)) if program.count(t) == 1), None)
        if table is None:
            self.skipTest("the table is in a shared library")
        with tempfile.TemporaryDirectory() as folder:
            other = os.path.join(folder, "other")
            pathlib.Path(other).write_bytes(program.replace(table, struct.pack("<Q", 999) + table[8:]))
            os.chmod(other, 0o755)
            with Target("waits", "3", program=other) as target:
                self.refused("another version or build of pilfer", "--once", target.pid)

    def test_output_that_is_lost_ends_it(self):
        with Target("waits", "3") as target, open("/dev/full", "w", encoding="ascii") as full:
            for words in (("--json", "--interval", "0.05"), ("--once",), ("--prometheus",)):
                said = subprocess.run(
                    [PILFER, "top", *words, str(target.pid)], stdout=full, stderr=subprocess.PIPE, text=True, timeout=LIMIT, check=False
                )
                self.assertEqual(said.returncode, 1, words)
                self.assertIn("No space left on device", said.stderr)

    def test_wrong_arguments(self):
        for words in ((), ("apple",), ("0",), ("-1",), ("1", "--interval", "0"), ("1", "--prometheus", "--json")):
            self.assertEqual(top(*words).returncode, 2, words)


if __name__ == "__main__":
    with Target("waits", "1") as probe:
        if "may not be read" in top("--once", probe.pid).stderr:
            print("SKIPPED: no process but a parent may read another one here")
            sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
