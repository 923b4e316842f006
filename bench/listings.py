#!/usr/bin/env python3
"""Writes the listings of docs/fast-path.md: the instructions of a join and a spawn that nobody steals.

bench/listings.py [--compilers g++,clang++-19]: callgrind counts each instruction of the programs of bench/instructions.py. A
listing has those that run in at least a quarter of the calls (half of the calls are leaves, which fork nothing), in the order of their
addresses, which count from the function's beginning. Names of members come from clang's layouts of the types.
"""
import argparse
import pathlib
import re
import tempfile

import instructions

PAGE = instructions.ROOT / "docs/fast-path.md"
# Section -> the recursion, and the function in its text.
SECTIONS = {
    "join": ("join", r"by_join\(long\)"),
    "spawn: the caller": ("spawn", r"by_spawn\(long\)"),
    "spawn: the child's frame": ("spawn", r"pilfer::v0::detail::spawned<by_spawn\(long\)::.*>::main\(.*\)"),
}
N = 16
MEANINGS = {
    r"stmxcsr": "rounding mode",
    r"call\s+\*%": "the child, on its own stack",
}
MEMBERS = {
    "worker": {"m_bottom": "bottom", "m_guard": "guard", "m_slots": "slots", "m_mask": "mask", "m_signal": "signal word",
               "current": "current", "free_contexts": "free contexts", "exceptions": "exception state"},
    "activation": {"node": "node"},
}


def members(layouts, type_name):
    """Offset -> name of each member of a type, from what clang says of the layouts of all types."""
    text = re.search(rf" 0 \| struct pilfer::detail::{type_name}\n(.*?)\| \[sizeof", layouts, re.S)[1]
    found = {}
    for offset, name in re.findall(r"^ *(\d+) \|.* (\w+)$", text, re.M):
        if name in MEMBERS[type_name]:
            found.setdefault(int(offset), MEMBERS[type_name][name])
    missing = set(MEMBERS[type_name].values()) - set(found.values())
    if missing:
        raise SystemExit(f"listings.py: {type_name} has no {', '.join(sorted(missing))}")
    return found


def executed(program, how, out):
    """Address -> how often the instruction there ran."""
    instructions.run("valgrind", "--tool=callgrind", "--dump-instr=yes", "--compress-pos=no", f"--callgrind-out-file={out}",
                     program, how, N)
    counts = {}
    inclusive = False
    for line in out.read_text().splitlines():
        if line.startswith("calls="):
            inclusive = True
        elif line.startswith("0x"):
            if not inclusive:
                address, _, cost = line.split()
                counts[int(address, 16)] = counts.get(int(address, 16), 0) + int(cost)
            inclusive = False
    return counts


def comment(text, holds, fields):
    """What an instruction reads or writes. `holds` says which registers point to a worker or an activation."""
    for pattern, meaning in MEANINGS.items():
        if re.match(pattern, text):
            return meaning
    if "%fs:" in text:
        meaning, result = "this_worker()", "worker"
    else:
        meaning, result = "", None
        operand = re.search(r"(-?0x[0-9a-f]+)?\((%\w+)\)", text)
        if operand and operand[2] in holds and not text.startswith("lea"):
            meaning = fields[holds[operand[2]]].get(int(operand[1] or "0", 16), "")
            if meaning == "current":
                result = "activation"
    target = re.search(r",(%r\w+)$", text)
    copied = re.match(r"mov\s+(%r\w+),(%r\w+)$", text)
    if copied:
        result = holds.get(copied[1])
    if target and not text.startswith(("cmp", "test")):
        holds.pop(target[1], None)
        if result:
            holds[target[1]] = result
    return meaning


def listing(program, function, counts, fields):
    lines = instructions.run("objdump", "-d", "-C", "--no-show-raw-insn", program).splitlines()
    start = next(i for i, line in enumerate(lines) if re.fullmatch(r"[0-9a-f]+ <" + function + ">:", line))
    begin = int(lines[start].split()[0], 16)
    result, holds, shown = [], {}, []
    for line in lines[start + 1:]:
        found = re.match(r"\s*([0-9a-f]+):\t(.*)", line)
        if not found:
            break
        address, text = int(found[1], 16), re.sub(r"\s+# .*", "", found[2]).strip()
        shown.append((address, text))
    calls = max(counts.get(address, 0) for address, _ in shown)
    fast = {address for address, _ in shown if counts.get(address, 0) * 4 >= calls}
    for address, text in shown:
        if address not in fast:
            continue
        jump = re.match(r"(j\w+|call)\s+([0-9a-f]+) <(.*)>$", text)
        if jump:
            target = int(jump[2], 16)
            where = f"{target - begin:x}" if target in fast else "cold"
            if jump[1] == "call":
                where = re.sub(r"\(.*", "", jump[3]).replace("pilfer::v0::detail::", "")
            text = f"{jump[1]} {where}"
        text = re.sub(r"\s+", " ", text)
        note = comment(text, holds, fields)
        result.append(f"{address - begin:4x}: {text:<44}; {note}" if note else f"{address - begin:4x}: {text}")
    return "\n".join(result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compilers", default="g++,clang++-19")
    compilers = parser.parse_args().compilers.split(",")
    page = PAGE.read_text()
    with tempfile.TemporaryDirectory() as top:
        for compiler in compilers:
            folder = pathlib.Path(top) / compiler
            folder.mkdir()
            program = instructions.build(instructions.ROOT, compiler, folder, "-no-pie")
            layouts = instructions.run("clang++-19", "-std=c++20", "-I", folder / "amalgamation", "-fsyntax-only", "-Xclang",
                                       "-fdump-record-layouts", folder / "join.cpp")
            fields = {name: members(layouts, name) for name in MEMBERS}
            version = instructions.run(compiler, "-dumpversion").split(".")[0].strip()
            for section, (how, function) in SECTIONS.items():
                counts = executed(program, how, folder / "callgrind.out")
                title, _, part = section.partition(":")
                name = "clang" if "clang" in compiler else "g++"
                heading = f"## {title}, {name} {version} -O2{':' + part if part else ''}"
                text = listing(program, function, counts, fields)
                page, changed = re.subn("(?s)" + re.escape(heading) + r"\n\n```asm\n.*?\n```",
                                        lambda _: f"{heading}\n\n```asm\n{text}\n```", page)
                if changed != 1:
                    raise SystemExit(f"listings.py: {PAGE} has no section '{heading}'")
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
