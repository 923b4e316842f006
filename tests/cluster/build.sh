#!/usr/bin/env bash
# build.sh <build 1> <build 2> <both without a build ID>: programs of the same tasks have the same name only if they are the same build.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
    echo "FAILED: $*"
    exit 1
}
for pair in "$1 $2" "$3 $4"; do
    read -r first second <<<"$pair"
    name=$("$first" names)
    other=$("$second" names)
    echo "$name $other"
    [[ $name =~ ^[0-9a-f-]{16,}$ ]] || fail "$first has no name"
    [[ $other =~ ^[0-9a-f-]{16,}$ && $other != "$name" ]] || fail "two builds have one name"
    cp "$first" "$folder/copy"
    [[ $("$folder/copy" names) == "$name" ]] || fail "a copy has another name"
done
strip -o "$folder/stripped" "$1"
[[ $("$folder/stripped" names) == "$("$1" names)" ]] || fail "a stripped copy has another name"
readelf -n "$1" | grep -q "Build ID: $("$1" names)" || fail "it is not the build ID"
[[ $(PILFER_CLUSTER_ANY_BUILD=1 "$1" names) == "" ]] || fail "a program that works with any build has a name"
