#!/usr/bin/env bash
# run_with_tbb.sh SCRIPT LIBRARY PROGRAM: SCRIPT runs a program on the library, which is beside it, and says
# what is wrong with a bad call.
set -euo pipefail
script=$1 library=$2 program=$3
failed=0

# says TEXT STATUS COMMAND...: it ends with STATUS, and its standard error has TEXT.
says() {
    local text=$1 status=$2 said got=0
    shift 2
    said=$("$@" 2>&1 >/dev/null) || got=$?
    if [[ $got != "$status" || $said != *"$text"* ]]; then
        echo "$*: ended with $got and said: $said"
        failed=1
    fi
}

says "libtbb.so.12 is $(readlink -f "$library")" 0 "$script" --library "$library" "$program" --gtest_filter=tbb_errors.versions
says "libtbb.so.12 is $(readlink -f "$library")" 0 "$script" "$program" --gtest_filter=tbb_errors.versions
says "/nowhere/libtbb.so.12 is not a file" 2 "$script" --library /nowhere/libtbb.so.12 "$program"
says "is not libpilfer-tbb" 2 "$script" --library /bin/true "$program"
says "there is no program /nowhere/program" 2 "$script" --library "$library" /nowhere/program
says "usage:" 2 "$script" --library "$library"
says "--library needs a file" 2 "$script" --library

# The program really has it.
libraries=$(LD_DEBUG=libs "$script" --library "$library" "$program" --gtest_list_tests 2>&1)
if [[ $libraries != *"calling init: $(readlink -f "$library")"* ]]; then
    echo "the loader did not take $library"
    failed=1
fi
exit "$failed"
