# Functions that the scripts share. Source it; it changes to the project's top folder.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export DEBIAN_FRONTEND=noninteractive

# Valgrind is here for its header: what ./run compiles without it stays without it in the folder that ./test uses.
packages_run=(g++ cmake ninja-build pkg-config libtbb-dev libssl-dev libcli11-dev nlohmann-json3-dev libfmt-dev
    libhwloc-dev valgrind)
packages_cluster=(g++ cmake ninja-build pkg-config libhwloc-dev libopenmpi-dev openmpi-bin libssl-dev)
packages_gcc=("${packages_run[@]}" libgtest-dev libgmock-dev catch2 libbenchmark-dev libeigen3-dev
    libasio-dev libopenmpi-dev openmpi-bin gearman-job-server python3 gdb patch systemtap-sdt-dev libdw-dev)
packages_abi=("${packages_run[@]}" abigail-tools xz-utils)
# Without the recommended packages doxygen draws no graphs, which the reference has none of.
packages_docs=(python3 mkdocs mkdocs-material doxygen)
packages_test=("${packages_gcc[@]}" clang-19 llvm-19 libclang-rt-19-dev libomp-19-dev clang-format clang-tidy spin
    lintian meson dpkg-dev "${packages_abi[@]}" "${packages_docs[@]}")
# The compiler only recommends its C library.
packages_aarch64=(g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)

# missing_packages <package>...: prints those that are not installed, one per line.
missing_packages() {
    local package
    for package in "$@"; do
        [[ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || echo "$package"
    done
}

# as_root <command>...: runs it as root, or returns 1 if that is impossible without a password.
as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        sudo -n env DEBIAN_FRONTEND=noninteractive "$@"
    else
        return 1
    fi
}

# need_packages <package>...: installs what is missing. Ends the script with the list of what is missing where
# nothing can be installed here; returns 1 where apt-get itself failed.
need_packages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "This is not a Debian system (no apt-get), so nothing can be installed. Needed are what Debian calls:" >&2
        printf '  %s\n' "$@" >&2
        exit 1
    fi
    local missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    if ! as_root true; then
        echo "Missing packages, and neither root nor sudo without a password to install them:" >&2
        printf '  %s\n' "${missing[@]}" >&2
        echo "As root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    # An update that fails in part is no reason to stop: the lists at hand may be enough.
    as_root apt-get -qq update </dev/null || true
    echo "Installing ${missing[*]}"
    # The amount, as apt-get itself says it, without installing anything.
    as_root env LC_ALL=C apt-get --assume-no --no-install-recommends install "${missing[@]}" </dev/null 2>/dev/null |
        grep -E '^Need to get |^After this operation' || true
    if ! as_root apt-get -qq -y --no-install-recommends install "${missing[@]}" </dev/null; then
        echo "apt-get could not install: ${missing[*]}" >&2
        return 1
    fi
}

