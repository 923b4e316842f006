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
says "there is no program /nowhere/program" 127 "$script" --library "$library" /nowhere/program
says "there is no program no-such-program" 127 "$script" --library "$library" no-such-program
says "there is no option --fast" 2 "$script" --library "$library" --fast
for option in --help -h; do
    [[ $("$script" "$option") == "usage: pilfer-run-with-tbb "* ]] || { echo "$option prints no usage" && failed=1; }
done
says "usage:" 2 "$script" --library "$library"
says "--library needs a file" 2 "$script" --library

# Two pools are said. These programs only look as if they had pilfer.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\n# pilfer: internal error\n' >"$folder/static"
printf '#!/bin/sh\n# libpilfer.so\n' >"$folder/shared"
chmod +x "$folder/static" "$folder/shared"
echo >"$folder/text"
says "$folder/text cannot be executed" 126 "$script" --library "$library" "$folder/text"
says "$folder cannot be executed" 126 "$script" --library "$library" "$folder"

# A program without oneTBB is said, and one with it is not.
says "/bin/true does not need libtbb.so.12" 0 "$script" --library "$library" /bin/true
if "$script" --library "$library" "$program" --gtest_list_tests 2>&1 | grep "does not need"; then
    echo "the program needs it"
    failed=1
fi
says "static has a static libpilfer, so pilfer and oneTBB have a pool each" 0 "$script" --library "$library" "$folder/static"
if grep -qa "pilfer: internal error" "$library"; then
    says "$(readlink -f "$library") has a static libpilfer, so pilfer" 0 "$script" --library "$library" "$folder/shared"
elif "$script" --library "$library" "$folder/shared" 2>&1 | grep "a pool each"; then
    echo "a pool each was said of one"
    failed=1
fi

# The pool of the library, which does not end before the program, writes its files.
for variable in PILFER_TRACE PILFER_PROFILE; do
    env PILFER_WORKERS=2 "$variable=$folder/$variable" "$script" --library "$library" "$program" \
        --gtest_filter=tbb_loops.parallel_for_calls_each_index_once >/dev/null 2>&1 || failed=1
    if [[ ! -s $folder/$variable ]]; then
        echo "$variable has written nothing"
        failed=1
    fi
done

# The program really has it.
libraries=$(LD_DEBUG=libs "$script" --library "$library" "$program" --gtest_list_tests 2>&1)
if [[ $libraries != *"calling init: $(readlink -f "$library")"* ]]; then
    echo "the loader did not take $library"
    failed=1
fi
exit "$failed"
