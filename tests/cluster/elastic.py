#!/usr/bin/env python3
"""Elastic runs over a real gearmand on loopback: elastic.py PROGRAM OTHER CASE, or elastic.py example PROGRAM EXPECTED.

Ends with 77 if gearmand is not installed. Nothing waits by sleeping for a fixed time: files and output say when to go on, and
a process that does not end within 100 s fails the test."""
import asyncio
import contextlib
import os
import select
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 100  # seconds, of anything
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/cluster")
GEARMAND = shutil.which("gearmand") or shutil.which("gearmand", path="/usr/sbin:/usr/local/sbin")


def fail(why):
    print(f"FAILED: {why}", flush=True)
    sys.exit(1)


def expect(holds, why):
    if not holds:
        fail(why)


class Connection:
    """Speaks the server's protocol by hand."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, kind, *texts):
        rest = b"\0".join(texts)
        self.socket.sendall(b"\0REQ" + struct.pack(">II", kind, len(rest)) + rest)

    def receive(self):
        """The type of the next packet, and what is in it."""
        kind, size = struct.unpack(">II", self.read(12)[4:])
        return kind, self.read(size)

    def read(self, size):
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            expect(more != b"", "gearmand has closed the connection")
            data += more
        return data

    def submit(self, queue, content):
        """Puts a job into a queue. It is there when this returns."""
        self.send(7, queue.encode(), b"", content)
        expect(self.receive()[0] == 8, "the server makes no job")

    def end_of_job(self):
        """Waits for the end of the job. The packet's type, 13 for a result and 14 for a failure, and the result."""
        until = time.monotonic() + LIMIT  # its worker may go on saying that it works on it
        while (packet := self.receive())[0] not in (13, 14):
            expect(time.monotonic() < until, "a job does not end")
        return packet[0], packet[1].partition(b"\0")[2]

    def end_of_run(self, calls, run):
        """Asks the coordinator until a run has ended. The answer."""
        version = 0
        while True:
            self.submit(calls, call(run, version=version))
            answer = Answer(self.end_of_job()[1])
            if answer.end:
                return answer
            version = answer.version

    def fetch(self, queue):
        """Waits for a job of a queue. Its name at the server, and its content."""
        self.send(1, queue.encode())
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            self.send(9)
            kind, rest = self.receive()
            if kind == 11:
                handle, _, content = rest.split(b"\0", 2)
                return handle, content
            time.sleep(0.01)
        fail(f"no job comes into {queue}")


# Kinds of messages.
RESULTS, BOUNDS, PARTS, DROPS = 2, 5, 6, 7
HEAD = "<IHBBIQQ"  # magic number, version, kind, flag, type of a task, number of tasks and of results
RESULT = "<QIBQQ"  # ticket, rank, whether it failed, size, a value of 8 bytes
DROP = "<QIBQ"  # the same without a value
TASK = "<IHBBIQIIQ"  # a message with one task: after the number of tasks its rank, type and ticket


def message_with(kind, ticket, value):
    """A message with one result, or what has the form of one."""
    return struct.pack(HEAD, 0x70666c72, 6, kind, 0, 0, 0, 1) + struct.pack(RESULT, ticket, 0, 0, 8, value)


def name_of(task):
    """Of a job: the ticket and the rank of its first submitter."""
    *_, rank, _, ticket = struct.unpack_from(TASK, task)
    return ticket, rank


def call(run, *news, version=0, drops=0):
    """What a worker asks the coordinator, or tells it."""
    return struct.pack("<QQQQ", run, version, drops, len(news)) + b"".join(struct.pack("<Q", len(n)) + n for n in news)


class Answer:
    """Of the coordinator, to a call without news."""

    def __init__(self, reply):
        self.version = struct.unpack("<Q", reply[:8])[0]
        messages, at = [], 8
        while at < len(reply):
            size = struct.unpack("<Q", reply[at:at + 8])[0]
            messages.append(reply[at + 8:at + 8 + size])
            at += 8 + size
        self.end = messages[-1]
        head, item = struct.calcsize(HEAD), struct.calcsize(RESULT)
        self.bounds = [struct.unpack(RESULT, messages[0][i:i + item])[4] for i in range(head, len(messages[0]), item)]
        drop = struct.calcsize(DROP)
        self.drops = [struct.unpack(DROP, messages[1][i:i + drop])[:2] for i in range(head, len(messages[1]), drop)]


