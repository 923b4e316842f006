"""gdb commands for programs that use pilfer; also for core files, and without debug information.

    (gdb) source pilfer.py
    (gdb) pilfer pools             every pool
    (gdb) pilfer workers           every worker and its activity
    (gdb) pilfer contexts          every suspended context, and the object that it waits for
    (gdb) pilfer bt 135            the stack of context 135 (of the only pool, or: pilfer bt 2.135)
    (gdb) pilfer bt all            all of them
    (gdb) print results            a future, mutex, scope and so on: its state, and who waits for it

A table in the library, pilfer_v0_layout, has the places of its words. gdb itself unwinds the stacks: an unwinder
makes the registers that a switch saved look like those of the innermost frame's caller. Nothing in the process is
changed.
"""

import re

import gdb
from gdb.unwinder import Unwinder, register_unwinder

FIELDS = (
    "version saved_layout pool_next pool_number pool_workers pool_worker pool_slabs worker_size worker_thread "
    "worker_current worker_seat slab_next slab_number slab_contexts slab_most context_waiting suspension_sp "
    "suspension_home suspension_why suspension_object home_index activation_context context_low build_kind entry_size "
    "pool_core core_size core_submissions core_stacks core_gate core_alarms scheduler_size scheduler_thread "
    "scheduler_count context_size context_waits context_name context_job suspension_size suspension_timed activation_size "
    "slab_size options_size names_first names_changes name_next name_object name_bytes name_text"
).split()

# Where a switch keeps the callee-saved registers, counted from the saved stack pointer, and how long that
# area is: src/context/switch_*.S. The last is ucontext's, as glibc has it on x86-64.
SAVED = {
    1: (
        {"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48, "rip": 56},
        ("rsp", 64),
    ),
    2: (
        dict({"x%d" % (19 + i): 8 * i for i in range(12)}, pc=88),
        ("sp", 176),
    ),
    3: (
        {"r12": 72, "r13": 80, "r14": 88, "r15": 96, "rbp": 120, "rbx": 128, "rsp": 160, "rip": 168},
        None,
    ),
}


def word(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 8).tobytes(), "little")


def half(address):
    return int.from_bytes(gdb.selected_inferior().read_memory(address, 4).tobytes(), "little")


def text(address):
    memory = gdb.selected_inferior()
    result = b""
    while len(result) < 255:
        byte = memory.read_memory(address + len(result), 1).tobytes()
        if byte == b"\0":
            break
        result += byte
    return result.decode("utf-8", "replace")


class Layout:
    def __init__(self):
        try:
            table = int(gdb.parse_and_eval("(unsigned long)&pilfer_v0_layout"))
            self.pools = int(gdb.parse_and_eval("(unsigned long)&pilfer_v0_pools"))
        except gdb.error:
            raise gdb.GdbError("this program has no pilfer in it, or its symbols are not loaded yet")
        for i, name in enumerate(FIELDS):
            setattr(self, name, word(table + 8 * i))
        if self.version != 3:
            raise gdb.GdbError("this script is for another version of pilfer")

    names = (None, [])  # of the last look, and which look that was

    def object_names(self):
        """(address, bytes, address of the text) of every object with a name, the newest first."""
        all_names = int(gdb.parse_and_eval("(unsigned long)&pilfer_v0_object_names"))
        name = word(all_names + self.names_first)
        look = (gdb.selected_inferior().pid, all_names, name, word(all_names + self.names_changes))
        if Layout.names[0] != look:
            found = []
            places = (self.name_object, self.name_bytes, self.name_text, self.name_next)
            while name:
                block = gdb.selected_inferior().read_memory(name, max(places) + 8).tobytes()
                *entry, name = (int.from_bytes(block[at : at + 8], "little") for at in places)
                found.append(entry)
            Layout.names = (look, found)
        return Layout.names[1]

    def name_of(self, address):
        """The name of the smallest object around an address, or None."""
        around = [(size, name) for at, size, name in self.object_names() if at <= address < at + size]
        return text(min(around, key=lambda n: n[0])[1]) if around else None


class Context:
    """A suspended context."""

    def __init__(self, layout, pool, number, suspension, context):
        self.layout, self.pool, self.number, self.at = layout, pool, number, context
        name = word(context + layout.context_name)
        self.name = text(name) if name else None
        self.sp = word(suspension + layout.suspension_sp)
        self.worker = half(word(suspension + layout.suspension_home) + layout.home_index)
        why = word(suspension + layout.suspension_why)
        self.why = text(word(why)) if why else None
        self.object = word(suspension + layout.suspension_object)

    def __str__(self):
        wait = self.why or "its turn"
        if self.object:  # a time has none
            name = self.layout.name_of(self.object)
            wait += " (%s0x%x)" % ('"%s", ' % name if name else "", self.object)
        return "pool %d, context %d, suspended on worker %d, waits for %s" % (
            self.pool,
            self.number,
            self.worker,
            wait,
        )


