#!/usr/bin/env bash
# deb.sh <source> <work folder> <c++ compiler>: the Debian packages are built, checked by lintian, unpacked into an empty root and
# used there.
set -euo pipefail
source=$1 work=$2 cxx=$3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
rm -rf "$work"
mkdir -p "$work/root"

fail() {
    echo "deb.sh: $*" >&2
    exit 1
}

# -O0: other tests cover optimised code.
"$source/packaging/deb.sh" "$work/deb" "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG" "-DCMAKE_CXX_COMPILER=$cxx"
lintian --fail-on error --suppress-tags dir-or-file-in-opt,bogus-mail-host,bogus-mail-host-in-debian-changelog "$work"/deb/*.deb || fail "lintian has found errors"
packages=(libpilfer0.1 libpilfer-dev pilfer-tools)
! grep -q 'libpilfer_cluster\.a' "$work/deb/build.ninja" || packages+=(libpilfer-cluster-dev) # where MPI was found
for package in "${packages[@]}"; do
    file=$(ls "$work"/deb/"${package}"_*.deb)
    [[ $(dpkg-deb -f "$file" Package) == "$package" ]] || fail "$file is another package"
    dpkg-deb -x "$file" "$work/root"
done
[[ $(dpkg-deb -f "$work"/deb/libpilfer-dev_*.deb Depends) == *"libpilfer0.1 (="* ]] || fail "libpilfer-dev does not need libpilfer0.1"

case $(sed -n 's/^PILFER_SDT_COMPILES:INTERNAL=//p' "$work/deb/CMakeCache.txt") in
1) probes="It has probes" ;;
*) probes="It was built without probes" ;;
esac
for package in libpilfer0.1 pilfer-tools; do
    [[ $(dpkg-deb -f "$work"/deb/"${package}"_*.deb Description) == *"$probes"* ]] || fail "$package does not say: $probes"
done

tools=$(dpkg-deb -f "$work"/deb/pilfer-tools_*.deb Depends Description)
case $(sed -n 's/^PILFER_LIBDW_LINKS:INTERNAL=//p' "$work/deb/CMakeCache.txt") in
1) [[ $tools == *"libdw1 ("*"can show the stacks"* ]] || fail "pilfer-tools does not need libdw1: $tools" ;;
*) [[ $tools != *libdw1* && $tools == *"without libdw"* ]] || fail "pilfer-tools does not say that it has no stacks: $tools" ;;
esac

libdir=$work/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
export LD_LIBRARY_PATH=$libdir
command=$work/root/usr/bin/pilfer
[[ $("$command" --version) == "pilfer $(sed -n 's/^project(pilfer VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")" ]] ||
    fail "the command of pilfer-tools has another version than the project"
"$command" info | grep -q '^workers: ' || fail "pilfer info does not say how many workers"
"$command" selftest --for 1s --quiet --watchdog 60 || fail "pilfer selftest fails"
share=$work/root/usr/share
[[ -s $(ls "$share"/man/man1/pilfer.1*) && -s $share/bash-completion/completions/pilfer && -s $share/pilfer/gdb/pilfer.py ]] ||
    fail "man page, completion or gdb script is missing"

run_consumer() {
    [[ $("$1") == "consumed 42 and 55" ]] || fail "$1 printed something else"
}
cmake -S "$here/find_package" -B "$work/user" -G Ninja "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_PREFIX_PATH=$work/root/usr" >"$work/user.log" ||
    { cat "$work/user.log"; fail "find_package"; }
cmake --build "$work/user" -- --quiet
run_consumer "$work/user/consumer"
export PKG_CONFIG_PATH=$libdir/pkgconfig PKG_CONFIG_SYSROOT_DIR=
read -ra arguments < <(pkg-config --cflags --libs pilfer)
"$cxx" -std=c++20 -o "$work/pkg-consumer" "$here/main.cpp" "$here/other.cpp" "${arguments[@]}"
run_consumer "$work/pkg-consumer"
if [[ -e $libdir/pkgconfig/pilfer-cluster.pc ]]; then
    [[ $(dpkg-deb -f "$work"/deb/libpilfer-dev_*.deb Depends) != *mpi* ]] || fail "libpilfer-dev needs MPI"
    [[ $(dpkg-deb -f "$work"/deb/libpilfer-cluster-dev_*.deb Depends) == *"libpilfer-dev (="*"mpi"* ]] || fail "libpilfer-cluster-dev does not need MPI"
    read -ra arguments < <(pkg-config --cflags --libs pilfer-cluster)
    "$cxx" -std=c++20 -o "$work/pkg-cluster" "$here/cluster.cpp" "${arguments[@]}"
    run_consumer "$work/pkg-cluster"
fi
CXX=$cxx meson setup "$work/meson" "$here/meson" >"$work/meson.log" || { cat "$work/meson.log"; fail "meson setup"; }
meson compile -C "$work/meson" >"$work/meson.log" || { cat "$work/meson.log"; fail "meson compile"; }
run_consumer "$work/meson/consumer"
