#!/usr/bin/env bash
# gdb.sh <program> <script>: the gdb script shows the three contexts of three_waits.cpp by function names, in
# the living process and in a core file. Ends with 77 if gdb is missing or tracing is forbidden.
set -euo pipefail
program=$(realpath "$1") script=$(realpath "$2")
if ! command -v gdb >/dev/null; then
    echo "SKIPPED: there is no gdb"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat >"$folder/commands" <<END
set pagination off
set confirm off
set debuginfod enabled off
source $script
run
generate-core-file $folder/without
python
import struct
# The core file without its stacks, as gdb makes one on Linux 6.13 and later.
with open("$folder/without", "r+b") as core:
    head = core.read(64)
    first, size, count = struct.unpack_from("<Q", head, 32)[0], *struct.unpack_from("<HH", head, 54)
    stacks = [context for p in pools() for context, _ in p.stacks()]
    for i in range(count):
        core.seek(first + i * size)
        part = core.read(size)
        kind, low, length = struct.unpack_from("<I", part)[0], *struct.unpack_from("<Q16xQ", part, 16)
        if kind == 1 and any(low <= context < low + length for context in stacks):
            core.seek(first + i * size + 32)
            core.write(b"\\0" * 8)
end
pilfer pools
pilfer workers
pilfer contexts
pilfer bt all
pilfer bt 1.4294967295
END
failed=0
gdb -nx -q -batch -x "$folder/commands" "$program" >"$folder/live" 2>&1 ||
    true # the last command of the file is an error
if grep -qE 'ptrace: (Operation not permitted|Function not implemented)|Could not trace the inferior' "$folder/live"; then
    echo "SKIPPED: tracing is not permitted here"
    exit 77
fi

# expect <file> <pattern> <times>
expect() {
    local n
    n=$(grep -cE -- "$2" "$folder/$1" || true)
    if [[ $n != "$3" ]]; then
        echo "$1: '$2' stands on $n lines, not on $3"
        failed=1
    fi
}
stacks() {
    expect "$1" '^pool 1, context [0-9]+, suspended on worker [0-2], waits for a future \(0x[0-9a-f]+\)$' "$2"
    for name in first_waits second_waits third_waits; do
        expect "$1" "^  #[0-9]+ +0x[0-9a-f]+ in $name" 1
    done
    expect "$1" "^  #[01] +0x[0-9a-f]+ in .*suspend_here" 3
    expect "$1" "^  #[0-3] +0x[0-9a-f]+ in \\?\\?" 0
    # Each stack ends at the entry of its context.
    expect "$1" "^  #[0-9]+ +0x[0-9a-f]+ in .*context_main" 3
}
expect live '^pool 1: 3 workers, 3 suspended contexts$' 1
expect live '^pool 1, worker [0-2] \(LWP [0-9]+\): asleep$' 3
expect live 'no such suspended context' 1
stacks live 6

# A core file of the kernel, if it goes to the working folder. (gdb's own lose the memory after a guard area.)
if [[ $(cat /proc/sys/kernel/core_pattern) =~ ^[A-Za-z0-9_.%-]+$ ]] && ulimit -c unlimited 2>/dev/null; then
    cat >"$folder/more" <<END
set pagination off
set debuginfod enabled off
source $script
pilfer bt all
END
    (cd "$folder" && "$program" >/dev/null 2>&1) || true
    core=$(find "$folder" -name '*core*' | head -n 1)
    gdb -nx -q -batch -x "$folder/more" "$program" "${core:-$folder/none}" >"$folder/dead" 2>&1 || true
    stacks dead 3
else
    echo "No core file was looked at: core_pattern is not a file's name, or their size is limited."
fi
cat >"$folder/bare" <<END
set pagination off
set debuginfod enabled off
source $script
pilfer pools
pilfer contexts
pilfer bt all
END
gdb -nx -q -batch -x "$folder/bare" "$program" "$folder/without" >"$folder/lost" 2>&1 || true
expect lost '^pool 1: 3 workers, [0-9]+ stacks are not in this core file$' 1
expect lost '^pool 1: [0-9]+ stacks are not in this core file$' 2
expect lost 'suspended contexts' 0
if ((failed)); then
    cat "$folder"/live "$folder"/lost "$folder"/dead
fi
exit "$failed"
