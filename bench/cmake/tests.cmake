# Every program at a tiny size: it must give the right answer, and must notice a falsified one.
get_property(programs GLOBAL PROPERTY bench_programs)
foreach(program IN LISTS programs)
    foreach(workers IN ITEMS 1 3)
        add_test(NAME bench.${program}.${workers} COMMAND "${bench_output}/bench-${program}" --size tiny --workers
                                                          ${workers} --repeat 2)
        set_tests_properties(bench.${program}.${workers} PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
    endforeach()
endforeach()
foreach(kernel IN LISTS bench_kernels)
    add_test(NAME bench.${kernel}.spoiled COMMAND sh -c "\"$0\" --size tiny --spoil; test $? -eq 1"
                                                      "${bench_output}/bench-${kernel}-serial")
    set_tests_properties(bench.${kernel}.spoiled PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
endforeach()

foreach(figure IN ITEMS tree tail first waits late)
    add_test(NAME bench.masters.${figure} COMMAND bench-masters ${figure} --tiny --repeat 2)
    set_tests_properties(bench.masters.${figure} PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
endforeach()

if(TARGET bench-sort)
    foreach(input IN ITEMS uint32 records strings)
        foreach(way IN ITEMS std pilfer pilfer_stable)
            add_test(NAME bench.sort.${way}.${input} COMMAND bench-sort --way ${way} --input ${input} --count 20000
                                                             --workers 3 --repeat 2)
            set_tests_properties(bench.sort.${way}.${input} PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
        endforeach()
    endforeach()
endif()

# What pictures.py asks for.
if(TARGET bench-graph)
    add_test(NAME bench.graph.line COMMAND bench-graph 2 1 10 100 wavefront)
    set_tests_properties(bench.graph.line PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
endif()
if(TARGET bench-pipeline)
    add_test(NAME bench.pipeline.line COMMAND bench-pipeline 1 100 100 equal 2)
    set_tests_properties(bench.pipeline.line PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
endif()
if(TARGET bench-loops)
    foreach(way IN ITEMS team phases for_each affinity)
        add_test(NAME bench.loops.${way} COMMAND bench-loops ${way} uneven 3 1 64)
        set_tests_properties(bench.loops.${way} PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
    endforeach()
endif()

find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
    add_test(NAME bench.scripts COMMAND "${Python3_EXECUTABLE}" "${CMAKE_CURRENT_SOURCE_DIR}/test_scripts.py"
                                        "${CMAKE_BINARY_DIR}")
    set_tests_properties(bench.scripts PROPERTIES LABELS bench TIMEOUT ${PILFER_TEST_TIMEOUT})
endif()
