#!/usr/bin/env bash
# consume.sh static|shared|subdirectory|fetch_content <source> <work folder> <c++ compiler> <c compiler>
# Uses the library as a foreign project does. Ends with 0 if every way works and links the library that it names.
set -euo pipefail
way=$1 source=$2 work=$3 cxx=$4 cc=$5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compilers=(-G Ninja "-DCMAKE_CXX_COMPILER=$cxx" "-DCMAKE_C_COMPILER=$cc")
flags=(-std=c++20 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)
rm -rf "$work"
mkdir -p "$work"

fail() {
    echo "consume.sh: $*" >&2
    exit 1
}

# run_consumer <program>: it must print the answer.
run_consumer() {
    local answer
    answer=$("$1") || fail "$1 ended with $?"
    [[ $answer == "consumed 42 and 55" ]] || fail "$1 printed '$answer'"
    echo "$1: $answer"
}

build() { # <source> <folder> [cmake argument]...
    local from=$1 to=$2
    shift 2
    cmake -S "$from" -B "$to" "${compilers[@]}" "$@" >"$to.log" 2>&1 || { cat "$to.log"; fail "configuring $from"; }
    cmake --build "$to" -- --quiet
}

# fails_with <text> <program> <argument>: it must end by SIGABRT and say the text.
fails_with() {
    local code=0 said
    said=$("$2" "$3" 2>&1) || code=$?
    [[ $code == 134 && $said == *"$1"* ]] || fail "$2 $3 ended with $code and said '$said'"
}

# has_probes <source> <folder> [cmake argument]...: is the consumer compiled with -fstack-clash-protection?
has_probes() {
    local from=$1 to=$2
    shift 2
    cmake -S "$from" -B "$to" "${compilers[@]}" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >"$to.log" 2>&1 ||
        { cat "$to.log"; fail "configuring $from"; }
    grep -q -e '-fstack-clash-protection.*/consume/main\.cpp' "$to/compile_commands.json"
}

if [[ $way == subdirectory || $way == fetch_content ]]; then
    has_probes "$here/$way" "$work/with" "-Dpilfer_source=$source" || fail "users are compiled without probes"
    has_probes "$here/$way" "$work/without" "-Dpilfer_source=$source" -DPILFER_STACK_CLASH_PROTECTION=OFF &&
        fail "PILFER_STACK_CLASH_PROTECTION=OFF does not reach users"
    if [[ $way == fetch_content ]]; then
        # The project that docs/installing.md shows, with a clone in the folder beside it.
        mkdir "$work/app"
        ln -s "$source" "$work/pilfer"
        sed -n '/^```cmake$/,/^```$/{/^```/!p}' "$source/docs/installing.md" >"$work/app/CMakeLists.txt"
        printf '#include "%s"\n' "$here/main.cpp" "$here/other.cpp" >"$work/app/app.cpp"
        build "$work/app" "$work/app/build" -DPILFER_UNITY=ON
        run_consumer "$work/app/build/app"
    else
        build "$here/$way" "$work/user" "-Dpilfer_source=$source" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
            -DPILFER_UNITY=ON
        run_consumer "$work/user/consumer"
    fi
    exit 0
fi

shared=OFF
[[ $way == shared ]] && shared=ON
# One of them with the optional libraries, none with the command, which deb.sh installs. -O0: other tests cover optimised code.
parts=(-DPILFER_RACE=ON)
[[ $way == shared ]] || parts=(-DPILFER_RACE=OFF -DPILFER_TBB=OFF -DPILFER_CLUSTER=OFF)
build "$source" "$work/library" "-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG" -DBUILD_SHARED_LIBS=$shared -DPILFER_TOOLS=OFF \
    "${parts[@]}" -DPILFER_UNITY=ON -DCMAKE_INSTALL_PREFIX="$work/first"
cmake --install "$work/library" >/dev/null
# An installed tree may be moved, so it must not contain the path of its first place.
mv "$work/first" "$work/prefix"
if grep -rIl -e "$work/first" -e "$work/library" -e "$source/" "$work/prefix"; then
    fail "installed files name the build's folders"
fi

build "$here/find_package" "$work/user" "-DCMAKE_PREFIX_PATH=$work/prefix" -DCMAKE_BUILD_TYPE=Release
run_consumer "$work/user/consumer"
run_consumer "$work/user/c_consumer"