class Server:
    """gearmand on a free port of 127.0.0.1."""

    def __init__(self, folder):
        for _ in range(20):  # another program may take the port in between
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                self.port = s.getsockname()[1]
            self.process = subprocess.Popen([GEARMAND, "-L", "127.0.0.1", "-p", str(self.port), "-l", "none", "-t", "1",
                                             "-P", f"{folder}/gearmand.pid"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            until = time.monotonic() + LIMIT
            while self.process.poll() is None and time.monotonic() < until:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                    return
                time.sleep(0.02)
            self.end()
        fail("gearmand does not start")

    def end(self):
        self.process.kill()
        self.process.wait()

    def jobs(self):
        """The name and the number of jobs of each queue."""
        return {name: jobs for name, (jobs, _, _) in self.status().items()}

    def queues(self):
        """The name and the number of workers of each queue."""
        return {name: workers for name, (_, _, workers) in self.status().items()}

    def status(self):
        with socket.create_connection(("127.0.0.1", self.port)) as s:
            s.sendall(b"status\n")
            text = b""
            while not text.endswith(b".\n"):
                more = s.recv(65536)
                expect(more != b"", "gearmand has closed the connection")
                text += more
        rows = [line.rsplit("\t", 3) for line in text.decode().splitlines()[:-1]]
        return {row[0]: (int(row[1]), int(row[2]), int(row[3])) for row in rows}

    def names_of_runs(self):
        return [name for name in self.queues() if name.startswith("pilfer/pilfer/runs/")]

    def requests(self):
        """The number of connections whose first request the server has not read."""
        with open("/proc/net/tcp", encoding="ascii") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        return sum(int(row[1].split(":")[1], 16) == self.port and row[3] == "01" and not row[4].endswith(":00000000") for row in rows)

    def wait_for_workers(self, n):
        """One that comes when the coordinator has ended waits for the next one."""
        wait_for("a worker", lambda: self.queues().get("pilfer/pilfer/here", 0) == n)

    def submit(self, queue, content):
        """Puts a job there. Returns the type of the packet that ends it."""
        with Connection(self.port) as c:
            c.submit(queue, content)
            return c.end_of_job()[0]


class Certificates:
    """Of an authority, and a server and a process that it vouches for."""

    def __init__(self, folder, *hosts):
        subprocess.run([f"{EXAMPLES}/certificates.sh", folder, *hosts], check=True, stdout=subprocess.DEVNULL)
        self.folder = folder
        self.ca = {"PILFER_CLUSTER_CA": f"{folder}/authority.pem"}
        self.process = {"PILFER_CLUSTER_CERT": f"{folder}/process.pem", "PILFER_CLUSTER_KEY": f"{folder}/process.key"}

    def context(self):
        """Of a server that demands a certificate of the authority."""
        c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        c.load_cert_chain(f"{self.folder}/server.pem", f"{self.folder}/server.key")
        c.load_verify_locations(f"{self.folder}/authority.pem")
        c.verify_mode = ssl.CERT_REQUIRED
        return c


class TlsFront:
    """Speaks TLS on a free port of 127.0.0.1, and passes all bytes on to the server, as stunnel does."""

    def __init__(self, context, port):
        self.context, self.server_port, self.port, self.connections = context, port, 0, 0
        self.loop = asyncio.new_event_loop()
        self.loop.set_exception_handler(lambda *_: None)  # handshakes fail: that is tested
        ready = threading.Event()
        self.thread = threading.Thread(target=lambda: self.loop.run_until_complete(self.serve(ready)))
        self.thread.start()
        expect(ready.wait(LIMIT), "the TLS server does not start")

    async def serve(self, ready):
        self.over = asyncio.Event()
        listener = await asyncio.start_server(self.connect, "127.0.0.1", 0, ssl=self.context)
        self.port = listener.sockets[0].getsockname()[1]
        ready.set()
        await self.over.wait()
        listener.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def connect(self, reader, writer):
        self.connections += 1
        there, here = await asyncio.open_connection("127.0.0.1", self.server_port)
        await asyncio.gather(self.pump(reader, here), self.pump(there, writer))

    async def pump(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    def end(self):
        self.loop.call_soon_threadsafe(self.over.set)
        self.thread.join()


class BreakingFront(TlsFront):
    """Without TLS. Can say something to the first connection in the server's place."""

    def __init__(self, port):
        self.first = None
        super().__init__(None, port)

    async def connect(self, reader, writer):
        self.first = self.first or writer
        await super().connect(reader, writer)

    def say(self, data):
        self.loop.call_soon_threadsafe(self.first.write, data)


class LateFront(TlsFront):
    """Without TLS. A job reaches its worker once that has left a queue."""

    def __init__(self, port):
        self.holds = threading.Event()
        super().__init__(None, port)

    async def connect(self, reader, writer):
        there, here = await asyncio.open_connection("127.0.0.1", self.server_port)
        left = asyncio.Event()
        await asyncio.gather(self.say(reader, here, left), self.hold(there, writer, left))

    async def say(self, reader, writer, left):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
                if b"\0REQ\0\0\0\2" in data:
                    left.set()
        writer.close()

    async def hold(self, reader, writer, left):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if b"\0RES\0\0\0\x0b" in data:
                    self.holds.set()
                    await left.wait()
                writer.write(data)
                await writer.drain()
        writer.close()


def serve_by_hand(context, listener):
    """Accepts one connection and shakes hands, without a thread. The socket, and how many bytes of TLS have come."""
    connection = listener.accept()[0]
    connection.settimeout(LIMIT)
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_side=True)
    while True:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            connection.sendall(outgoing.read())
            incoming.write(connection.recv(65536))
            continue
        connection.sendall(outgoing.read())
        return connection, incoming.read()


def types_of_records(data):
    """Of records of TLS: 21 is an alert, 23 is what the programs say."""
    types = []
    while data:
        types.append(data[0])
        data = data[5 + struct.unpack(">H", data[3:5])[0]:]
    return types


class Process:
    def __init__(self, url, *command, **environment):
        cores = {"PILFER_WORKERS": "1", "PILFER_CLUSTER": url}
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env={**os.environ, **cores, **environment})
        self.out, self.err = "", ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        self.out, self.err = self.process.communicate()

    def end(self):
        """The code with which it ends by itself."""
        self.reader.join(LIMIT)
        if self.reader.is_alive():
            self.process.kill()
            self.reader.join()
            fail(f"{self.process.args} does not end:\n{self.out}{self.err}")
        print(f"{self.process.args[1:]} ended with {self.process.returncode}: {self.out}{self.err}".rstrip(), flush=True)
        return self.process.returncode

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def stop(self):
        """It does nothing any longer when this returns."""
        self.kill(signal.SIGSTOP)

        def threads():
            folder = f"/proc/{self.process.pid}/task"
            for thread in os.listdir(folder):
                with open(f"{folder}/{thread}/stat", encoding="ascii") as f:
                    yield f.read().rpartition(")")[2].split()[0]

        wait_for("the stop", lambda: set(threads()) == {"T"})


def wait_for(what, holds):
    until = time.monotonic() + LIMIT
    while not holds():
        expect(time.monotonic() < until, f"{what} does not come")
        time.sleep(0.01)


def make_file(path):
    with open(path, "x", encoding="ascii"):
        pass


def no_tls_built(process):
    """True if the program has no TLS. Ends the process."""
    return process.end() != 0 and "built without OpenSSL" in process.err


class Tests:
    def __init__(self, program, other, folder):
        self.program, self.other, self.folder = program, other, folder
        self.server = Server(folder)
        self.url = f"gearman://127.0.0.1:{self.server.port}"
        self.begun, self.again = f"{folder}/begun", f"{folder}/again"

    def coordinator(self, *arguments, **environment):
        return Process(self.url, self.program, *arguments, **environment)

    def worker(self, *arguments, **environment):
        return Process(self.url, self.program, *arguments, "--pilfer-worker", **environment)

    def must_end(self, process, text):
        """With an error that has the text."""
        begin = time.monotonic()
        code = process.end()
        print(f"after {time.monotonic() - begin:.1f} s")
        expect(code == 1 and text in process.err, f"no error with '{text}'")

    def exact_by_tls(self, url, environment):
        """Exact results through a server that demands TLS and certificates; one worker is killed."""
        workers = [Process(url, self.program, "large", "-", "--pilfer-worker", **environment) for _ in range(2)]
        self.server.wait_for_workers(2)
        for process in [*workers, Process(url, self.program, "large", "-", **environment)]:
            expect(process.end() == 0 and process.out == "50 blocks\n", "another result")
        coordinator = Process(url, self.program, "hostage", self.folder, **environment)
        worker = Process(url, self.program, "hostage", self.folder, "--pilfer-worker", **environment)
        wait_for("the task", lambda: os.path.exists(self.begun))
        again = Process(url, self.program, "hostage", self.folder, "--pilfer-worker", **environment)
        worker.kill()
        expect(coordinator.end() == 0 and coordinator.out == "1610\n" and again.end() == 0, "another result")
        worker.end()

    def tls(self):
        made = Certificates(f"{self.folder}/tls", "127.0.0.1")
        other = Certificates(f"{self.folder}/other", "127.0.0.1")
        front = TlsFront(made.context(), self.server.port)
        url = f"gearmans://127.0.0.1:{front.port}"

        def start(url, **environment):
            return Process(url, self.program, "exact", "-", **environment)

        no_tls = "does not answer by TLS; gearmand of Debian never does"
        unusable = f"{self.folder}/no_file"
        with open(unusable, "w", encoding="ascii") as f:
            f.write("no certificate\n")
        locked = f"{self.folder}/locked.key"
        subprocess.run(["openssl", "pkey", "-aes128", "-passout", "pass:x", "-in", f"{made.folder}/process.key", "-out", locked], check=True)
        try:
            if no_tls_built(start(url, **made.ca, **made.process)):
                print("skipped: this program was built without OpenSSL")
                sys.exit(77)
            accepted = front.connections
            refused = [
                (start(url, **other.ca, **made.process), "/CN=pilfer server, issued by /CN=pilfer authority, which is not trusted"),
                (start(url), "which is not trusted"),  # by the authorities of the system
                (start(f"gearmans://localhost:{front.port}", **made.ca, **made.process), "hostname mismatch"),
                (start(url, **made.ca), "wants another certificate of this process"),
                (start(url, **made.ca, **other.process), "wants another certificate of this process"),
                (start(f"gearmans://127.0.0.1:{self.server.port}", **made.ca), no_tls),
                (start(f"gearman://127.0.0.1:{front.port}"), "has closed the connection"),
                (start(url, PILFER_CLUSTER_CA=f"{self.folder}/none"), f"{self.folder}/none cannot be used: No such file"),
                (start(url, PILFER_CLUSTER_CA=unusable), f"the authorities in {unusable} cannot be used"),
                (start(url, **{**made.process, "PILFER_CLUSTER_CERT": unusable}), f"the certificate in {unusable} cannot be used"),
                (start(url, **{**made.process, "PILFER_CLUSTER_KEY": unusable}), f"the key in {unusable} cannot be used"),
                (start(url, **{**made.process, "PILFER_CLUSTER_KEY": locked}), f"the key in {locked} cannot be used"),
                (start(url, **{**made.process, "PILFER_CLUSTER_KEY": other.process["PILFER_CLUSTER_KEY"]}), "cannot be used: key values mismatch"),
                (start(url, PILFER_CLUSTER_CERT=made.process["PILFER_CLUSTER_CERT"]), "one of them is missing"),
                (start(self.url, **made.ca), "it must begin with gearmans://"),
            ]
            with socket.socket() as mute:  # accepts, and says nothing
                mute.bind(("127.0.0.1", 0))
                mute.listen()
                refused.append((start(f"gearmans://127.0.0.1:{mute.getsockname()[1]}", **made.ca), no_tls))
                for process, why in refused:
                    self.must_end(process, why)
            expect(front.connections == accepted, "a process that was refused has reached the server")
            self.exact_by_tls(url, {**made.ca, **made.process})
        finally:
            front.end()

    def tls_cut(self):
        """A connection that ends without the goodbye of TLS is broken: nothing is said on it any longer, not even goodbye."""
        made = Certificates(f"{self.folder}/tls", "127.0.0.1")
        context = made.context()
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # which shows the types of its records
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            listener.listen()
            coordinator = Process(f"gearmans://127.0.0.1:{listener.getsockname()[1]}", self.program, "exact", "-", **made.ca, **made.process)
            wait_for("a connection", lambda: select.select([listener], [], [], 0)[0] or not coordinator.reader.is_alive())
            if not coordinator.reader.is_alive() and no_tls_built(coordinator):
                print("skipped: this program was built without OpenSSL")
                sys.exit(77)
            jobs, _ = serve_by_hand(context, listener)
            control, said = serve_by_hand(context, listener)
            control.shutdown(socket.SHUT_WR)
            while more := control.recv(65536):
                said += more
            self.must_end(coordinator, "has closed the connection")
            expect(set(types_of_records(said)) <= {23}, f"records of the types {types_of_records(said)}")
            control.close()
            jobs.close()

    def stunnel(self):
        """The server of the guide, from its own files."""
        program = shutil.which("stunnel")
        if program is None:
            print("skipped: stunnel is not installed (Debian: stunnel4)")
            sys.exit(77)
        made = Certificates(f"{self.folder}/tls", "127.0.0.1")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        with open(f"{EXAMPLES}/stunnel.conf", encoding="ascii") as f:
            text = f.read().replace("= 127.0.0.1:4730", f"= 127.0.0.1:{self.server.port}").replace("= 10.0.0.1:4730", f"= 127.0.0.1:{port}")
        with open(f"{made.folder}/stunnel.conf", "w", encoding="ascii") as f:
            f.write(text)
        url = f"gearmans://127.0.0.1:{port}"
        with subprocess.Popen([program, "stunnel.conf"], cwd=made.folder, stderr=subprocess.DEVNULL) as server:
            try:
                def answers():
                    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                        return True
                    return server.poll() is not None

                wait_for("stunnel", answers)
                self.must_end(Process(url, self.program, "exact", "-", **made.ca), "wants another certificate of this process")
                self.exact_by_tls(url, {**made.ca, **made.process})
            finally:
                server.terminate()

    def begin_at_once(self):
        """Of coordinators that have all seen that there is none, one begins."""
        self.server.process.send_signal(signal.SIGSTOP)
        all_of_them = [self.coordinator("hostage", self.folder, PILFER_CLUSTER_SILENCE="60") for _ in range(4)]
        wait_for("a request of each", lambda: self.server.requests() == len(all_of_them))
        self.server.process.send_signal(signal.SIGCONT)
        wait_for("the end of all but one", lambda: sum(p.reader.is_alive() for p in all_of_them) <= 1)
        refused = [p for p in all_of_them if not p.reader.is_alive()]
        left = [p for p in all_of_them if p not in refused]
        for p in refused:
            self.must_end(p, "a coordinator of the name pilfer is at this job queue already")
        expect(len(left) == 1, "all were refused")
        wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
        left[0].kill()
        left[0].end()

    def exact(self):
        # Another program's queue, whose name has the separator of the server's answers.
        other = socket.create_connection(("127.0.0.1", self.server.port))
        other.sendall(b"\0REQ" + struct.pack(">II", 1, 9) + b"a\tb c\t1\t2")
        wait_for("the queue", lambda: len(self.server.queues()) == 1)
        alone = Process("", self.program, "exact", "-")
        expect(alone.end() == 0, "one machine failed")
        for n in (0, 1, 2, 4):
            workers = [self.worker("exact", "-") for _ in range(n)]
            self.server.wait_for_workers(n)
            coordinator = self.coordinator("exact", "-")
            expect(coordinator.end() == 0 and coordinator.out == alone.out, f"another result with {n} workers")
            for w in workers:
                expect(w.end() == 0 and w.out == "", f"a worker of {n} failed")
            expect(self.server.names_of_runs() == [], f"the server keeps names of ended runs: {self.server.names_of_runs()}")
        other.close()

    def bounds(self):
        """A value that one process finds reaches the others during the run, and all end with the same ones."""
        workers = [self.worker("bounds", self.folder) for _ in range(2)]
        self.server.wait_for_workers(2)
        second = min(100 + (i * 7919 + 1) % 997 for i in range(900, 905))
        for process in [self.coordinator("bounds", self.folder), *workers]:
            expect(process.end() == 0 and process.out == f"997 100 {second}\n", "another bound")

    def files(self, begin):
        """What follows that begin in the names of files."""
        return {name.removeprefix(begin) for name in os.listdir(self.folder) if name.startswith(begin)}

    def cancelling(self):
        """A branch whose sibling has failed is cancelled on the worker that runs it, and with it what another worker runs for it."""
        workers = [self.worker("cancelling", self.folder) for _ in range(2)]
        self.server.wait_for_workers(2)
        coordinator = self.coordinator("cancelling", self.folder)
        wait_for("the branch on both workers", lambda: len(self.files("begun-")) == 2)
        make_file(f"{self.folder}/fail")
        for process in (coordinator, *workers):
            expect(process.end() == 0 and process.out == "the first branch fails 55\n", "another error")
        expect(self.files("cancelled-") == self.files("begun-"), "a branch has ended without being cancelled")

    def cancelling_early(self):
        """A branch whose sibling has failed never begins if no worker has it yet."""
        coordinator = self.coordinator("cancelling", self.folder)
        wait_for("the branch in the queue", lambda: any(name.endswith("/0") and jobs for name, jobs in self.server.jobs().items()))
        make_file(f"{self.folder}/fail")
        expect(coordinator.end() == 0 and coordinator.out == "the first branch fails 55\n", "another error")
        expect(self.files("begun-") == set() and self.files("depth-") == set(), "the branch has begun")

    def cancelling_late(self):
        """A worker that comes after a branch was given up hears of it, and the join waits for the worker that has the branch."""
        coordinator = self.coordinator("cancelling", self.folder)
        wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
        jobs = next(name for name in self.server.queues() if name.endswith("/0"))
        with Connection(self.server.port) as worker, Connection(self.server.port) as late, Connection(self.server.port) as later:
            handle, task = worker.fetch(jobs)
            make_file(f"{self.folder}/fail")
            for connection in (late, later):
                connection.submit(jobs[:-1] + "calls", call(0))
                answer = Answer(connection.end_of_job()[1])
                expect(not answer.end and answer.drops == [name_of(task)], f"the drops {answer.drops}")
            # One that knows the latest version, but not the drops.
            later.submit(jobs[:-1] + "calls", call(0, version=answer.version))
            drops = Answer(later.end_of_job()[1]).drops
            expect(drops == [name_of(task)], f"the drops {drops}")
            worker.send(13, handle, message_with(RESULTS, 0, 1))
            expect(coordinator.end() == 0 and coordinator.out == "the first branch fails 55\n", "another error")

    def cancelling_left_over(self):
        """The end of a run cancels what other workers run for one that was killed."""
        workers = [self.worker("cancelling", self.folder) for _ in range(3)]
        self.server.wait_for_workers(3)
        coordinator = self.coordinator("cancelling", self.folder)
        wait_for("the branch on all workers", lambda: len(self.files("begun-")) == 3)
        (parent,) = (w for w in workers if self.files("depth-2-") == {str(w.process.pid)})
        parent.kill()
        parent.end()
        make_file(f"{self.folder}/fail")
        for process in (coordinator, *(w for w in workers if w is not parent)):
            expect(process.end() == 0 and process.out == "the first branch fails 55\n", "another error")

    def lost_submitter(self):
        """What other workers run for one that was killed is cancelled once another process has its task."""
        workers = [self.worker("cancelling", self.folder) for _ in range(3)]
        self.server.wait_for_workers(3)
        coordinator = self.coordinator("cancelling", self.folder)
        wait_for("the branch on all workers", lambda: len(self.files("begun-")) == 3)
        (parent,) = (w for w in workers if self.files("depth-2-") == {str(w.process.pid)})
        parent.kill()
        parent.end()
        workers.remove(parent)
        others = {str(w.process.pid) for w in workers}
        # One may get a branch that another worker has in the queue.
        workers += [self.worker("cancelling", self.folder) for _ in range(2)]
        wait_for("the end of what was of the killed one", lambda: self.files("cancelled-") >= others)
        make_file(f"{self.folder}/fail")
        for process in (coordinator, *workers):
            expect(process.end() == 0 and process.out == "the first branch fails 55\n", "another error")

    def disowning(self):
        """A worker that fetches a branch after it has given it up does not begin it, even if the coordinator has not heard of that."""
        coordinator = self.coordinator("disowning", self.folder)
        worker = self.worker("disowning", self.folder)
        wait_for("a branch of the worker", lambda: any(name.endswith("/0") and row[:2] == (2, 1) for name, row in self.server.status().items()))
        jobs = next(name for name in self.server.queues() if name.endswith("/0"))
        coordinator.stop()
        make_file(f"{self.folder}/fail")
        # The worker takes this after its own branch, when it has nothing to do.
        expect(self.server.submit(jobs, b"no task") == 14, "no refusal")
        expect(self.files("depth-") == set(), "the branch has begun")
        coordinator.kill(signal.SIGCONT)
        make_file(f"{self.folder}/go")
        for process in (coordinator, worker):
            expect(process.end() == 0 and process.out == "the first branch fails 55\n", "another error")

    def leaving(self):
        """A coordinator that leaves a run by an exception gives its jobs back and says so, before its next run."""
        front = BreakingFront(self.server.port)
        try:
            coordinator = Process(f"gearman://127.0.0.1:{front.port}", self.program, "leaving", self.folder, PILFER_CLUSTER_SILENCE="0")
            wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
            jobs = next(name for name in self.server.queues() if name.endswith("/0"))
            calls = jobs[:-1] + "calls"
            with contextlib.ExitStack() as connections:
                worker, other, waits, asks = [connections.enter_context(Connection(self.server.port)) for _ in range(4)]
                task = worker.fetch(jobs)[1]
                other.submit(jobs, task)
                make_file(f"{self.folder}/fetched")
                wait_for("the task on the coordinator", lambda: os.path.exists(self.begun))
                asks.submit(calls, call(0))
                version = Answer(asks.end_of_job()[1]).version
                waits.submit(calls, call(0, version=version))
                asks.submit(calls, call(0))
                asks.end_of_job()  # so the coordinator has seen what was asked before
                front.say(b"\0RES" + struct.pack(">II", 19, 9) + b"WRONG\0bad")
                wait_for("the exception", lambda: os.path.exists(f"{self.folder}/cancelled"))
                make_file(f"{self.folder}/go")
                expect(Answer(waits.end_of_job()[1]).end.endswith(b"the coordinator has left the run by an exception"), "another end of the run")
                expect(worker.fetch(jobs)[1] == task, "another job has come back")
            make_file(f"{self.folder}/next")
            expect(coordinator.end() == 0, "the next run failed")
            error, _, second = coordinator.out.rpartition(" ")
            expect(error.endswith("refuses a call: bad") and second == "1\n", f"other results: {coordinator.out}")
        finally:
            front.end()

    def next_run(self):
        """A process that asks for the next run gets no news of the last one, while a task that is left over keeps the coordinator there."""
        coordinator = self.coordinator("next_run", self.folder, PILFER_CLUSTER_SILENCE="60")
        wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
        jobs = next(name for name in self.server.queues() if name.endswith("/0"))
        calls = jobs[:-1] + "calls"
        with contextlib.ExitStack() as connections:
            worker, gone, other, late = [connections.enter_context(Connection(self.server.port)) for _ in range(4)]
            handle, task = worker.fetch(jobs)
            gone.submit(jobs, task)  # as a worker that dies later: its task is of no use then
            make_file(f"{self.folder}/fetched")
            wait_for("the task on the coordinator", lambda: os.path.exists(self.begun))
            make_file(f"{self.folder}/fail")
            other.submit(calls, call(0))
            expect(Answer(other.end_of_job()[1]).bounds == [20], "another bound")
            other.submit(calls, call(0, version=1))
            expect(Answer(other.end_of_job()[1]).drops == [name_of(task)], "another drop")
            worker.send(13, handle, message_with(RESULTS, 0, 1))
            expect(other.end_of_run(calls, 0).bounds == [20], "another end of the first run")
            late.submit(calls, call(1))
            other.end_of_run(calls, 0)  # so the coordinator has seen what was asked before
            expect(self.server.submit(jobs, task) == 13, "a copy that came after the end was not dropped")
            make_file(f"{self.folder}/go")
            news = Answer(late.end_of_job()[1])
            expect(news.bounds == [50] and news.drops == [], f"the second run has the bounds {news.bounds} and the drops {news.drops}")
        expect(coordinator.end() == 0 and coordinator.out == "the first branch fails 1 50\n", "another result")

    def late_job(self):
        """A job that a process is given as it leaves a run does no harm to the next run."""
        second = f"{self.folder}/second"
        os.mkdir(second)
        front = LateFront(self.server.port)
        try:
            coordinator = Process(f"gearman://127.0.0.1:{front.port}", self.program, "two_runs", self.folder, PILFER_CLUSTER_SILENCE="0")
            wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
            jobs = next(name for name in self.server.queues() if name.endswith("/0"))
            with Connection(self.server.port) as submitter:
                submitter.submit(jobs, b"as a copy of a task that has ended")
                wait_for("the job", front.holds.is_set)
                make_file(f"{self.folder}/go")
                wait_for("the second run", lambda: os.path.exists(f"{second}/begun") or not coordinator.reader.is_alive())
                # It is not a task either, and comes after the first job.
                submitter.submit(jobs[:-1] + "1", b"x")
                wait_for("a refusal", lambda: select.select([submitter.socket], [], [], 0)[0] or not coordinator.reader.is_alive())
                expect(coordinator.reader.is_alive(), f"the second run has failed: {coordinator.err}")
                expect(submitter.end_of_job()[0] == 14, "no refusal in the second run")
                make_file(f"{second}/go")
                expect(coordinator.end() == 0 and coordinator.out == "1 1\n", "another result")
        finally:
            front.end()

    def journal(self):
        """The parts of all processes are in the file, and another run has nothing to do."""
        worker = self.worker("journal", self.folder)
        self.server.wait_for_workers(1)
        coordinator = self.coordinator("journal", self.folder)
        for process in (coordinator, worker):
            expect(process.end() == 0 and process.out == "19901\n", "another sum")
        expect("\n0 calls" not in "\n" + worker.err, "the worker ran nothing")
        again = self.coordinator("journal", self.folder)
        expect(again.end() == 0 and again.out == "19901\n" and "0 calls" in again.err.split("\n"), "the journal is not whole")

    def late_and_killed(self):
        """A worker comes after the run has begun, and gets the task. It is killed, and another one gets it."""
        coordinator = self.coordinator("hostage", self.folder)
        wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
        first = self.worker("hostage", self.folder)
        wait_for("the task on a late worker", lambda: os.path.exists(self.begun))
        second = self.worker("hostage", self.folder)
        first.kill()
        killed = time.monotonic()
        expect(coordinator.end() == 0 and coordinator.out == "1610\n", "another result")
        print(f"recovered after {time.monotonic() - killed:.2f} s")
        expect(first.end() == -signal.SIGKILL and second.end() == 0, "the workers ended otherwise")
        # Perhaps also its own branches, which it had put into the queue.
        expect("rank 2 took " in second.err and "rank 2 took 0 " not in second.err, "the second worker got nothing")

    def stopped_worker(self):
        """Its connection stays, but it says nothing any longer."""
        patience = {"PILFER_CLUSTER_SILENCE": "3"}
        coordinator = self.coordinator("hostage", self.folder, **patience)
        first = self.worker("hostage", self.folder)
        wait_for("the task", lambda: os.path.exists(self.begun))
        first.kill(signal.SIGSTOP)
        second = self.worker("hostage", self.folder, **patience)
        code = coordinator.end()
        first.kill()
        first.end()
        expect(code == 0 and coordinator.out == "1610\n" and second.end() == 0, "another result")

    def other_program(self):
        coordinator = self.coordinator("hostage", self.folder)
        refused = Process(self.url, self.other, "--pilfer-worker")
        self.must_end(refused, "because it has no task")
        worker = self.worker("hostage", self.folder)
        wait_for("the task", lambda: os.path.exists(self.begun))
        again = self.worker("hostage", self.folder)
        worker.kill()
        expect(coordinator.end() == 0 and "is refused, because it has no task" in coordinator.err, "no refusal")
        worker.end()
        expect(again.end() == 0, "a worker failed")

    def other_build(self):
        """Another build of the same tasks is refused, unless one side says that it may be there."""
        copy = shutil.copy(self.program, f"{self.folder}/copy")
        mixed = {"PILFER_CLUSTER_ANY_BUILD": "1"}
        for here, workers in (({}, ((copy, {}, 0), (self.other, {}, 1), (self.other, mixed, 0))), (mixed, ((self.other, {}, 0),))):
            started = [Process(self.url, program, "--pilfer-worker", **environment) for program, environment, _ in workers]
            self.server.wait_for_workers(len(started))
            coordinator = self.coordinator(**here)
            expect(coordinator.end() == 0 and coordinator.out == "answer 41\n", "another result")
            for process, (_, _, code) in zip(started, workers):
                expect(process.end() == code and process.out == ("" if code else "answer 41\n"), "a worker ended otherwise")
                expect(("because it has another build of the program, " in process.err) == (code == 1), "another reason")
            expect(("is refused, because it has another build" in coordinator.err) == (here == {}), "the coordinator says something else")
        self.must_end(self.coordinator(PILFER_CLUSTER_ANY_BUILD="yes"), 'PILFER_CLUSTER_ANY_BUILD is "yes"')

    def malformed(self):
        """What is no message is refused, and the run goes on."""
        coordinator = self.coordinator("hostage", self.folder)
        wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
        calls = next(name for name in self.server.queues() if name.endswith("/calls"))
        rest = b"\xff" * 100
        for queue in ("pilfer/pilfer/hello", calls):
            for content in (b"", b"x", struct.pack("<I", 6) + rest):
                expect(self.server.submit(queue, content) == 14, f"{content} was not refused by {queue}")
        expect(self.server.submit("pilfer/pilfer/hello", struct.pack("<I", 5) + rest) == 13, "an older version had no answer")
        # News in good order, but of a journal that is not written, of a bound that is not there, and of a run to come.
        for run, kind, number in ((0, PARTS, 0), (0, BOUNDS, 9), (0, DROPS, 0), (7, BOUNDS, 0)):
            news = call(run, message_with(kind, number, 5))
            expect(self.server.submit(calls, news) == 14, f"news {run, kind, number} were not refused")
        expect(self.server.submit(calls, call(0, drops=1)) == 14, "a drop that is not there was not missed")
        expect(self.server.submit(calls, call(0, message_with(BOUNDS, 0, 5))) == 13, "good news were refused")
        worker = self.worker("hostage", self.folder)
        wait_for("the task", lambda: os.path.exists(self.begun))
        again = self.worker("hostage", self.folder)
        expect(self.server.submit(calls.replace("calls", "0"), b"x" * 40) == 14, "no refusal of a task")
        worker.kill()
        expect(coordinator.end() == 0 and coordinator.out == "1610\n", "another result")
        expect("because it has version 5 of pilfer's messages instead of 6" in coordinator.err, "the version is not named")
        worker.end()
        expect(again.end() == 0, "a worker failed")

    def server_dies(self):
        coordinator = self.coordinator("hostage", self.folder)
        worker = self.worker("hostage", self.folder)
        wait_for("the task", lambda: os.path.exists(self.begun))
        self.server.end()
        self.must_end(coordinator, f"the job queue at 127.0.0.1:{self.server.port} has closed the connection")
        self.must_end(worker, "has closed the connection")

    def silent_server(self):
        coordinator = self.coordinator("hostage", self.folder, PILFER_CLUSTER_SILENCE="3")
        wait_for("the run", lambda: any(name.endswith("/0") for name in self.server.queues()))
        self.server.process.send_signal(signal.SIGSTOP)
        self.must_end(coordinator, "the server of the job queue has been silent for ")
        seconds = int(coordinator.err.rpartition(" s\n")[0].rpartition(" ")[2])
        expect(3 <= seconds < 8, f"the end came after {seconds} s, not 3")

    def coordinator_dies(self):
        coordinator = self.coordinator("hostage", self.folder)
        worker = self.worker("hostage", self.folder)
        wait_for("the task", lambda: os.path.exists(self.begun))
        coordinator.kill()
        coordinator.end()
        self.must_end(worker, "the coordinator has ended")

    def next_coordinator(self):
        """It begins while workers of a killed one still run its tasks and wait for its answers."""
        first = self.coordinator("hostage", self.folder)
        worker = self.worker("hostage", self.folder)
        wait_for("the task", lambda: os.path.exists(self.begun))
        calls = next(name for name in self.server.queues() if name.endswith("/calls"))
        alone = Process("", self.program, "exact", "-")
        expect(alone.end() == 0, "one machine failed")
        with Connection(self.server.port) as waits:  # as a worker that does not end
            waits.submit(calls, call(0))
            first.kill()
            first.end()
            second = self.coordinator("exact", "-")
            expect(second.end() == 0 and second.out == alone.out, "another result")
            self.must_end(worker, "the coordinator has ended")
            expect(self.server.jobs().get(calls, 0) != 0 and not select.select([waits.socket], [], [], 0)[0], "a job of a living process has ended")
        third = self.coordinator("exact", "-")
        expect(third.end() == 0 and third.out == alone.out, "another result")
        expect(self.server.names_of_runs() == [], f"the server keeps names of ended runs: {self.server.names_of_runs()}")

    def refused(self):
        """Before anything has begun."""
        self.server.end()
        full = socket.socket()  # no address of this host answers, and the limit holds for all of them together
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        clients = [socket.socket() for _ in range(4)]
        for c in clients:
            c.setblocking(False)
            c.connect_ex(full.getsockname())
        slow = Process(f"gearman://127.0.0.1:{full.getsockname()[1]}", self.other, "-", TEST_ADDRESSES="40")
        self.must_end(self.coordinator("exact", "-"), "cannot be reached")
        self.must_end(self.worker("exact", "-"), "cannot be reached")
        for url, why in (("http://host", "another scheme"), ("gearman://", "no host"), ("gearmans://", "no host"), ("gearmanss://h", "another scheme"), ("gearman://h:0", "no port"),
                         ("gearman://h:99999", "no port"), ("gearman://h:1x", "no port"), ("gearman://h/", "a name has"),
                         ("gearman://h/a b", "a name has"), ("gearman://[::1", "a ] is missing"), ("nats://h", "another scheme")):
            self.must_end(Process(url, self.program, "exact", "-"), why)
        for seconds in ("1", "2", "86401", "3s", "-1", ""):
            self.must_end(self.coordinator("exact", "-", PILFER_CLUSTER_SILENCE=seconds), "0, or a number of seconds from 3 to 86,400")
        self.must_end(Process("", self.program, "exact", "-", "--pilfer-worker"), "PILFER_CLUSTER=gearman://host")
        self.must_end(Process(self.url, self.program, "exact", "-", OMPI_COMM_WORLD_SIZE="2"), "use one of them")
        with socket.socket() as s:  # what accepts, and is no Gearman server
            s.bind(("127.0.0.1", 0))
            s.listen()
            coordinator = Process(f"gearman://127.0.0.1:{s.getsockname()[1]}", self.program, "exact", "-",
                                  PILFER_CLUSTER_SILENCE="60")
            for _ in range(2):
                connection = s.accept()[0]
            connection.sendall(b"\0RESxxxxxxxxxxxxxxxxxxxxx")
            self.must_end(coordinator, "sends what no Gearman server sends")
        self.must_end(slow, "cannot be reached: Connection timed out")

    def misuse(self):
        first = self.coordinator("hostage", self.folder)
        wait_for("a job that no worker takes", lambda: any(name.endswith("/0") and jobs for name, jobs in self.server.jobs().items()))
        self.must_end(self.coordinator("exact", "-"), "a coordinator of the name pilfer is at this job queue already")
        first.kill()
        first.end()
        killed = self.server.names_of_runs()
        expect(len(killed) == 2, "a killed coordinator has left other queues than those of its run and its calls")
        worker = self.worker("other_calls", "-")
        self.server.wait_for_workers(1)
        coordinator = self.coordinator("other_calls", "-")
        self.must_end(worker, "not in the same call")
        expect(coordinator.end() == 0, "the coordinator failed")
        names = self.server.names_of_runs()  # also those of the killed one, with its job
        expect(names == [], f"the server keeps names of ended runs: {names}")


def example(program, expected, folder):
    server = Server(folder)
    url = f"gearman://127.0.0.1:{server.port}"
    workers = [Process(url, program, "--pilfer-worker") for _ in range(2)]
    server.wait_for_workers(2)
    coordinator = Process(url, program)
    with open(expected, encoding="utf-8") as f:
        expect(coordinator.end() == 0 and coordinator.out == f.read(), "another output")
    for w in workers:
        expect(w.end() == 0 and w.out == "", "a worker failed")


def main():
    if GEARMAND is None:
        print("skipped: gearmand is not installed (Debian: gearman-job-server)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        servers = []
        make = Server.__init__

        def remember(self, where):
            servers.append(self)
            make(self, where)

        Server.__init__ = remember
        try:
            if sys.argv[1] == "example":
                example(sys.argv[2], sys.argv[3], folder)
            else:
                getattr(Tests(sys.argv[1], sys.argv[2], folder), sys.argv[3])()
        finally:
            for s in servers:
                s.end()


if __name__ == "__main__":
    main()
