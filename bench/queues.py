#!/usr/bin/env python3
"""What an elastic run costs on its job queue, Gearman on loopback, as medians of interleaved rounds.

bench/queues.py [--build DIR] [--rounds N] [--servers-only] prints:
  * an empty job of the servers alone, one at a time, gearmand beside nats-server with JetStream if that is installed: both
    clients are in this script, and speak the protocols themselves;
  * an empty job of the engine's job queue, by bench-queue: one at a time, and jobs a second with 16 at a time;
  * an empty branch through the engine, from its fork to its result, where another process ran it;
  * UTS T3 and a skewed map on 1, 2 and 4 processes with one worker each, with the results checked;
  * UTS T3 on 4 processes while two of the three workers are killed and one is added;
  * from a signal (SIGKILL, SIGSTOP) to the only worker with the task until another one has it, by the program of
    tests/cluster/elastic.py.
The processes share this machine's CPUs: nothing here says anything about networks."""
import argparse
import contextlib
import json
import multiprocessing
import os
import random
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
LIMIT = 120  # seconds, of anything
SERVERS = {
    "gearman": lambda port, folder: ["gearmand", "-L", "127.0.0.1", "-p", port, "-l", "none", "-t", "1", "-P", f"{folder}/pid"],
    "nats": lambda port, folder: ["nats-server", "-js", "-a", "127.0.0.1", "-p", port, "-sd", f"{folder}/store"],
}


@contextlib.contextmanager
def server(kind):
    """Its port."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(SERVERS[kind](str(port), folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while process.poll() is None:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.02)
            yield port
        finally:
            process.kill()
            process.wait()


class Gearman:
    """A connection with gearmand."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")

    def write(self, kind, content=b""):
        self.socket.sendall(b"\0REQ" + struct.pack(">II", kind, len(content)) + content)

    def read(self):
        kind, size = struct.unpack(">II", self.file.read(12)[4:])
        return kind, self.file.read(size)

    def prepare(self):
        pass

    def submit(self):
        """One job, to its result."""
        self.write(7, b"empty\0\0")
        while self.read()[0] != 13:
            pass

    def work(self):
        self.write(1, b"empty")
        while True:
            self.write(9)
            kind, content = self.read()
            if kind == 11:
                self.write(13, content[: content.index(b"\0") + 1])
            else:
                self.write(4)
                self.read()