class Pool:
    def __init__(self, layout, entry):
        self.layout = layout
        self.number = word(entry + layout.pool_number)
        self.core = word(entry + layout.pool_core)
        self.workers = word(entry + layout.pool_workers)
        self.first_worker = word(entry + layout.pool_worker)
        self.slabs = word(entry + layout.pool_slabs)

    def contexts(self):
        """The suspended contexts, as far as their stacks are in memory."""
        found = []
        for context, number in self.stacks():
            if self.is_missing(context):
                continue
            waiting = word(context + self.layout.context_waiting)
            if waiting:
                found.append(Context(self.layout, self.number, number, waiting, context))
        return sorted(found, key=lambda c: c.number)

    def stacks(self):
        """(context, number) of every stack, also of those in no use."""
        slab = word(self.slabs)
        while slab:
            base = half(slab + self.layout.slab_number) * self.layout.slab_most
            for i in range(self.layout.slab_most):
                context = word(slab + self.layout.slab_contexts + 8 * i)
                if context:
                    yield context, base + i
            slab = word(slab + self.layout.slab_next)

    def is_missing(self, context):
        """True if a core file lacks this stack, at the top of which is its record. gdb may then read zeros."""
        try:
            return word(context + self.layout.context_low) == 0
        except gdb.MemoryError:
            return True

    def suspended(self):
        """The number of suspended contexts, as a text."""
        missing = sum(self.is_missing(context) for context, _ in self.stacks())
        n = "%d suspended contexts" % len(self.contexts())
        if missing == 0:
            return n
        lack = "%d stacks are not in this core file" % missing
        return "%s, and %s" % (n, lack) if missing < len(list(self.stacks())) else lack

    def worker_lines(self):
        for i in range(self.workers):
            entry = self.first_worker + i * self.layout.worker_size
            thread = word(word(entry + self.layout.worker_thread))
            running = word(word(entry + self.layout.worker_current))
            # On its word, or in the wait for descriptors.
            asleep = half(word(entry + self.layout.worker_seat)) in (1, 3)
            if running:
                context = word(running + self.layout.activation_context)
                state = "runs a task, its context is at 0x%x" % context
            else:
                state = "asleep" if asleep else "looks for work"
            yield "pool %d, worker %d (LWP %d): %s" % (self.number, i, thread, state)


def pools():
    layout = Layout()
    found = []
    entry = word(layout.pools)
    while entry:
        found.append(Pool(layout, entry))
        entry = word(entry + layout.pool_next)
    return sorted(found, key=lambda p: p.number)


class Suspended(Unwinder):
    """Makes the saved registers of `target` the caller's of the innermost frame; at rest while it is None."""

    def __init__(self):
        super().__init__("pilfer-suspended")
        self.target = None
        self.innermost = None

    def registers(self):
        saved, after = SAVED[self.target.layout.saved_layout]
        values = {name: word(self.target.sp + offset) for name, offset in saved.items()}
        if after is not None:
            values[after[0]] = self.target.sp + after[1]
        return values

    def __call__(self, pending):
        if self.target is None:
            return None
        arm = self.target.layout.saved_layout == 2
        pc = int(pending.read_register("pc" if arm else "rip"))
        sp = int(pending.read_register("sp" if arm else "rsp"))
        if (pc, sp) != self.innermost:
            return None
        # A frame's stack address must be lower than that of its caller, or gdb takes the stack for corrupt.
        frame = type("Id", (), {"sp": gdb.Value(self.target.sp), "pc": gdb.Value(pc)})()
        info = pending.create_unwind_info(frame)
        kind = gdb.lookup_type("unsigned long")
        for name, value in self.registers().items():
            info.add_saved_register(name, gdb.Value(value).cast(kind))
        return info


unwinder = Suspended()
register_unwinder(None, unwinder, replace=True)


def print_stack(context):
    print(context)
    gdb.invalidate_cached_frames()
    innermost = gdb.newest_frame()
    unwinder.innermost = (
        int(innermost.read_register("pc")),
        int(innermost.read_register("sp")),
    )
    unwinder.target = context
    try:
        gdb.invalidate_cached_frames()
        frame = gdb.newest_frame().older()
        level = 0
        while frame is not None and frame.is_valid():
            print("  #%-2d %s" % (level, describe(frame)))
            frame = frame.older()
            level += 1
    finally:
        unwinder.target = None
        gdb.invalidate_cached_frames()