# finds_race <program>: it must end with 66 and name the line.
finds_race() {
    local code=0 said
    said=$("$1" 2>&1) || code=$?
    [[ $code == 66 && $said == *"races.cpp:"*"is parallel to an earlier write of 4 bytes"* ]] ||
        fail "$1 ended with $code and said '$said'"
}
[[ $way == static ]] || finds_race "$work/user/races"

has_probes "$here/find_package" "$work/with" "-DCMAKE_PREFIX_PATH=$work/prefix" || fail "users are compiled without probes"
has_probes "$here/find_package" "$work/without" "-DCMAKE_PREFIX_PATH=$work/prefix" \
    -Dpilfer_consumer_without_probes=ON &&
    fail "PILFER_NO_STACK_CLASH_PROTECTION does not turn the probes off"

PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name pilfer.pc)")
export PKG_CONFIG_PATH
libdir=$(pkg-config --variable=libdir pilfer)
read -ra arguments < <(pkg-config --cflags --libs pilfer)
"$cxx" "${flags[@]}" -O2 -o "$work/pkg-consumer" "$here/main.cpp" "$here/other.cpp" "${arguments[@]}" \
    "-Wl,-rpath,$libdir"
run_consumer "$work/pkg-consumer"
# Users without exceptions and type information: one compiler with the static library, the other with the
# shared one. clang also looks into templates that are never instantiated.
compiler=$cxx
if [[ $way == shared ]] && command -v clang++-19 >/dev/null; then
    compiler=clang++-19
fi
program="$work/no-exceptions-$(basename "$compiler")"
"$compiler" "${flags[@]}" -O2 -fno-exceptions -fno-rtti -o "$program" "$here/no_exceptions.cpp" "${arguments[@]}" \
    "-Wl,-rpath,$libdir"
run_consumer "$program"
fails_with "pilfer: the pool is shut down" "$program" closed
fails_with "pilfer: the pool is shut down" "$program" in-task
fails_with "options.workers must be from 1 to 4096" "$program" option
fails_with "without exceptions cannot go on: pilfer: this future refers to no task" "$program" empty
fails_with "without exceptions cannot go on: a task was stopped" "$program" stopped
[[ $(pkg-config --define-variable=stack_clash_protection= --cflags pilfer) != *stack-clash* ]] ||
    fail "the flag of pilfer.pc cannot be left out"
"$cxx" "${flags[@]}" -O2 -o "$work/large-frame" "$here/large_frame.cpp" "${arguments[@]}" "-Wl,-rpath,$libdir"
fails_with "a task overflowed its stack of 262144 bytes" "$work/large-frame" ""
# Objects have one layout, whatever macros the program has.
sizes() { # [flag]...
    "$cxx" -std=c++20 "$@" "${arguments[@]}" -x c++ -S -o - - <<<'#include <pilfer/pilfer.hpp>
        using namespace pilfer;
        char of_graph[sizeof(graph)], of_team[sizeof(loop_team)], of_options[sizeof(options)], of_scope[sizeof(scope)],
            of_channel[sizeof(channel<int>)], of_mutex[sizeof(mutex)], of_local[sizeof(worker_local<int>)], of_pool[sizeof(pool)],
            of_future[sizeof(future<int>)], of_counters[sizeof(counters)], of_barrier[sizeof(barrier<>)];' | grep '\.size.of_'
}
[[ $way == shared || $(sizes) == "$(sizes -D_GLIBCXX_DEBUG -fshort-enums)" ]] || fail "_GLIBCXX_DEBUG changes the size of an object"
# A program with more rights than its user writes no file that the environment names.
if [[ $(id -u) == 0 ]] && command -v setpriv >/dev/null && [[ $(findmnt -no OPTIONS -T "$work") != *nosuid* ]]; then
    mkdir -m 777 "$work/secure"
    PILFER_TRACE=$work/secure/plain setpriv --reuid 65534 --clear-groups "$work/pkg-consumer" >/dev/null || true
    cp "$work/pkg-consumer" "$work/secure/consumer"
    chown 65534 "$work/secure/consumer"
    chmod 4755 "$work/secure/consumer"
    PILFER_TRACE=$work/secure/setuid run_consumer "$work/secure/consumer"
    [[ ! -e $work/secure/setuid ]] || fail "a setuid program writes the file of PILFER_TRACE"
    [[ -e $work/secure/plain ]] || echo "a user cannot write below $work: this check shows nothing" >&2
