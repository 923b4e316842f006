#!/usr/bin/env bash
# Arguments: two builds, both without a build ID, and perhaps build 1 and a library at fixed addresses.
# Programs of the same tasks have the same name only if they are the same build.
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
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }
[[ $(id_of "$1") == "$("$1" names)" ]] || fail "it is not the build ID"
[[ $(PILFER_CLUSTER_ANY_BUILD=1 "$1" names) == "" ]] || fail "a program that works with any build has a name"

if (($# > 4)); then
    fixed=$5 library=$6
    # The loader moves none of them, so that nothing but their headers keeps them apart.
    [[ $("$fixed" names "$library") == "$(id_of "$fixed")"$'\n'"$(id_of "$library")" ]] || fail "a library has another name"
    strip -R .note.gnu.build-id -o "$folder/fixed" "$fixed" # leaves the header of the note, with the address 0
    name=$("$folder/fixed" names)
    [[ $name =~ ^[0-9a-f-]{16,}$ && $name != "$(id_of "$fixed")" ]] || fail "a program whose build ID was removed has no name"
fi
