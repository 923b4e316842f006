# pilfer::race: the library for programs whose determinacy races are looked for (docs/guides/races.md). Its users are compiled with
# -fsanitize=thread and linked without it: the library has the entry points that the compiler calls.
set(pilfer_race_possible OFF)
if(PILFER_RACE
   AND PILFER_SANITIZE STREQUAL "none"
   AND NOT PILFER_FUZZ
   AND NOT PILFER_PORTABLE
   AND NOT CMAKE_CROSSCOMPILING
   AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|aarch64)$")
    set(pilfer_race_possible ON)
endif()
if(pilfer_race_possible)
    set(pilfer_race_is_left_out ON)
    if(PILFER_INSTALL)
        set(pilfer_race_is_left_out OFF)
    endif()
    file(GLOB pilfer_race_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/race/*.cpp"
         "${PROJECT_SOURCE_DIR}/src/race_history/*.cpp" "${PROJECT_SOURCE_DIR}/src/instrument/*.cpp")
    add_library(pilfer_race STATIC ${pilfer_sources} ${pilfer_race_sources})
    add_library(pilfer::race ALIAS pilfer_race)
    target_compile_features(pilfer_race PUBLIC cxx_std_20)
    target_include_directories(
        pilfer_race
        PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
        PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(pilfer_race PUBLIC Threads::Threads ${CMAKE_DL_LIBS})
    target_compile_definitions(
        pilfer_race
        PRIVATE PILFER_BUILDING
        PUBLIC PILFER_RACE PILFER_STATIC $<$<BOOL:${PILFER_CHECKED}>:PILFER_CHECKED>)
    # Functions of C that are compiled in place, such as copies of known size, would not be seen. _FORTIFY_SOURCE has some.
    set(pilfer_race_flags -fsanitize=thread -g -fno-builtin -U_FORTIFY_SOURCE)
    target_compile_options(
        pilfer_race INTERFACE ${pilfer_race_flags}
                              $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
    set_target_properties(pilfer_race PROPERTIES EXPORT_NAME race POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
                                                 EXCLUDE_FROM_ALL ${pilfer_race_is_left_out})
    pilfer_own_target(pilfer_race)
    pilfer_protects_users(pilfer_race)
    # clang's <sanitizer/tsan_interface.h>, which other rooms include, declares what this file defines.
    set_source_files_properties("${PROJECT_SOURCE_DIR}/src/instrument/tsan.cpp" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    pilfer_together(pilfer_race ON)
endif()
