# Every option of the build, with its default.

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

# Inside another project the switch is that project's: declaring it here would put it into its cache.
if(PROJECT_IS_TOP_LEVEL)
    option(BUILD_SHARED_LIBS "Build libpilfer as a shared library" OFF)
endif()
option(PILFER_PORTABLE "Switch stacks by ucontext instead of assembly: slow, for other processors" OFF)
option(PILFER_CHECKED "Check the library's invariants at run time: exact counts, states, sums at a pool's end" OFF)
set(PILFER_HWLOC AUTO CACHE STRING "Read the topology by hwloc: AUTO (where it is there), ON or OFF")
set_property(CACHE PILFER_HWLOC PROPERTY STRINGS AUTO ON OFF)
option(PILFER_WERROR "Treat warnings in pilfer's own code as errors" OFF)
option(PILFER_INSTALL "Make the install target" ${PROJECT_IS_TOP_LEVEL})

option(PILFER_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(PILFER_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(PILFER_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(PILFER_SHOWCASE "Build the showcase" ${PROJECT_IS_TOP_LEVEL})
option(PILFER_TOOLS "Build the command line tools" ${PROJECT_IS_TOP_LEVEL})
# The simulator is a part of them: its tests go where they go.
set(PILFER_STUDY ${PILFER_TOOLS})

set(PILFER_SANITIZE none CACHE STRING "none, address (with undefined behaviour) or thread")
set_property(CACHE PILFER_SANITIZE PROPERTY STRINGS none address thread)

option(PILFER_FUZZ "Build the fuzzers, with clang: the library is instrumented for libFuzzer" OFF)
option(PILFER_VALGRIND "Run an example under Valgrind too, where it is installed" OFF)

option(PILFER_TEST_PCH "Compile the tests with precompiled headers: faster, and blind to a missing #include" OFF)

option(PILFER_TEST_LONG "Build what only the tests faults and long_model run" ON)
option(PILFER_TEST_WHOLE "One test for each program of tests instead of one for each case: far fewer processes" OFF)
option(PILFER_TEST_TOGETHER "Compile tests of a room together, up to four files in a program: faster, and fewer programs" OFF)
set(PILFER_BENCH_KERNELS "" CACHE STRING "Kernels of bench/ to build, separated by commas; empty: all of them")
set(PILFER_TEST_ROOMS "" CACHE STRING "Folders of tests/ to build, separated by commas; empty: all of them")
option(PILFER_CHAOS_EVERYWHERE "The disturbances of chaos in the one library that there is, quiet unless switched on" OFF)
set(PILFER_TEST_OPTIMISED "" CACHE STRING "Folders of tests/ that PILFER_TEST_FLAGS do not reach, separated by commas")
set(PILFER_TEST_OPTIMISED_FLAGS "" CACHE STRING "Flags more for those folders, and for the showcase")
set(PILFER_TEST_FLAGS "" CACHE STRING "Flags more for the files of the tests and the command pilfer, not for the library: -O1 or -O0 is faster")
set(PILFER_UNITY OFF CACHE STRING
    "What is compiled together, not file by file: OFF, PROGRAMS (tools, study, showcase), ON (the library's rooms, too)")
set_property(CACHE PILFER_UNITY PROPERTY STRINGS OFF PROGRAMS ON)
if(NOT PILFER_UNITY MATCHES "^(OFF|PROGRAMS|ON)$")
    message(FATAL_ERROR "PILFER_UNITY is '${PILFER_UNITY}', but must be OFF, PROGRAMS or ON")
endif()

set(PILFER_TEST_TIMEOUT 120 CACHE STRING "Seconds one test may take")
