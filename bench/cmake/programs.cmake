# Programs that the compiler of this build makes.

# Sets <sources> and <definitions> for one kernel on one runtime: the runtime's own source if the kernel has one,
# else common/program.cpp with both headers named.
function(bench_sources kernel runtime_file sources definitions)
    # The classic deque is the join program with another option.
    string(REPLACE pilfer_classic pilfer_join source_name ${runtime_file})
    set(own "${CMAKE_CURRENT_SOURCE_DIR}/kernels/${kernel}/${source_name}.cpp")
    set(defined "")
    if(EXISTS "${own}")
        set(${sources} "${own}" PARENT_SCOPE)
        if(NOT source_name STREQUAL runtime_file)
            set(defined BENCH_CLASSIC_DEQUE)
        endif()
    else()
        set(${sources} "${CMAKE_CURRENT_SOURCE_DIR}/common/program.cpp" PARENT_SCOPE)
        set(defined "BENCH_RUNTIME_HEADER=\"common/runtimes/${runtime_file}.hpp\""
                    "BENCH_KERNEL_HEADER=\"kernels/${kernel}/kernel.hpp\"")
    endif()
    set(${definitions} "${defined}" PARENT_SCOPE)
endfunction()

# Notes a finished program for the tests.
function(bench_note kernel runtime)
    set_property(GLOBAL APPEND PROPERTY bench_programs "${kernel}-${runtime}")
endfunction()

# The same headers before the programs of a runtime: two thirds of the time go into what they include. Unless
# PILFER_TEST_PCH says otherwise, one kernel and the runtimes without a library are left out: they show that the header
# of each runtime and of each kernel includes what it needs.
function(bench_precompile target kernel link flags)
    if(NOT PILFER_TEST_PCH AND (NOT link OR kernel STREQUAL "dispatch"))
        return()
    endif()
    string(MAKE_C_IDENTIFIER "bench_pch_${link}${flags}" pch)
    if(NOT TARGET ${pch})
        file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${pch}.cpp" "")
        add_library(${pch} OBJECT "${CMAKE_CURRENT_BINARY_DIR}/${pch}.cpp")
        target_compile_options(${pch} PRIVATE ${bench_warnings} ${flags})
        target_link_libraries(${pch} PRIVATE bench_report ${link})
        set_target_properties(${pch} PROPERTIES CXX_EXTENSIONS OFF)
        set(headers <common/program.hpp> <functional> <memory> <vector>)
        if(link STREQUAL "pilfer::pilfer")
            list(APPEND headers <pilfer/pilfer.hpp>)
        elseif(link STREQUAL "TBB::tbb")
            list(APPEND headers <oneapi/tbb/parallel_for.h> <oneapi/tbb/task_group.h>)
        endif()
        target_precompile_headers(${pch} PRIVATE ${headers})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

# bench_program(kernel runtime runtime_file [LINK libraries...] [FLAGS flags for compiling and linking...])
function(bench_program kernel runtime runtime_file)
    cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "LINK;FLAGS")
    bench_sources(${kernel} ${runtime_file} sources definitions)
    set(target bench-${kernel}-${runtime})
    add_executable(${target} ${sources})
    target_compile_definitions(${target} PRIVATE ${definitions})
    target_compile_options(${target} PRIVATE ${bench_warnings} ${arg_FLAGS})
    target_link_options(${target} PRIVATE ${arg_FLAGS})
    target_link_libraries(${target} PRIVATE bench_report ${arg_LINK})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${bench_output}" CXX_EXTENSIONS OFF)
    if(definitions MATCHES "BENCH_KERNEL_HEADER")
        bench_precompile(${target} ${kernel} "${arg_LINK}" "${arg_FLAGS}")
    endif()
    bench_note(${kernel} ${runtime})
endfunction()

# bench_alone(name SOURCES sources... [LINK libraries...] [TEST arguments...]): bench-<name>, a program that has all it
# compares. With TEST, a short run is the test bench.<name>.
function(bench_alone name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK;TEST")
    set(target bench-${name})
    add_executable(${target} ${arg_SOURCES})
    target_include_directories(${target} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
    target_compile_options(${target} PRIVATE ${bench_warnings})
    target_link_libraries(${target} PRIVATE pilfer::pilfer ${arg_LINK})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${bench_output}" CXX_EXTENSIONS OFF)
    if(arg_TEST AND BUILD_TESTING)
        add_test(NAME bench.${name} COMMAND ${target} ${arg_TEST})
        set_tests_properties(bench.${name} PROPERTIES LABELS bench TIMEOUT 60)
    endif()
endfunction()

# The headers of another runtime for bench-<name>, if find_path() has found the folder; the definition says so.
function(bench_headers_of_others name definition folder)
    if(folder)
        target_include_directories(bench-${name} SYSTEM PRIVATE "${folder}")
        target_compile_definitions(bench-${name} PRIVATE ${definition})
    endif()
endfunction()
