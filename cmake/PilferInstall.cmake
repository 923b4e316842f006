# install, find_package(pilfer) and pkg-config.

# Components, for packages: runtime is what a program needs that is linked already, tools the command, cluster what needs MPI.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME devel)

install(
    TARGETS pilfer pilfer_threadpool
    EXPORT pilferTargets
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT devel
    ARCHIVE COMPONENT devel)
install(
    TARGETS pilfer_test
    EXPORT pilferTargets
    ARCHIVE COMPONENT devel)
if(TARGET pilfer_race)
    install(
        TARGETS pilfer_race
        EXPORT pilferTargets
        ARCHIVE COMPONENT devel)
endif()
if(PILFER_THREADPOOL_OBJECT)
    install(FILES "${pilfer_threadpool_object}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
install(DIRECTORY include/pilfer DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.hpp"
                                                                             PATTERN "*.h"
        PATTERN "cluster" EXCLUDE PATTERN "cluster.hpp" EXCLUDE PATTERN "pilfer_cluster.h" EXCLUDE) # of an optional library, below

install(FILES tools/gdb/pilfer.py DESTINATION "${CMAKE_INSTALL_DATADIR}/pilfer/gdb")
if(TARGET pilfer_tool)
    install(TARGETS pilfer_tool RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT tools)
    install(TARGETS pilfer_chaos_tool pilfer_measure RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/pilfer"
                                                             COMPONENT tools)
    if(NOT PILFER_PACKAGE) # PilferPackage.cmake installs it compressed
        install(FILES tools/pilfer.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)
    endif()
    install(FILES tools/completion/pilfer DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions"
            COMPONENT tools)
endif()

set(pilfer_hwloc_needed OFF)
set(pilfer_pc_requires "")
if(PILFER_HWLOC AND NOT pilfer_kind STREQUAL "SHARED_LIBRARY")
    set(pilfer_hwloc_needed ON)
    set(pilfer_pc_requires "hwloc >= ${pilfer_hwloc_version}")
endif()

set(pilfer_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/pilfer")
install(EXPORT pilferTargets NAMESPACE pilfer:: DESTINATION "${pilfer_cmake_dir}")
if(pilfer_cluster_built) # the component cluster of the CMake package
    install(TARGETS pilfer_cluster EXPORT pilferClusterTargets ARCHIVE COMPONENT cluster)
    install(EXPORT pilferClusterTargets NAMESPACE pilfer:: DESTINATION "${pilfer_cmake_dir}" COMPONENT cluster)
    install(FILES include/pilfer/cluster.hpp include/pilfer/pilfer_cluster.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/pilfer"
            COMPONENT cluster)
    install(DIRECTORY include/pilfer/cluster DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/pilfer" COMPONENT cluster)
    install(DIRECTORY include/pilfer/detail/cluster DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/pilfer/detail" COMPONENT cluster)
endif()
include(PilferSanitizer)
pilfer_sanitizer(pilfer_built_with)
configure_package_config_file(cmake/pilferConfig.cmake.in "${PROJECT_BINARY_DIR}/pilferConfig.cmake"
                              INSTALL_DESTINATION "${pilfer_cmake_dir}")
# Before 1.0 a minor version may break what the one before it offered.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/pilferConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/pilferConfig.cmake" "${PROJECT_BINARY_DIR}/pilferConfigVersion.cmake"
              cmake/PilferSanitizer.cmake
        DESTINATION "${pilfer_cmake_dir}")

# pkg-config: relative to the .pc file, so that an installed tree can be moved.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR pilfer_absolute_libdir)
if(pilfer_absolute_libdir)
    set(pilfer_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
    cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY
               "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" OUTPUT_VARIABLE pilfer_pc_up)
    set(pilfer_pc_prefix "\${pcfiledir}/${pilfer_pc_up}")
endif()
cmake_path(APPEND pilfer_pc_libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
cmake_path(APPEND pilfer_pc_includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
set(pilfer_pc_cflags "-pthread")
# A C compiler does not link what static libraries of C++ need.
set(pilfer_runtime_of_cxx "")
if("stdc++" IN_LIST CMAKE_CXX_IMPLICIT_LINK_LIBRARIES)
    set(pilfer_runtime_of_cxx " -lstdc++")
endif()
if(PILFER_PORTABLE)
    string(APPEND pilfer_pc_cflags " -DPILFER_PORTABLE_CONTEXT")
endif()
if(PILFER_CHECKED)
    string(APPEND pilfer_pc_cflags " -DPILFER_CHECKED")
endif()
if(pilfer_kind STREQUAL "SHARED_LIBRARY")
    set(pilfer_pc_libs "")
    set(pilfer_pc_libs_private "-pthread")
else()
    string(APPEND pilfer_pc_cflags " -DPILFER_STATIC")
    set(pilfer_pc_libs " -pthread")
    set(pilfer_pc_libs_private "")
    string(APPEND pilfer_pc_libs "${pilfer_runtime_of_cxx}")
endif()
set(pilfer_pc_stack_clash "")
if(PILFER_HAS_STACK_CLASH_PROTECTION)
    set(pilfer_pc_stack_clash "-fstack-clash-protection")
endif()
configure_file(cmake/pilfer.pc.in "${PROJECT_BINARY_DIR}/pilfer.pc" @ONLY)
configure_file(cmake/pilfer-threadpool.pc.in "${PROJECT_BINARY_DIR}/pilfer-threadpool.pc" @ONLY)
if(TARGET pilfer_race)
    set(pilfer_pc_race ${pilfer_race_flags})
    list(REMOVE_ITEM pilfer_pc_race -g) # the user's choice, as Debian wants it
    string(JOIN " " pilfer_pc_race ${pilfer_pc_race})
    if(PILFER_CHECKED)
        string(APPEND pilfer_pc_race " -DPILFER_CHECKED")
    endif()
    configure_file(cmake/pilfer-race.pc.in "${PROJECT_BINARY_DIR}/pilfer-race.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/pilfer-race.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endif()
if(pilfer_cluster_built)
    # The full paths of one MPI: another one has another binary interface.
    string(JOIN " " pilfer_pc_mpi ${MPI_CXX_LINK_FLAGS} ${MPI_CXX_LIBRARIES})
    set(pilfer_pc_openssl "")
    if(pilfer_cluster_tls)
        set(pilfer_pc_openssl ", openssl >= 3")
    endif()
    configure_file(cmake/pilfer-cluster.pc.in "${PROJECT_BINARY_DIR}/pilfer-cluster.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/pilfer-cluster.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT cluster)
endif()
install(FILES "${PROJECT_BINARY_DIR}/pilfer.pc" "${PROJECT_BINARY_DIR}/pilfer-threadpool.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
