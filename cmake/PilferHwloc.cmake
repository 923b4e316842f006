# hwloc, where PILFER_HWLOC wants it: the target PkgConfig::PILFER_HWLOC_LIBRARY. PILFER_HWLOC becomes ON or OFF.
set(pilfer_hwloc_wanted "${PILFER_HWLOC}")
if(NOT pilfer_hwloc_wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PILFER_HWLOC is '${pilfer_hwloc_wanted}', but must be AUTO, ON or OFF")
endif()
set(PILFER_HWLOC OFF)
set(pilfer_hwloc_version 2.4) # kinds of cores

if(NOT pilfer_hwloc_wanted STREQUAL "OFF")
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        # Global, because whoever links the static library links hwloc too, from any folder.
        pkg_check_modules(PILFER_HWLOC_LIBRARY QUIET IMPORTED_TARGET GLOBAL hwloc>=${pilfer_hwloc_version})
    endif()
    if(PILFER_HWLOC_LIBRARY_FOUND)
        # pkg-config tells of this machine's library in a cross build too: does it link?
        include(CheckCXXSourceCompiles)
        include(CMakePushCheckState)
        cmake_push_check_state(RESET) # what the host project has set for its own checks
        set(CMAKE_REQUIRED_LIBRARIES PkgConfig::PILFER_HWLOC_LIBRARY)
        set(CMAKE_REQUIRED_QUIET ON)
        check_cxx_source_compiles(
            "#include <hwloc.h>
            int main() {
                hwloc_topology_t t;
                return hwloc_topology_init(&t) + hwloc_cpukinds_get_nr(t, 0) +
                       hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, \"x86\");
            }"
            PILFER_HWLOC_LINKS)
        cmake_pop_check_state()
    endif()
    if(PILFER_HWLOC_LIBRARY_FOUND AND PILFER_HWLOC_LINKS)
        set(PILFER_HWLOC ON)
    elseif(pilfer_hwloc_wanted STREQUAL "ON")
        message(FATAL_ERROR "PILFER_HWLOC is ON, but no hwloc ${pilfer_hwloc_version} or later links "
                            "(Debian: libhwloc-dev, pkg-config)")
    endif()
endif()
if(PROJECT_IS_TOP_LEVEL)
    message(STATUS "pilfer: hwloc ${PILFER_HWLOC}")
endif()

function(pilfer_use_hwloc target)
    if(PILFER_HWLOC)
        target_link_libraries(${target} PRIVATE PkgConfig::PILFER_HWLOC_LIBRARY)
        target_compile_definitions(${target} PRIVATE PILFER_HWLOC)
    endif()
endfunction()
