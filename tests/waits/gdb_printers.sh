#!/usr/bin/env bash
# gdb_printers.sh <program> <script>: gdb prints the objects of printed.cpp with their states and waiters. Ends with
# 77 if gdb is missing or tracing is forbidden.
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
frame function main
END
for member in pool held free_one gate table shared_table written read shared alone full unset three two none promised later done empty idle_graph no_task; do
    printf 'echo %s:\\n\noutput s.%s\necho \\n\n' "$member" "$member" >>"$folder/commands"
done
printf 'echo children:\\n\noutput *s.children\necho \\n\n' >>"$folder/commands"
gdb -nx -q -batch -x "$folder/commands" "$program" >"$folder/said" 2>&1 || true
if grep -qE 'ptrace: (Operation not permitted|Function not implemented)|Could not trace the inferior' "$folder/said"; then
    echo "SKIPPED: tracing is not permitted here"
    exit 77
fi
failed=0
# expect <member> <pattern>: of the line after the member's name
expect() {
    if ! grep -A1 -E "^$1:\$" "$folder/said" | grep -qE -- "^(@0x[0-9a-f]+: )?pilfer::$2\$"; then
        echo "$1 is not printed as: pilfer::$2"
        failed=1
    fi
}
expect pool 'pool \(pool 1: 2 workers \(.*\); 7 suspended contexts\)'
expect held 'mutex \("accounts"; held by context [0-9]+ of pool 1; 1 waits: context [0-9]+ "suitor"\)'
expect free_one 'mutex \(free; no context waits\)'
expect gate 'monitor \(free; 1 waits: context [0-9]+ "guest"\) = \{value = 0\}'
expect table 'synchronized \(held by context [0-9]+ of pool 1; no context waits\) = \{value = 5\}'
expect shared_table 'synchronized \(free; no context waits\) = \{value = 6\}'
expect written 'synchronized \(held alone by context [0-9]+ of pool 1; no context waits\) = \{value = 7\}'
expect read 'synchronized \(shared by 1, among them context [0-9]+ of pool 1; no context waits\) = \{value = 8\}'
expect shared 'shared_mutex \(shared by 1; no context waits\)'
expect alone 'shared_mutex \(held alone by context [0-9]+ of pool 1; no context waits\)'
expect full 'channel \(1 of 1 values; 1 waits: context [0-9]+ "sender"\)'
expect unset 'event \(not set; 2 wait: context [0-9]+.*, context .*\)'
expect three 'latch \(3 to count down; no context waits\)'
expect two 'barrier \(2 of 2 to arrive; no context waits\)'
expect none 'counting_semaphore \(0 left; no context waits\)'
expect promised 'promise \(pending; 1 waits: context [0-9]+ "reader"\)'
expect later 'future \(pending; 1 waits: context [0-9]+ "reader"\)'
expect done 'future \(done; no context waits\)'
expect empty 'future \(empty\)'
expect idle_graph 'graph \(at rest; no context waits\)'
expect children 'scope \(1 unfinished children; 1 waits: context [0-9]+ "keeper"\)'
expect no_task 'task \(empty\)'
if ((failed)); then
    cat "$folder/said"
fi
exit "$failed"
