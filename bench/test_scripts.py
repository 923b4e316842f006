#!/usr/bin/env python3
"""Tests of run.py and plot.py: test_scripts.py BUILD runs them on the programs of a build and on made-up ones."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import results

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = sys.argv.pop(1) if len(sys.argv) > 1 else None


def script(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(HERE, name), *arguments], capture_output=True, text=True,
                          check=False)


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.output = os.path.join(self.folder.name, "results.json")

    def program(self, name, seconds, ok=True, sleep=0, **more):
        """A made-up program that always reports the same."""
        folder = os.path.join(self.folder.name, "bench", "bin")
        os.makedirs(folder, exist_ok=True)
        _, kernel, runtime = name.split("-")
        report = {"kernel": kernel, "runtime": runtime, "compiler": "g++ 0", "workers": 1, "size": "tiny",
                  "seconds": [seconds], "peak_kib": 2048, "ok": ok, "answer": 7, **more}
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nsleep {sleep}\necho '{json.dumps(report)}'\nexit {0 if ok else 1}\n")
        os.chmod(path, 0o755)

    def run_made_up(self, *more):
        return script("run.py", "--build", self.folder.name, "--size", "tiny", "--rounds", "3", "--output",
                      self.output, *more)

    def test_pinning_is_compared(self):
        self.program("bench-k-pilfer_join", 1.25)
        done = script("pinning.py", "--build", self.folder.name, "--kernels", "k", "--rounds", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| k | 1.2500 | 1.000 | 1.000 | 1.000 |", done.stdout)
        self.assertNotEqual(script("pinning.py", "--build", self.folder.name, "--kernels", "other").returncode, 0)

    def test_pinning_demands_right_answers(self):
        self.program("bench-k-pilfer_join", 1.25, ok=False)
        done = script("pinning.py", "--build", self.folder.name, "--kernels", "k", "--rounds", "2")
        self.assertNotEqual(done.returncode, 0)

    def test_two_builds_are_compared(self):
        self.program("bench-k-pilfer_join", 1.25)
        with tempfile.TemporaryDirectory() as slow:
            old, self.folder.name = self.folder.name, slow
            self.program("bench-k-pilfer_join", 1.5)
            self.folder.name = old
            done = script("compare.py", old, slow, "--rounds", "2", "--workers", "1")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("| k | pilfer_join | 1 | 1.200 | 1.000 | slower |", done.stdout)
            self.program("bench-k-pilfer_join", 1.25, ok=False)
            self.assertNotEqual(script("compare.py", old, slow, "--rounds", "2").returncode, 0)

    def test_malloc_is_compared(self):
        self.program("bench-k-pilfer_join", 1.25)
        self.program("bench-k-libgomp", 1.0)
        options = ("--build", self.folder.name, "--kernel", "k", "--runtimes", "pilfer_join,libgomp", "--rounds", "1")
        done = script("malloc.py", *options, "--workers", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^\| libgomp \| 1 \| 0\.80 \| [1-9]\d* \| 0\.80 \| [1-9]\d* \|$")
        self.program("bench-k-libgomp", 1.0, ok=False)
        self.assertNotEqual(script("malloc.py", *options).returncode, 0)

    def test_sharing_compares(self):
        for variant in ("pilfer_join", "tbb", "libgomp"):
            self.program(f"bench-k-{variant}", 1.25)
            self.program(f"bench-short_loop-{variant}", 0.0001)
        done = script("sharing.py", "--build", self.folder.name, "--kernel", "k", "--rounds", "1", "--loops", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^oneTBB +[0-9.]+ +[0-9.]+$")
        self.assertRegex(done.stdout, r"(?m)^OpenMP, libgomp( +100){6} +1\.00$")

    def test_sharing_demands_right_answers(self):
        for variant in ("pilfer_join", "tbb", "libgomp"):
            self.program(f"bench-k-{variant}", 1.25, ok=variant != "tbb")
        done = script("sharing.py", "--build", self.folder.name, "--kernel", "k", "--rounds", "1", "--part", "together")
        self.assertNotEqual(done.returncode, 0)

    def test_ratios_and_speed_up(self):
        self.program("bench-k-serial", 1.0)
        self.program("bench-k-pilfer_join", 1.25)
        self.program("bench-k-tbb", 5.0)
        done = self.run_made_up("--workers", "1,2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| tbb | g++ 0 | 1 | 5 | 5 | 5.00 | 4.00 |  | 2.0 |", done.stdout)
        self.assertIn("| serial_twice | g++ 0 | 2 | 1 | 1 | 1.00 | 0.80 | 2.00 | 4.0 |", done.stdout)
        records = results.load(self.output)["records"]
        self.assertEqual(len(records), 6)
        self.assertTrue(all(len(record["seconds"]) == 3 for record in records))

    def test_shares_are_medians_of_their_own(self):
        self.program("bench-k-serial", 1.0)
        self.program("bench-k-tbb", 1.0, smallest_share=[0.25], largest_share=[1.75])
        done = self.run_made_up()
        self.assertIn("| 2.0 | 0.25 | 1.75 |", done.stdout)
        self.assertIn("| 2.0 |  |  |", done.stdout)
        records = {r["runtime"]: r for r in results.load(self.output)["records"]}
        self.assertEqual(records["tbb"]["smallest_share"], [0.25] * 3)
        self.assertNotIn("smallest_share", records["serial"])

    def test_wrong_answer_fails_and_is_run_once(self):
        self.program("bench-k-serial", 1.0)
        self.program("bench-k-tbb", 1.0, ok=False)
        done = self.run_made_up()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.count("wrong answer"), 1)

    def test_timeout_fails(self):
        self.program("bench-k-serial", 1.0, sleep=20)
        self.assertIn("over 0.2 s", self.run_made_up("--timeout", "0.2").stderr)

    def test_earlier_records_stay(self):
        self.program("bench-k-serial", 1.0)
        self.run_made_up()
        self.program("bench-other-serial", 3.0)
        self.run_made_up("--kernels", "other")
        self.assertEqual([r["kernel"] for r in results.load(self.output)["records"]], ["k", "other"])

    def test_unknown_kernel(self):
        self.program("bench-k-serial", 1.0)
        self.assertNotEqual(self.run_made_up("--kernels", "absent").returncode, 0)

    def test_ranks_are_compared_with_rivals(self):
        folder = os.path.join(self.folder.name, "bench", "bin")
        os.makedirs(folder)

        def write(name, *lines):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(("#!/bin/sh", *lines, "")))
            os.chmod(path, 0o755)
            return path

        write("mpirun", 'shift 2; exec "$@"')
        write("bench-cluster", "echo seconds 2", "echo nodes 7")
        rival = write("other", "echo a sentence of its own", "echo nodes 7", "echo seconds 3")
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = folder + os.pathsep + path
        options = ("--build", self.folder.name, "--rounds", "1", "--ranks", "1", "--rival", f"other={rival}")
        done = script("cluster.py", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^other +on 1 ranks .* 1\.50 of pilfer$")
        write("other", "echo seconds 3")
        done = script("cluster.py", *options)
        self.assertEqual(done.returncode, 1)
        self.assertIn('other prints no line "nodes N"', done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_nodes_need_root(self):
        folder = os.path.join(self.folder.name, "bench", "bin")
        os.makedirs(folder)
        for name, line in (("id", "echo 1000"), ("mpirun", "exit 1"), ("bench-cluster", "exit 1")):
            path = os.path.join(folder, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{line}\n")
            os.chmod(path, 0o755)
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = folder + os.pathsep + path
        done = script("cluster.py", "--build", self.folder.name, "--nodes")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, "cluster.py: no nodes: skipped: only root makes network namespaces\n")

    def test_plot(self):
        self.program("bench-k-serial", 1.0)
        self.program("bench-k-pilfer_join", 2.0)
        self.program("bench-k-tbb", 50.0)
        self.run_made_up()
        picture = os.path.join(self.folder.name, "p.svg")
        done = script("plot.py", "--input", self.output, "--output", picture, "--size", "tiny")
        self.assertEqual(done.returncode, 0, done.stderr)
        words = [element.text for element in xml.etree.ElementTree.parse(picture).iter() if element.text]
        self.assertIn("25.00  (50 s)", words)
        self.assertNotEqual(script("plot.py", "--input", self.output, "--size", "full").returncode, 0)

    def test_machine_is_no_host_name(self):
        name = results.file_name(results.machine())
        self.assertRegex(name, r"^[a-z0-9-]+-\d+-cores\.json$")
        self.assertNotIn(os.uname().nodename.lower(), name)

    @unittest.skipIf(BUILD is None, "needs a build folder")
    def test_real_programs(self):
        done = script("run.py", "--build", BUILD, "--size", "tiny", "--rounds", "2", "--kernels", "fib", "--output",
                      self.output)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("### fib, tiny", done.stdout)


if __name__ == "__main__":
    unittest.main()
