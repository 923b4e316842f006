# <pilfer/cluster.hpp> and <pilfer/pilfer_cluster.h>: the optional library pilfer::cluster, where PILFER_CLUSTER wants it and MPI is there.
if(NOT PILFER_CLUSTER MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PILFER_CLUSTER is '${PILFER_CLUSTER}', but must be AUTO, ON or OFF")
endif()

# AUTO: not in a cross build, which finds this machine's MPI; not with a sanitizer, which reports what MPI does inside. In the
# Debian packages it is one of its own, because the others must not depend on MPI.
set(pilfer_cluster_built OFF)
if(PILFER_CLUSTER STREQUAL "ON")
    find_package(MPI COMPONENTS CXX REQUIRED)
elseif(PILFER_CLUSTER STREQUAL "AUTO"
       AND PROJECT_IS_TOP_LEVEL
       AND PILFER_SANITIZE STREQUAL "none"
       AND NOT PILFER_FUZZ
       AND NOT CMAKE_CROSSCOMPILING)
    find_package(MPI COMPONENTS CXX QUIET)
endif()
if(MPI_CXX_FOUND)
    set(pilfer_cluster_built ON)
endif()
if(PROJECT_IS_TOP_LEVEL)
    message(STATUS "pilfer: cluster ${pilfer_cluster_built}")
endif()

# TLS for a job queue, by OpenSSL, where PILFER_CLUSTER_TLS wants it and OpenSSL is there; not in a cross build, which finds this
# machine's one.
set(pilfer_cluster_tls OFF)
if(PILFER_CLUSTER_TLS STREQUAL "ON")
    find_package(OpenSSL 3 REQUIRED)
    set(pilfer_cluster_tls ON)
elseif(PILFER_CLUSTER_TLS STREQUAL "AUTO")
    if(NOT CMAKE_CROSSCOMPILING)
        find_package(OpenSSL 3 QUIET)
        set(pilfer_cluster_tls ${OPENSSL_FOUND})
    endif()
elseif(NOT PILFER_CLUSTER_TLS STREQUAL "OFF")
    message(FATAL_ERROR "PILFER_CLUSTER_TLS is '${PILFER_CLUSTER_TLS}', but must be AUTO, ON or OFF")
endif()
set(pilfer_cluster_not_tls tls)
if(pilfer_cluster_tls)
    set(pilfer_cluster_not_tls no_tls)
endif()

# pilfer_cluster_library(<target> STATIC|OBJECT [EXCLUDE_FROM_ALL] <source>...)
function(pilfer_cluster_library target)
    add_library(${target} ${ARGN})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_link_libraries(${target} PUBLIC pilfer)
    if(pilfer_cluster_tls)
        target_link_libraries(${target} PRIVATE OpenSSL::SSL)
    endif()
    set_target_properties(
        ${target}
        PROPERTIES POSITION_INDEPENDENT_CODE ON
                   CXX_EXTENSIONS OFF
                   CXX_VISIBILITY_PRESET hidden
                   VISIBILITY_INLINES_HIDDEN ON)
    pilfer_own_target(${target})
endfunction()

# All but what connects ranks is compiled once for the two libraries below.
file(GLOB pilfer_cluster_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cluster/*.cpp"
     "${PROJECT_SOURCE_DIR}/src/engines/*.cpp" "${PROJECT_SOURCE_DIR}/src/jobqueue/*.cpp"
     "${PROJECT_SOURCE_DIR}/src/capi_cluster/*.cpp")
list(FILTER pilfer_cluster_sources EXCLUDE REGEX "/(${pilfer_cluster_not_tls}|mpi_group|no_group)\\.cpp$")
pilfer_cluster_library(pilfer_cluster_objects OBJECT EXCLUDE_FROM_ALL ${pilfer_cluster_sources})
if(pilfer_cluster_built)
    # Static, also beside a shared libpilfer: MPI must not become one of its dependencies.
    pilfer_cluster_library(pilfer_cluster STATIC $<TARGET_OBJECTS:pilfer_cluster_objects> src/engines/mpi_group.cpp)
    add_library(pilfer::cluster ALIAS pilfer_cluster)
    set_target_properties(pilfer_cluster PROPERTIES EXPORT_NAME cluster)
    # The interface of MPI for C is enough, and that for C++ has warnings.
    target_compile_definitions(pilfer_cluster PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
    target_link_libraries(pilfer_cluster PRIVATE MPI::MPI_CXX)
endif()

# All but MPI, for tests and fuzzers that need none.
pilfer_cluster_library(pilfer_cluster_parts STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:pilfer_cluster_objects>
                       src/engines/no_group.cpp)
