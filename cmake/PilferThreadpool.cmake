# <pilfer/threadpool.h>: its five functions have no prefix, so they stay out of libpilfer, where they would clash with those
# of a program that wants nothing of them.
add_library(pilfer_threadpool STATIC src/capi/threadpool.cpp)
add_library(pilfer::threadpool ALIAS pilfer_threadpool)
target_include_directories(
    pilfer_threadpool
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    PRIVATE "${PROJECT_SOURCE_DIR}/src")
# Private: a C program must not inherit what pilfer asks of C++ ones.
target_link_libraries(pilfer_threadpool PRIVATE pilfer)
set_target_properties(
    pilfer_threadpool
    PROPERTIES EXPORT_NAME threadpool
               POSITION_INDEPENDENT_CODE ON
               CXX_EXTENSIONS OFF
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON)
pilfer_own_target(pilfer_threadpool)
target_compile_options(pilfer_threadpool PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)

# The same and all of libpilfer that it needs as one object file, in which everything else is local: it can be
# handed out where only one file is wanted, and no name of it meets another one's.
set(pilfer_threadpool_names thread_pool_new thread_pool_shutdown_and_destroy thread_pool_submit future_get future_free)
set(pilfer_threadpool_object "${PROJECT_BINARY_DIR}/pilfer_threadpool.o")
set(PILFER_THREADPOOL_OBJECT OFF)
# A sanitizer's tables go by sections that a partial link would merge.
if(NOT pilfer_kind STREQUAL "SHARED_LIBRARY" AND PILFER_SANITIZE STREQUAL "none" AND CMAKE_OBJCOPY)
    set(PILFER_THREADPOOL_OBJECT ON)
    list(TRANSFORM pilfer_threadpool_names PREPEND "-Wl,--undefined=" OUTPUT_VARIABLE pilfer_threadpool_wanted)
    list(TRANSFORM pilfer_threadpool_names PREPEND "--keep-global-symbol=" OUTPUT_VARIABLE pilfer_threadpool_kept)
    # Templates lie in groups that the last link would merge with a program's own ones of the same names, of which a
    # local symbol knows nothing: so they become plain sections here.
    add_custom_command(
        OUTPUT "${pilfer_threadpool_object}"
        COMMAND
            "${CMAKE_CXX_COMPILER}" -r -nostdlib -Wl,--force-group-allocation ${pilfer_threadpool_wanted} -o
            "${pilfer_threadpool_object}.all" "$<TARGET_FILE:pilfer_threadpool>" "$<TARGET_FILE:pilfer>"
        COMMAND "${CMAKE_OBJCOPY}" ${pilfer_threadpool_kept} "${pilfer_threadpool_object}.all"
                "${pilfer_threadpool_object}"
        DEPENDS pilfer_threadpool pilfer
        VERBATIM)
    set(pilfer_all "")
    if(PROJECT_IS_TOP_LEVEL OR PILFER_INSTALL)
        set(pilfer_all ALL)
    endif()
    add_custom_target(pilfer_threadpool_o ${pilfer_all} DEPENDS "${pilfer_threadpool_object}")
endif()
