"""gdb commands for programs that use pilfer; also for core files, and without debug information.

    (gdb) source pilfer.py
    (gdb) pilfer pools             every pool
    (gdb) pilfer workers           every worker and its activity
    (gdb) pilfer contexts          every suspended context, and the object that it waits for
    (gdb) pilfer bt 135            the stack of context 135 (of the only pool, or: pilfer bt 2.135)
    (gdb) pilfer bt all            all of them

A table in the library, pilfer_v0_layout, has the places of its words. gdb itself unwinds the stacks: an unwinder
makes the registers that a switch saved look like those of the innermost frame's caller. Nothing in the process is
changed.
"""

import gdb
from gdb.unwinder import Unwinder, register_unwinder

FIELDS = (
    "version saved_layout pool_next pool_number pool_workers pool_worker pool_slabs worker_size worker_thread "
    "worker_current worker_seat slab_next slab_number slab_contexts slab_most context_waiting suspension_sp "
    "suspension_home suspension_why suspension_object home_index activation_context context_low"
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
    while len(result) < 200:
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
        if self.version != 1:
            raise gdb.GdbError("this script is for another version of pilfer")


class Context:
    """A suspended context."""

    def __init__(self, layout, pool, number, suspension):
        self.layout, self.pool, self.number = layout, pool, number
        self.sp = word(suspension + layout.suspension_sp)
        self.worker = half(word(suspension + layout.suspension_home) + layout.home_index)
        why = word(suspension + layout.suspension_why)
        self.why = text(word(why)) if why else None
        self.object = word(suspension + layout.suspension_object)

    def __str__(self):
        wait = "%s (0x%x)" % (self.why, self.object) if self.why else "its turn"
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
        self.workers = word(entry + layout.pool_workers)
        self.first_worker = word(entry + layout.pool_worker)
        self.slabs = word(entry + layout.pool_slabs)

    def contexts(self):
        """The suspended contexts."""
        found = []
        slab = word(self.slabs)
        while slab:
            base = half(slab + self.layout.slab_number) * self.layout.slab_most
            for i in range(self.layout.slab_most):
                context = word(slab + self.layout.slab_contexts + 8 * i)
                waiting = word(context + self.layout.context_waiting) if context else 0
                if waiting:
                    found.append(Context(self.layout, self.number, base + i, waiting))
            slab = word(slab + self.layout.slab_next)
        return sorted(found, key=lambda c: c.number)

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
            print("pool %d: %d workers, %d suspended contexts" % (p.number, p.workers, len(p.contexts())))


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
            raise gdb.GdbError("no such suspended context; see pilfer contexts. Usage: pilfer bt N | POOL.N | all")
        for c in chosen:
            print_stack(c)


Pilfer()
Pools()
Workers()
Contexts()
Backtrace()