def describe(frame):
    line = "0x%x in %s" % (frame.pc(), frame.name() or "??")
    place = frame.find_sal()
    if place.symtab is not None:
        line += " at %s:%d" % (place.symtab.filename, place.line)
    return line


class Pilfer(gdb.Command):
    """Pools, workers and suspended contexts of pilfer."""

    def __init__(self):
        super().__init__("pilfer", gdb.COMMAND_STATUS, prefix=True)


class Pools(gdb.Command):
    """pilfer pools: every pool."""

    def __init__(self):
        super().__init__("pilfer pools", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for p in pools():
            print("pool %d: %d workers, %s" % (p.number, p.workers, p.suspended()))


class Workers(gdb.Command):
    """pilfer workers: every worker and its activity."""

    def __init__(self):
        super().__init__("pilfer workers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for p in pools():
            for line in p.worker_lines():
                print(line)


class Contexts(gdb.Command):
    """pilfer contexts: every suspended context, and the object that it waits for."""

    def __init__(self):
        super().__init__("pilfer contexts", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        for p in pools():
            for c in p.contexts():
                print(c)
            if "core file" in p.suspended():
                print("pool %d: %s" % (p.number, p.suspended()))


class Backtrace(gdb.Command):
    """pilfer bt N | POOL.N | all: the stacks of suspended contexts."""

    def __init__(self):
        super().__init__("pilfer bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        pool, _, number = argument.strip().rpartition(".")
        chosen = [
            c
            for p in pools()
            for c in p.contexts()
            if number == "all" or (str(c.number) == number and pool in ("", str(c.pool)))
        ]
        if not chosen:
            lost = ["pool %d: %s\n" % (p.number, p.suspended()) for p in pools() if "core file" in p.suspended()]
            raise gdb.GdbError("".join(lost) + "no such suspended context; see pilfer contexts. Usage: pilfer bt N | POOL.N | all")
        for c in chosen:
            print_stack(c)


# Printers of public types. They need debug information of the program, and run no code in it.


def scalar(value):
    """What a std::atomic or another class of one word holds, as an integer."""
    while value.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        value = value[next(f for f in value.type.strip_typedefs().fields() if hasattr(f, "bitpos"))]
    return int(value)


def waiting_for(address, size):
    """The contexts that wait for an object there, or for a part of it."""
    found = [c for p in pools() for c in p.contexts() if c.why and address <= c.object < address + size]
    several = len({p.number for p in pools()}) > 1
    names = [
        "context %s%d%s" % ("%d." % c.pool if several else "", c.number, ' "%s"' % c.name if c.name else "")
        for c in found[:8]
    ]
    if not found:
        return "no context waits"
    more = ", and %d more" % (len(found) - 8) if len(found) > 8 else ""
    return "%d wait%s: %s%s" % (len(found), "s" if len(found) == 1 else "", ", ".join(names), more)


def holder(owner):
    """The task or thread with that word of a mutex. An activation is on the stack of its context."""
    for p in pools():
        for context, number in p.stacks():
            if not p.is_missing(context) and word(context + p.layout.context_low) <= owner < context + p.layout.context_size:
                return "context %d of pool %d" % (number, p.number)
    return "a thread (0x%x)" % owner


def mutex_state(value):
    if not scalar(value["m_core"]["m_word"]) & 1:
        return "free"
    owner = scalar(value["m_owner"])
    return "held by " + holder(owner) if owner else "held"


def shared_mutex_state(value):
    readers = scalar(value["m_readers"])
    if readers:
        return "shared by %d" % readers
    if not scalar(value["m_writer"]):
        return "free"
    owner = scalar(value["m_owner"])  # a task
    return "held alone by " + holder(owner) if owner else "held alone"


def future_state(value):
    core = value["m_state"]
    if int(core) == 0:
        return "empty", 0, 0
    # The program's debug information has no members of future_core, so the library has a table.
    table = int(gdb.parse_and_eval("(unsigned long)&pilfer_v0_future_layout"))
    life, runner_at, size = (word(table + 8 * i) for i in range(3))
    stage = ("pending", "queued", "running", "done")[half(int(core) + life) % 4]
    runner = word(int(core) + runner_at) if stage == "running" else 0
    return stage + (" on " + holder(runner) if runner else ""), int(core), size


def describe_future(value):
    state, at, size = future_state(value)
    return state if at == 0 else "%s; %s" % (state, waiting_for(at, size))


def describe_scope(value):
    core = value[value.type.strip_typedefs().fields()[0]]
    left = scalar(core["m_children"]["m_count"])
    waits = left >= 1 << 47
    left = left - (1 << 48) if waits else left + scalar(core["m_children"]["m_pending"])
    return "%d unfinished children; %s" % (left, waiting_for(int(value.address), value.type.sizeof))


def describe_channel(value):
    state = value["m_core"]["m_protocol"]
    return "%d of %d values%s; %s" % (
        scalar(state["m_count"]),
        scalar(state["m_capacity"]),
        ", closed" if scalar(state["m_closed"]) else "",
        waiting_for(int(value.address), value.type.sizeof),
    )


def describe_pool(value):
    # Its only member. clang describes a class where its constructors are compiled, and these are in the library.
    core = word(int(value.address))
    for p in pools():
        if p.core == core:
            states = [line.rpartition(": ")[2].partition(",")[0] for line in p.worker_lines()]
            return "pool %d: %d workers (%s); %s" % (
                p.number,
                p.workers,
                ", ".join("%d %s" % (states.count(s), s) for s in sorted(set(states))),
                p.suspended(),
            )
    return "a pool that has ended or is being made"


def describe_graph(value):
    core = value["m_core"]
    return "%s; %s" % (
        "running" if scalar(core["m_running"]) else "at rest",
        waiting_for(int(value.address), value.type.sizeof),
    )


def describe_task(value):
    owner = value[value.type.strip_typedefs().fields()[0]]
    frame = int(owner["m_handle"]["_M_fr_ptr"])
    if frame == 0:
        return "empty"
    code = word(frame)  # the first word of a frame is where it goes on
    block = gdb.block_for_pc(code) if code else None
    while block is not None and block.function is None:
        block = block.superblock
    name = block.function.print_name if block is not None else "0x%x" % code
    return "not started or suspended in %s" % name


def describe_synchronized(value):
    lock = value["m_lock"]["m_lock"]
    name = (lock.type.strip_typedefs().name or "").rpartition("::")[2]
    if name == "mutex":
        return "%s; %s" % (mutex_state(lock), waited_for(value))
    state = shared_mutex_state(lock)
    inside = scalar(value["m_lock"]["m_inside"])  # of several readers at most one
    if inside and state.startswith("shared"):
        state += ", among them %s" % holder(inside)
    return "%s; %s" % (state, waited_for(value))


def waited_for(value):
    return waiting_for(int(value.address), value.type.sizeof)


DESCRIBED = {
    "future": describe_future,
    "promise": describe_future,
    "mutex": lambda v: "%s; %s" % (mutex_state(v), waited_for(v)),
    "monitor": lambda v: "%s; %s" % (mutex_state(v["m_core"]["m_lock"]["m_lock"]), waited_for(v)),
    "synchronized": describe_synchronized,
    "shared_mutex": lambda v: "%s; %s" % (shared_mutex_state(v), waited_for(v)),
    "condition_variable": waited_for,
    "event": lambda v: "%s; %s" % ("set" if scalar(v["m_set"]) else "not set", waited_for(v)),
    "latch": lambda v: "%d to count down; %s" % (scalar(v["m_left"]), waited_for(v)),
    "barrier": lambda v: "%d of %d to arrive; %s"
    % (scalar(v["m_core"]["m_left"]), scalar(v["m_core"]["m_expected"]), waited_for(v)),
    "counting_semaphore": lambda v: "%d left; %s" % (scalar(v["m_core"]["m_count"]), waited_for(v)),
    "channel": describe_channel,
    "scope": describe_scope,
    "pool": describe_pool,
    "graph": describe_graph,
    "task": describe_task,
}


class Printer:
    def __init__(self, name, value):
        self.name, self.value = name, value

    def to_string(self):
        try:
            called = Layout().name_of(int(self.value.address)) if self.value.address is not None else None
            return "pilfer::%s (%s%s)" % (self.name, '"%s"; ' % called if called else "", DESCRIBED[self.name](self.value))
        except (gdb.error, gdb.GdbError, KeyError, TypeError, StopIteration) as problem:
            return "pilfer::%s (cannot be read: %s)" % (self.name, problem)


class PrinterWithValue(Printer):
    """Of an object that holds one of the program's."""

    def children(self):
        yield "value", self.value["m_value"]


def printer(value):
    kind = re.match(r"^pilfer::(?:v0::)?(\w+)(?:<.*>)?$", value.type.strip_typedefs().unqualified().name or "")
    if not kind or kind.group(1) not in DESCRIBED:
        return None
    return (PrinterWithValue if kind.group(1) in ("monitor", "synchronized") else Printer)(kind.group(1), value)


gdb.pretty_printers[:] = [p for p in gdb.pretty_printers if getattr(p, "__name__", "") != "pilfer_printer"]
printer.__name__ = "pilfer_printer"
gdb.pretty_printers.append(printer)

Pilfer()
Pools()
Workers()
Contexts()
Backtrace()
