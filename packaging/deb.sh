#!/usr/bin/env bash
# packaging/deb.sh [folder [cmake argument]...]: builds the Debian packages into the folder, by default build/deb.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-$source/build/deb}
# /usr/lib without a triplet would keep two architectures from being installed side by side.
cmake -S "$source" -B "$folder" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON -DPILFER_TOOLS=ON \
    -DPILFER_PACKAGE=ON -DPILFER_UNITY=ON -DCMAKE_INSTALL_PREFIX=/usr \
    "-DCMAKE_INSTALL_LIBDIR=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" "${@:2}" >/dev/null
cmake --build "$folder" -- --quiet
rm -f "$folder"/*.deb
(cd "$folder" && cpack -G DEB >cpack.log 2>&1) || { cat "$folder/cpack.log"; exit 1; }
ls "$folder"/*.deb
