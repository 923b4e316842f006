#!/usr/bin/env bash
# ranks.sh <seconds> <exit: 0 or other> <text, may be empty> <command>...: the command ends in this time, with 0 or with another
# code, and prints the text. It runs in a folder of its own, because another build or run of the test may run beside it.
set -uo pipefail
seconds=$1 wanted=$2 text=$3
shift 3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
# Root inside a container may run these; elsewhere the variables mean nothing.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
begin=$SECONDS
output=$(timeout -k 5 "$seconds" "$@" 2>&1 </dev/null)
code=$?
printf '%s\n' "$output"
echo "ended with $code after $((SECONDS - begin)) s"
if ((code == 124 || code == 137 && SECONDS - begin >= seconds)); then
    echo "FAILED: took more than $seconds s"
    exit 1
fi
if [[ $wanted == 0 ]]; then
    ((code == 0)) || exit 1
else
    ((code != 0)) || exit 1
fi
if [[ $output != *"$text"* ]]; then
    echo "FAILED: the text '$text' is missing"
    exit 1
fi