fi
read -ra arguments < <(pkg-config --cflags --libs pilfer-threadpool)
"$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$work/pkg-c-consumer" "$here/main.c" "${arguments[@]}" \
    "-Wl,-rpath,$libdir"
run_consumer "$work/pkg-c-consumer"
[[ $(pkg-config --modversion pilfer) == "$(sed -n 's/^project(pilfer VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")" ]] ||
    fail "pilfer.pc has another version than the project"

# The library for races, by pkg-config, and what is said if a flag is forgotten or too many.
if [[ $way == shared ]]; then
    read -ra arguments < <(pkg-config --cflags pilfer-race)
    read -ra libraries < <(pkg-config --libs pilfer-race)
    "$cxx" -std=c++20 -O1 -g "${arguments[@]}" -c -o "$work/races.o" "$here/races.cpp"
    "$cxx" -o "$work/races" "$work/races.o" "${libraries[@]}"
    finds_race "$work/races"
    said=$("$cxx" -std=c++20 "${arguments[@]/-fsanitize=thread/}" -fsyntax-only "$here/races.cpp" 2>&1) &&
        fail "a program for pilfer::race is compiled without -fsanitize=thread"
    [[ $said == *"compile a program for pilfer::race with -fsanitize=thread"* ]] || fail "without the flag: '$said'"
    "$cxx" -fsanitize=thread -o "$work/races-too-much" "$work/races.o" "${libraries[@]}"
    code=0
    said=$("$work/races-too-much" 2>&1) || code=$?
    [[ $code == 70 && $said == *"link this program without -fsanitize=thread"* ]] || fail "linked with the flag: $code, '$said'"
else
    [[ ! -e $work/prefix/lib/libpilfer_race.a && ! -e $libdir/pkgconfig/pilfer-race.pc ]] || fail "PILFER_RACE=OFF leaves something"
fi

# Several machines, by pkg-config, from C++ and C; where MPI was found.
if [[ $way == static ]]; then
    [[ ! -e $work/prefix/include/pilfer/cluster.hpp && ! -e $libdir/pkgconfig/pilfer-cluster.pc ]] || fail "PILFER_CLUSTER=OFF leaves something"
elif [[ -e $libdir/libpilfer_cluster.a ]]; then
    read -ra arguments < <(pkg-config --cflags --libs pilfer-cluster)
    "$cxx" "${flags[@]}" -o "$work/pkg-cluster" "$here/cluster.cpp" "${arguments[@]}" "-Wl,-rpath,$libdir"
    run_consumer "$work/pkg-cluster"
    "$cc" -std=c11 -Wall -Wextra -Wpedantic -Werror -o "$work/pkg-c-cluster" "$here/cluster.c" "${arguments[@]}" "-Wl,-rpath,$libdir"
    run_consumer "$work/pkg-c-cluster"
fi

# Checks that each program has the requested kind of library.
for program in "$work"/user/{consumer,c_consumer} "$work"/pkg-{consumer,c-consumer}; do
    needed=$(readelf -d "$program" | grep -c 'NEEDED.*libpilfer' || true)
    [[ $way == static && $needed == 0 || $way == shared && $needed == 1 ]] || fail "$program is not linked $way"
done
if [[ $way == shared ]]; then
    readelf -d "$libdir/libpilfer.so" | grep -q 'FLAGS_1.*NODELETE' || fail "libpilfer.so could be unloaded"
    readelf -d "$libdir/libpilfer.so" | grep -q 'SONAME.*libpilfer\.so\.[0-9]' || fail "libpilfer.so has no version"
    # Hidden visibility: the library exports only pilfer's own names, and those that the standard library
    # forces.
    others=$(nm -DC --defined-only "$libdir/libpilfer.so" | awk '{ $1 = ""; $2 = ""; print }' |
        grep -vE '^ *(vtable for |typeinfo for |typeinfo name for |VTT for |guard variable for )?((void|bool|auto|unsigned char) )?(pilfer|std|__gnu_cxx|operator)\b|^ *pilfer_' || true)
    [[ -z $others ]] || fail "libpilfer.so exports names that are not its own: $others"
fi
