# OpenMP twice: libgomp needs g++, libomp needs clang++. The runtime of the build's own compiler is an ordinary
# target; a g++ build makes libomp's programs with clang++ beside them, where it is installed.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(kernel IN LISTS bench_kernels)
        bench_program(${kernel} libgomp openmp FLAGS -fopenmp)
    endforeach()
    foreach(schedule IN ITEMS dynamic guided)
        bench_program(flat_loop libgomp_${schedule} openmp_${schedule} FLAGS -fopenmp)
    endforeach()
    bench_program(heat libgomp_static openmp_static FLAGS -fopenmp)
    find_program(BENCH_CLANGXX NAMES clang++-19 DOC "Compiler of the OpenMP programs on libomp")
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(BENCH_CLANGXX "${CMAKE_CXX_COMPILER}")
endif()

if(NOT BENCH_CLANGXX)
    message(STATUS "bench: no libomp programs, clang++-19 was not found (clang-19)")
    return()
endif()
execute_process(
    COMMAND ${BENCH_CLANGXX} -fopenmp=libomp -x c++ -include omp.h -o /dev/null -
    INPUT_FILE "${CMAKE_CURRENT_SOURCE_DIR}/cmake/openmp_probe.txt"
    RESULT_VARIABLE bench_no_libomp
    OUTPUT_QUIET ERROR_QUIET)
if(bench_no_libomp)
    message(STATUS "bench: no libomp programs, clang++ does not find libomp (libomp-19-dev)")
    return()
endif()

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    foreach(kernel IN LISTS bench_kernels)
        bench_program(${kernel} libomp openmp FLAGS -fopenmp=libomp)
    endforeach()
    foreach(schedule IN ITEMS dynamic guided)
        bench_program(flat_loop libomp_${schedule} openmp_${schedule} FLAGS -fopenmp=libomp)
    endforeach()
    bench_program(heat libomp_static openmp_static FLAGS -fopenmp=libomp)
    return()
endif()

string(TOUPPER "${CMAKE_BUILD_TYPE}" bench_build_type)
separate_arguments(bench_flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${bench_build_type}}")
set(bench_clang_programs "")
# bench_clang_program(kernel runtime runtime_file)
function(bench_clang_program kernel runtime runtime_file)
    bench_sources(${kernel} ${runtime_file} sources definitions)
    list(TRANSFORM definitions PREPEND -D)
    set(program "${bench_output}/bench-${kernel}-${runtime}")
    add_custom_command(
        OUTPUT "${program}"
        COMMAND ${CMAKE_COMMAND} -E make_directory "${bench_output}"
        COMMAND
            ${BENCH_CLANGXX} ${bench_flags} -std=c++20 ${bench_warnings} -fopenmp=libomp ${definitions}
            -I "${CMAKE_CURRENT_SOURCE_DIR}" -MD -MF "bench-${kernel}-${runtime}.d" -MT "${program}" ${sources}
            $<TARGET_FILE:bench_report> -o "${program}"
        DEPENDS ${sources} bench_report
        DEPFILE "bench-${kernel}-${runtime}.d"
        COMMENT "Building ${kernel} for ${runtime} with clang++"
        VERBATIM)
    set(bench_clang_programs ${bench_clang_programs} "${program}" PARENT_SCOPE)
    bench_note(${kernel} ${runtime})
endfunction()
foreach(kernel IN LISTS bench_kernels)
    bench_clang_program(${kernel} libomp openmp)
endforeach()
foreach(schedule IN ITEMS dynamic guided)
    bench_clang_program(flat_loop libomp_${schedule} openmp_${schedule})
endforeach()
bench_clang_program(heat libomp_static openmp_static)
add_custom_target(bench-libomp ALL DEPENDS ${bench_clang_programs})
