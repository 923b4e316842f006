#!/usr/bin/env bash
# amalgamated.sh <source> <work folder> <c compiler> <c++ compiler>...: tests the two files that
# tools/amalgamate.py writes. They build without a warning and run, from C too. A program has the same
# instructions with them as with the headers.
set -euo pipefail
source=$1 work=$2 cc=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
flags=(-std=c++20 -Wall -Wextra -Werror -fstack-clash-protection -pthread)
rm -rf "$work"
mkdir -p "$work"

fail() {
    echo "amalgamated.sh: $*" >&2
    exit 1
}
answers() { # <program>
    [[ $("$1") == "consumed 42 and 55" ]] || fail "$1 does not print its answer"
}
instructions() { # <c++ compiler> [flag]...: of the fast path
    "$@" "${flags[@]}" -O2 -c -o "$work/fast_path.o" "$here/fast_path.cpp"
    objdump -dr --no-show-raw-insn "$work/fast_path.o"
}

python3 "$source/tools/amalgamate.py" "$work/pilfer"
grep -rn -e "$source" -e '#include <pilfer/' "$work/pilfer" && fail "the files need the source folder"

for cxx in "$@"; do
    name=$work/$(basename "$cxx")
    # The library once, at the level that compiles fastest; each program is linked to it.
    "$cxx" "${flags[@]}" -O0 -c -o "$name-pilfer.o" "$work/pilfer/pilfer.cpp"
    "$cxx" "${flags[@]}" -O1 -I "$work" -o "$name-program" "$here/main.cpp" "$here/other.cpp" "$name-pilfer.o"
    answers "$name-program"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$work/pilfer" -c -o "$name-c.o" "$here/amalgamated.c"
    "$cxx" -pthread -o "$name-c-program" "$name-c.o" "$name-pilfer.o"
    answers "$name-c-program"

    instructions "$cxx" -I "$work" >"$name-with-amalgamation"
    instructions "$cxx" -I "$source/include" -DPILFER_STATIC >"$name-with-headers"
    grep -q '<_Z7by_forkl>:' "$name-with-headers" || fail "the disassembly has no by_fork"
    cmp "$name-with-headers" "$name-with-amalgamation" || fail "$cxx makes other instructions of the amalgamation"
done