# failed_tests <build folder>: each test that ctest's last run there counts as failed, with the end of what it printed.
# A log may be cut, so this says all of it once more, at most twenty tests long.
failed_tests() {
    local folder=$1/Testing/Temporary name names
    mapfile -t names < <(cut -d : -f 2- "$folder/LastTestsFailed.log" 2>/dev/null)
    for name in "${names[@]:0:20}"; do
        echo "---- $name"
        # The lines between this test's opening line and the next one's, without GoogleTest's cases that passed.
        # Other bytes than text are possible.
        LC_ALL=C awk -v name="$name" '
            function flush(   i) { for (i = 1; i <= kept; ++i) print lines[i]; kept = 0; running = 0 }
            /^[0-9]+\/[0-9]+ Testing: / { flush(); inside = substr($0, index($0, ": ") + 2) == name; next }
            /^-+$/ || /^Directory: / || /^Output:$/ || /^".*" (start|end) time: / { next }
            !inside || !NF { next }
            /^\[ RUN      \]/ { running = 1 }
            /^\[       OK \]/ { kept = 0; running = 0; next }
            /^\[  FAILED  \]/ && running { lines[++kept] = substr($0, 1, 300); flush(); next }
            running { lines[++kept] = substr($0, 1, 300); next }
            /^\[----------\]/ { next }
            { print substr($0, 1, 300) }
            END { flush() }' "$folder/LastTest.log" 2>/dev/null | tail -n 40
    done
    ((${#names[@]} <= 20)) || printf -- '---- %s\n' "${names[@]:20}"
}

# leg <preset> [ctest argument]...: configures, builds and tests one preset in build/<preset>. PILFER_CMAKE_ARGS adds to
# the configuration, PILFER_BUILD is another place than build, for what must not stay in the usual caches.
# shellcheck disable=SC2086 # PILFER_CMAKE_ARGS may be several arguments
leg() {
    local preset=$1 folder=${PILFER_BUILD:-build}/$1
    shift
    # `|| return`, because a caller's `leg ... || ...` switches `set -e` off in here.
    echo "== $preset: build"
    cmake --preset "$preset" -B "$folder" -DPILFER_TEST_TOGETHER=ON ${PILFER_CMAKE_ARGS:-} >/dev/null || return
    cmake --build "$folder" -j "$(nproc)" -- --quiet || return
    tested "$preset" "$@"
}

# tested <preset> [ctest argument]...: tests what is built in build/<preset>.
tested() {
    local preset=$1 folder=${PILFER_BUILD:-build}/$1
    shift
    echo "== $preset: test"
    rm -f "$folder/Testing/Temporary/LastTestsFailed.log"
    # More than CPUs: tests also wait.
    if ! ctest --test-dir "$folder" --output-on-failure --no-tests=error -j $(($(nproc) * 3 / 2)) "$@"; then
        echo "== $preset: failed"
        failed_tests "$folder"
        return 1
    fi
    # ctest counts what it started, which may be a program of many cases.
    echo "$(grep -ac '^\[ RUN  ' "$folder/Testing/Temporary/LastTest.log") cases"
}

# only_rooms <room>...: the configuration of a leg that takes these folders of tests/ alone. The long form
# (PILFER_TEST_SCALE) takes everything, also where the folder remembers the short one.
only_rooms() {
    if [[ -z ${PILFER_TEST_SCALE:-} ]]; then
        echo "-DPILFER_TEST_ROOMS=$(IFS=, && echo "$*")"
    else
        echo "-DPILFER_TEST_ROOMS="
    fi
}

# rooms_but <room>...: all the others, a new one among them.
rooms_but() {
    local room rooms=()
    for room in tests/*/; do
        room=$(basename "$room")
        [[ $room == support || " $* " == *" $room "* ]] || rooms+=("$room")
    done
    only_rooms "${rooms[@]}"
}

# no_examples: for legs that show nothing by them; the long form has them.
no_examples() {
    [[ -n ${PILFER_TEST_SCALE:-} ]] && echo "-DPILFER_EXAMPLES=ON" || echo "-DPILFER_EXAMPLES=OFF"
}

# only_some_optimised [flag]: the configuration of the optimised legs. The tests of these rooms rest on what is inlined into
# them; they are compiled with the flag.
only_some_optimised() {
    echo "-DPILFER_TEST_FLAGS=-O0" "-DPILFER_TEST_OPTIMISED_FLAGS=${1:-}" \
        "-DPILFER_TEST_OPTIMISED=context,deque,future,idle,join,parallel,scope,sync,worker"
}

# release_leg [ctest argument]...: in the folder of the g++ leg, which others use as that has left it: with the library's rooms
# together.
release_leg() {
    PILFER_CMAKE_ARGS="${PILFER_CMAKE_ARGS:-} -DPILFER_UNITY=ON" whole_leg release "$@"
}

# whole_leg <preset> [ctest argument]...: all cases of a program run in one process, one after the other (programs that
# count threads keep a process for each case: tests/CMakeLists.txt). Some 4,000 processes take as long as what they test, under a
# sanitizer or an emulator longer. ci/long starts them.
whole_leg() {
    PILFER_CMAKE_ARGS="-DPILFER_TEST_WHOLE=ON ${PILFER_CMAKE_ARGS:-}" leg "$@"
}
