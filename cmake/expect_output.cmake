# cmake -Dprogram=<command> -Dexpected=<file> -P expect_output.cmake
# Runs the command; fails unless it ends with 0 and prints the file, byte for byte.
execute_process(COMMAND ${program} OUTPUT_VARIABLE actual RESULT_VARIABLE result)
if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} ended with ${result}; it printed:\n${actual}")
endif()
file(READ "${expected}" wanted)
if(NOT actual STREQUAL wanted)
    message(FATAL_ERROR "${program} printed:\n${actual}\n${expected} says:\n${wanted}")
endif()
