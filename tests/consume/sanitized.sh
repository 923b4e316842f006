#!/usr/bin/env bash
# sanitized.sh <source> <work folder> <c compiler> <c++ compiler>...: programs with a sanitizer use an
# installed pilfer. The CMake package and pkg-config find the variant with their sanitizer. Another variant
# fails to link and names the missing one.
set -euo pipefail
source=$1 work=$2 cc=$3
shift 3
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compilers=(-G Ninja "-DCMAKE_CXX_COMPILER=$1" "-DCMAKE_C_COMPILER=$cc")
rm -rf "$work"
mkdir -p "$work"

fail() {
    echo "sanitized.sh: $*" >&2
    exit 1
}
answers() { # <program>
    local said
    said=$("$1" 2>&1) || fail "$1 ended with $? and said '$said'"
    [[ $said == "consumed 42 and 55" ]] || fail "$1 said '$said'"
}
reports() { # <text> <program>: the program makes mistakes, and its sanitizer finds them
    local said
    said=$("$2" mistake 2>&1) && fail "$2 ended with 0 and said '$said'"
    [[ $said == *"$1"* ]] || fail "$2 does not report '$1' but '$said'"
}
refuses() { # <text> <command>...: the command fails and says the text
    local text=$1 said
    shift
    said=$("$@" 2>&1) && fail "'$*' works"
    [[ $said == *"$text"* ]] || fail "'$*' does not say '$text' but '$said'"
}
compile() { # <package> <c++ compiler> [flag]...: makes $work/program; the library's flags come last
    local arguments
    read -ra arguments < <(pkg-config --cflags --libs "$1")
    "$2" -std=c++20 -O1 -g1 -Wall -Wextra -Werror "${@:3}" -o "$work/program" "$here/sanitized.cpp" "${arguments[@]}"
}
configure() { # <folder> <prefix> [cmake argument]...
    cmake -S "$here/find_package" -B "$1" "${compilers[@]}" "-DCMAKE_PREFIX_PATH=$2" "${@:3}"
}

cmake -S "$source" -B "$work/library" "${compilers[@]}" "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG" -DPILFER_TOOLS=OFF \
    -DPILFER_RACE=OFF -DPILFER_TBB=OFF -DPILFER_CLUSTER=OFF -DPILFER_UNITY=ON -DPILFER_SANITIZED_VARIANTS=ON \
    -DCMAKE_INSTALL_PREFIX="$work/prefix" >"$work/log"
cmake --build "$work/library" -- --quiet
cmake --install "$work/library" >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name pilfer.pc)")
export PKG_CONFIG_PATH

missing=pilfer_v0_needs_libpilfer_built_with
for cxx in "$@"; do
    for way in "address asan heap-use-after-free" "thread tsan data"; do
        read -r sanitizer short report <<<"$way"
        compile "pilfer-$short" "$cxx"
        answers "$work/program"
        reports "${report/#data/data race}" "$work/program"
        refuses "${missing}_fsanitize_${sanitizer}__see_docs_sanitizers" compile pilfer "$cxx" -fsanitize="$sanitizer"
        refuses "${missing}_fsanitize_${sanitizer}__see_docs_sanitizers" compile pilfer "$cxx" -fsanitize="$sanitizer" \
            -ffunction-sections -fdata-sections -Wl,--gc-sections
        # A file without the sanitizer in a program that has it.
        read -ra arguments < <(pkg-config --cflags pilfer)
        "$cxx" -std=c++20 -O1 "${arguments[@]}" -c -o "$work/plain.o" "$here/sanitized.cpp"
        read -ra arguments < <(pkg-config --libs "pilfer-$short")
        refuses "${missing}out_fsanitize__see_docs_sanitizers" "$cxx" -o "$work/program" "$work/plain.o" "${arguments[@]}"
    done
    compile pilfer "$cxx" -fsanitize=undefined
    answers "$work/program"
done

# The CMake package goes by the flags, of the compilers or of the folder, or by PILFER_SANITIZE.
for sanitizer in address thread; do
    configure "$work/user-$sanitizer" "$work/prefix" "-DCMAKE_CXX_FLAGS=-O1 -fsanitize=undefined,$sanitizer" \
        "-DCMAKE_C_FLAGS=-fsanitize=$sanitizer" >"$work/log"
    cmake --build "$work/user-$sanitizer" -- --quiet
    answers "$work/user-$sanitizer/consumer"
    answers "$work/user-$sanitizer/c_consumer"
done
configure "$work/user-said" "$work/prefix" -DPILFER_SANITIZE=address >"$work/log"
cmake --build "$work/user-said" --target consumer -- --quiet
answers "$work/user-said/consumer"
[[ $(nm -a "$work/user-said/consumer") == *__asan_init* ]] || fail "PILFER_SANITIZE=address does not choose the variant"
configure "$work/user-plain" "$work/prefix" -DCMAKE_CXX_FLAGS=-fsanitize=undefined >"$work/log"
cmake --build "$work/user-plain" --target consumer -- --quiet
answers "$work/user-plain/consumer"

# A project that builds pilfer itself builds it with its own flags.
cmake -S "$here/subdirectory" -B "$work/user-source" "${compilers[@]}" "-Dpilfer_source=$source" -DPILFER_UNITY=ON \
    "-DCMAKE_CXX_FLAGS=-O0 -fsanitize=thread" -DCMAKE_C_FLAGS=-fsanitize=thread >"$work/log"
cmake --build "$work/user-source" --target consumer -- --quiet
answers "$work/user-source/consumer"

# An installation without the variants.
find "$work/prefix" -name 'pilfer_thread*.cmake' -delete
refuses "-DPILFER_SANITIZED_VARIANTS=ON" configure "$work/user-without" "$work/prefix" -DCMAKE_CXX_FLAGS=-fsanitize=thread
