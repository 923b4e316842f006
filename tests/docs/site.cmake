# The site: the programs of its cookbook, the code of its guides, and its links.
set(cookbook "${PROJECT_SOURCE_DIR}/docs/cookbook")
file(GLOB recipes CONFIGURE_DEPENDS RELATIVE "${cookbook}" "${cookbook}/*.cpp" "${cookbook}/*.c")
foreach(source IN LISTS recipes)
    cmake_path(GET source STEM name)
    add_executable(recipe_${name} "${cookbook}/${source}")
    set_target_properties(recipe_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                                                        "${CMAKE_CURRENT_BINARY_DIR}/cookbook")
    target_link_libraries(recipe_${name} PRIVATE pilfer::pilfer)
    pilfer_own_target(recipe_${name})
    add_test(
        NAME docs.recipe_${name}
        COMMAND
            "${CMAKE_COMMAND}" "-Dexpected=${cookbook}/${name}.expected"
            "-Dprogram=${CMAKE_CROSSCOMPILING_EMULATOR};$<TARGET_FILE:recipe_${name}>" -P
            "${PROJECT_SOURCE_DIR}/cmake/expect_output.cmake")
    set_tests_properties(docs.recipe_${name} PROPERTIES LABELS docs TIMEOUT ${PILFER_TEST_TIMEOUT})
endforeach()

file(GLOB guides CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/guides/*.md")
foreach(page IN LISTS guides ITEMS "${PROJECT_SOURCE_DIR}/docs/quick-start.md")
    cmake_path(GET page STEM name)
    file(STRINGS "${page}" code REGEX "^```cpp")
    if(NOT code) # a page about programs that are compiled already
        continue()
    endif()
    if(name STREQUAL adapters AND NOT (TARGET pilfer_adapter_asio AND TARGET pilfer_adapter_eigen))
        continue()
    endif()
    set(source "${CMAKE_CURRENT_BINARY_DIR}/guide_${name}.cpp")
    add_custom_command(
        OUTPUT "${source}"
        COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/extract.py" "${page}" "${source}"
        DEPENDS extract.py "${page}"
        VERBATIM)
    add_executable(guide_${name} "${source}" prelude.hpp)
    target_include_directories(guide_${name} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    set(library pilfer::pilfer)
    if(name STREQUAL testing) # includes <pilfer/test.hpp>
        set(library pilfer::test)
    elseif(name STREQUAL races)
        if(NOT TARGET pilfer_race)
            continue()
        endif()
        set(library pilfer::race)
    elseif(name STREQUAL cluster)
        set(library pilfer_cluster_parts) # one rank needs no MPI
    endif()
    target_link_libraries(guide_${name} PRIVATE ${library})
    target_compile_features(guide_${name} PRIVATE cxx_std_20)
    add_test(NAME docs.guide_${name} COMMAND guide_${name})
    set_tests_properties(docs.guide_${name} PROPERTIES LABELS docs TIMEOUT ${PILFER_TEST_TIMEOUT})
endforeach()
set(page "${PROJECT_SOURCE_DIR}/docs/c-interface.md")
set(source "${CMAKE_CURRENT_BINARY_DIR}/c-interface.c")
add_custom_command(
    OUTPUT "${source}"
    COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/extract.py" "${page}" "${source}"
    DEPENDS extract.py "${page}"
    VERBATIM)
add_executable(docs_c_interface "${source}")
set_target_properties(docs_c_interface PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
target_compile_options(docs_c_interface PRIVATE -Wall -Wextra -Werror)
target_link_libraries(docs_c_interface PRIVATE pilfer::pilfer)
add_test(NAME docs.c_interface COMMAND docs_c_interface)
set_tests_properties(docs.c_interface PROPERTIES LABELS docs TIMEOUT ${PILFER_TEST_TIMEOUT} PASS_REGULAR_EXPRESSION "^fib.22. = 17711\n$")
if(TARGET guide_adapters)
    target_link_libraries(guide_adapters PRIVATE pilfer_adapter_asio pilfer_adapter_eigen)
    foreach(header IN ITEMS pilfer/adapters/eigen.hpp unsupported/Eigen/CXX11/Tensor pilfer/adapters/asio.hpp
                            asio/post.hpp asio/strand.hpp pilfer/adapters/parlay.hpp)
        target_compile_options(guide_adapters PRIVATE "SHELL:-include ${header}")
    endforeach()
endif()
set_tests_properties(docs.guide_cluster PROPERTIES PASS_REGULAR_EXPRESSION "^75025 121392 7.485 100 231 rank 0: no name\n0 tasks taken\n$")
if(TARGET guide_cluster) # its program for C
    set(page "${PROJECT_SOURCE_DIR}/docs/guides/cluster.md")
    set(source "${CMAKE_CURRENT_BINARY_DIR}/guide_cluster_c.c")
    add_custom_command(
        OUTPUT "${source}"
        COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/extract.py" "${page}" "${source}"
        DEPENDS extract.py "${page}"
        VERBATIM)
    add_executable(guide_cluster_c "${source}")
    set_target_properties(guide_cluster_c PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
    target_compile_options(guide_cluster_c PRIVATE -Wall -Wextra -Werror)
    target_link_libraries(guide_cluster_c PRIVATE pilfer_cluster_parts)
    add_test(NAME docs.guide_cluster_c COMMAND guide_cluster_c)
    set_tests_properties(docs.guide_cluster_c PROPERTIES LABELS docs PASS_REGULAR_EXPRESSION "^55 610 670\nrank 0: no number from 0 on\n$"
                                                         TIMEOUT ${PILFER_TEST_TIMEOUT})
endif()
set_tests_properties(docs.guide_quick-start PROPERTIES PASS_REGULAR_EXPRESSION "^832040\n499999500000\n$")

# Only if its tools are installed: ./docs/build installs them, a test does not.
find_program(MKDOCS mkdocs)
find_program(DOXYGEN doxygen)
if(MKDOCS AND DOXYGEN)
    add_test(NAME docs.site COMMAND "${PROJECT_SOURCE_DIR}/docs/build" "${CMAKE_CURRENT_BINARY_DIR}/site")
    set_tests_properties(docs.site PROPERTIES LABELS docs TIMEOUT 300)
endif()
