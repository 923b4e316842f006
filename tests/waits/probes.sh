#!/usr/bin/env bash
# probes.sh <program> <file with the library>: the notes of the library's probes are there, and gdb sees each of them fire as
# often as the program's counters say. Ends with 77 if a tool is missing or tracing is forbidden.
set -euo pipefail
program=$1 library=$2
probes=(cancel exception park pool_start pool_stop resume steal suspend unpark wake)

if ! command -v readelf >/dev/null; then
    echo "SKIPPED: there is no readelf"
    exit 77
fi
found=$(readelf -nW "$library" | grep -A1 'Provider: pilfer$' | sed -n 's/^ *Name: //p' | LC_ALL=C sort -u | paste -sd ' ')
if [[ $found != "${probes[*]}" ]]; then
    echo "$library has the probes '$found', not '${probes[*]}'"
    exit 1
fi
if ! command -v gdb >/dev/null; then
    echo "SKIPPED: the notes are there, but without gdb no probe fires"
    exit 77
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# probe <name> <format> [argument]...: a breakpoint that prints a line and goes on.
probe() {
    local arguments=("${@:3}")
    printf 'break -probe-stap pilfer:%s\ncommands\nsilent\nprintf "fired %s%s\\n"%s\ncontinue\nend\n' "$1" "$1" "$2" \
        "${arguments[*]/#/, }"
}
{
    printf 'set pagination off\nset confirm off\nset debuginfod enabled off\nset breakpoint pending on\nset print thread-events off\n'
    [[ $library == "$program" ]] || printf 'tbreak -qualified main\nrun\n' # the shared library is there from then on
    probe pool_start ' %d' '$_probe_arg1'
    probe pool_stop ''
    probe park ' %d' '$_probe_arg0'
    probe unpark ' %d' '$_probe_arg0'
    probe wake ' %d %d' '$_probe_arg0' '$_probe_arg1'
    probe steal ' %d from %d: %d' '$_probe_arg0' '$_probe_arg1' '$_probe_arg2'
    probe suspend ' %d %#lx for %s' '$_probe_arg0' '$_probe_arg1' '$_probe_arg2'
    probe resume ' %d %#lx' '$_probe_arg0' '$_probe_arg1'
    probe cancel ''
    probe exception ''
    [[ $library == "$program" ]] && echo run || echo continue
} >"$folder/commands"
gdb -nx -q -batch -x "$folder/commands" "$program" >"$folder/out" 2>&1 || true
if grep -qE 'ptrace: (Operation not permitted|Function not implemented)|Could not trace the inferior' "$folder/out"; then
    echo "SKIPPED: the notes are there, but tracing is not permitted here"
    exit 77
fi

failed=0
# expect <times> <pattern>
expect() {
    local n
    n=$(grep -cE -- "^$2" "$folder/out" || true)
    if [[ $n != "$1" ]]; then
        echo "'$2' stands on $n lines, not on $1"
        failed=1
    fi
}
expect 1 'fired pool_start 2$'
expect 1 'fired pool_stop$'
expect 2 'fired cancel$'
expect 1 'fired exception$'
expect 1 'fired suspend [01] 0x[0-9a-f]+ for an event$'
expect 6 'counted '
while read -r _ name times; do
    expect "$times" "fired $name [01] ?"
done < <(grep '^counted ' "$folder/out")
# The suspended task is resumed, and a worker takes from the other one.
for verb in suspend resume; do
    sed -n "s/^fired $verb [01] \(0x[0-9a-f]*\).*/\1/p" "$folder/out" | LC_ALL=C sort >"$folder/$verb"
done
cmp "$folder/suspend" "$folder/resume" || failed=1
if [[ $(grep -cE '^fired steal (0 from 1|1 from 0): [1-9]' "$folder/out") == 0 ]]; then
    echo "no theft has two workers and a number of tasks"
    failed=1
fi
((failed == 0)) || cat "$folder/out"
exit "$failed"