class JetStream:
    """A connection with nats-server: a stream that is a work queue, one consumer that jobs are fetched from, acknowledged, and
    a result by a message to the submitter."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb")
        self.file.readline()
        self.inbox = f"inbox.{os.getpid()}.{id(self)}"
        self.socket.sendall(f'CONNECT {{"verbose":false}}\r\nSUB {self.inbox} 1\r\n'.encode())

    def write(self, *messages):
        self.socket.sendall(b"".join(f"PUB {subject} {reply} {len(content)}\r\n{content}\r\n".encode()
                                     for subject, reply, content in messages))

    def read(self):
        """The reply subject, if there is one, and the content of the next message."""
        while True:
            words = self.file.readline().decode().split()
            if words[0] == "MSG":
                content = self.file.read(int(words[-1]) + 2)[:-2].decode()
                return words[3] if len(words) == 5 else "", content
            if words[0] == "PING":
                self.socket.sendall(b"PONG\r\n")

    def prepare(self):
        stream = {"name": "bench", "subjects": ["bench"], "retention": "workqueue", "storage": "memory", "num_replicas": 1}
        consumer = {"durable_name": "worker", "ack_policy": "explicit", "ack_wait": 3 * 10**9, "deliver_policy": "all",
                    "replay_policy": "instant"}
        for subject, content in (("$JS.API.STREAM.CREATE.bench", stream),
                                 ("$JS.API.CONSUMER.DURABLE.CREATE.bench.worker", {"stream_name": "bench", "config": consumer})):
            self.write((subject, self.inbox, json.dumps(content)))
            answer = self.read()[1]
            if "error" in json.loads(answer):
                sys.exit(f"queues.py: nats-server answers {answer}")

    def submit(self):
        self.write(("bench", "", self.inbox))
        self.read()

    def work(self):
        while True:
            self.write(("$JS.API.CONSUMER.MSG.NEXT.bench.worker", self.inbox, json.dumps({"batch": 1})))
            acknowledge, submitter = self.read()
            self.write((submitter, "", ""), (acknowledge, "", "+ACK"))


CLIENTS = {"gearman": Gearman, "nats": JetStream}


def work_alone(kind, port):
    CLIENTS[kind](port).work()


def alone(kind, jobs=2000):
    """The median of the microseconds of a job."""
    with server(kind) as port:
        client = CLIENTS[kind](port)
        client.prepare()
        worker = multiprocessing.Process(target=work_alone, args=(kind, port))
        worker.start()
        try:
            client.submit()  # the worker is there
            times = []
            for _ in range(jobs):
                begin = time.perf_counter()
                client.submit()
                times.append(time.perf_counter() - begin)
        finally:
            worker.kill()
            worker.join()
    return statistics.median(times) * 1e6


def figures(command, helpers, environment):
    """What the command prints, by name, while the helpers run."""
    environment = {**os.environ, "PILFER_WORKERS": "1", **environment}
    running = [subprocess.Popen(h, env=environment) for h in helpers]
    try:
        time.sleep(0.3)  # they wait for a coordinator
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            sys.exit(f"queues.py: {' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        for process in running:
            process.wait(timeout=LIMIT)
    finally:
        for process in running:
            process.kill()
            process.wait()
    return dict(line.split() for line in done.stdout.splitlines())


def recovery(program, url, number):
    """Seconds from the signal until another worker has the task."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PILFER_WORKERS": "1", "PILFER_CLUSTER": url}
        command = [program, "hostage", folder]
        running = []

        def start(*more):
            running.append(subprocess.Popen([*command, *more], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            return running[-1]

        def wait_for(file):
            until = time.monotonic() + LIMIT
            while not os.path.exists(f"{folder}/{file}"):
                if time.monotonic() > until:
                    sys.exit(f"queues.py: no recovery on {url}")
                time.sleep(0.002)

        try:
            start()
            first = start("--pilfer-worker")
            wait_for("begun")
            start("--pilfer-worker")
            time.sleep(1)  # it has begun to wait for a job
            first.send_signal(number)
            begin = time.monotonic()
            wait_for("again")
            return time.monotonic() - begin
        finally:
            for process in running:
                process.kill()
                process.wait()


def killed_tree(command, url):
    """The coordinator's seconds."""
    environment = {**os.environ, "PILFER_WORKERS": "1", "PILFER_CLUSTER": url}
    worker = [*command, "--pilfer-worker"]
    workers = [subprocess.Popen(worker, env=environment) for _ in range(3)]
    try:
        time.sleep(0.4)  # they wait for the coordinator
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as coordinator:
            for w in workers[:2]:
                time.sleep(random.uniform(0.05, 0.25))
                w.kill()
            workers.append(subprocess.Popen(worker, env=environment))
            out = coordinator.communicate(timeout=LIMIT)[0]
        if "exact 1" not in out:
            sys.exit(f"queues.py: a wrong number of nodes with killed workers:\n{out}")
        return dict(line.split() for line in out.splitlines())["seconds"]
    finally:
        for w in workers:
            w.kill()
            w.wait()


def measure_engine(note, bench, elastic, sums):
    with server("gearman") as port, tempfile.TemporaryDirectory() as folder:
        url = f"gearman://127.0.0.1:{port}"
        worker = [[bench + "queue", "work", url]]
        note("an empty job, us", figures([bench + "queue", "submit", url, "3000", "1"], worker, {})["median_us"])
        row = figures([bench + "queue", "submit", url, "10000", "16"], worker, {})
        note("empty jobs a second, 16 at a time", row["jobs_per_second"])

        def run(n, mode):
            command = [bench + "cluster", mode]
            environment = {"PILFER_CLUSTER": url, "PILFER_BENCH_WORD": f"{folder}/word"}
            return figures(command, [[*command, "--pilfer-worker"]] * (n - 1), environment)

        row = run(2, "empty")
        note("an empty branch through the engine, us", row.get("median_us", "nan"))
        note("branches of 500 that ran elsewhere", row["elsewhere"])
        for n in (1, 2, 4):
            row = run(n, "uts")
            if row["exact"] != "1":
                sys.exit(f"queues.py: a wrong number of nodes on {n} processes")
            note(f"UTS T3 on {n} processes, s", row["seconds"])
            row = run(n, "skewed")
            sums.add(row["sum"])
            note(f"a skewed map on {n} processes, s", row["seconds"])
        note("UTS T3 with killed workers, s", killed_tree([bench + "cluster", "uts"], url))
        for name, number in (("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP)):
            note(f"from a {name} worker to the next, s", recovery(elastic, url, number))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="the folder of the build")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--servers-only", action="store_true", help="without the engine: no build is needed")
    options = parser.parse_args()
    bench = os.path.join(options.build, "bench", "bin", "bench-")
    elastic = os.path.join(options.build, "tests", "cluster", "cluster_elastic")
    for program in () if options.servers_only else (bench + "cluster", bench + "queue", elastic):
        if not os.path.exists(program):
            sys.exit(f"queues.py: {program} does not exist; build bench-cluster and bench-queue, which need MPI, and cluster_elastic")
    os.environ["PATH"] += ":/usr/sbin"
    kinds = [kind for kind in SERVERS if shutil.which(SERVERS[kind]("1", "")[0])]
    if "gearman" not in kinds:
        sys.exit("queues.py: gearmand is not installed (Debian: gearman-job-server)")
    samples = {}

    def note(name, value):
        samples.setdefault(name, []).append(float(value))

    sums = set()
    for number in range(options.rounds):
        print(f"\rround {number + 1} of {options.rounds}", end="", file=sys.stderr, flush=True)
        for kind in kinds:
            note(f"the server of {kind} alone, an empty job, us", alone(kind))
        if not options.servers_only:
            measure_engine(note, bench, elastic, sums)
    print(file=sys.stderr)
    if len(sums) > 1:
        sys.exit(f"queues.py: sums of different bits: {sorted(sums)}")
    print(f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}, {options.rounds} rounds, one worker a process")
    for name, row in samples.items():
        print(f"{name:46} {statistics.median(row):10.3f}   {min(row):.3f} to {max(row):.3f}")


if __name__ == "__main__":
    main()
