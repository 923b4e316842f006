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
    bench_note(${kernel} ${runtime})
endfunction()
