# Debian packages by CPack, for packaging/deb.sh: the shared library, what a developer needs, and the command.
if(NOT pilfer_kind STREQUAL "SHARED_LIBRARY" OR NOT PILFER_TOOLS)
    message(FATAL_ERROR "PILFER_PACKAGE needs BUILD_SHARED_LIBS=ON and PILFER_TOOLS=ON")
endif()

# Debian names the package of a library after its soname.
set(pilfer_package_runtime "libpilfer${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(pilfer_package_devel "libpilfer-dev")
set(pilfer_package_tools "pilfer-tools")

find_program(pilfer_gzip gzip REQUIRED)
foreach(component IN ITEMS runtime devel tools)
    # Each package carries its licence and its changes. A second gzip of the same text gives the same bytes (-n).
    set(folder "${PROJECT_BINARY_DIR}/package/${component}")
    file(MAKE_DIRECTORY "${folder}")
    configure_file(packaging/copyright "${folder}/copyright" COPYONLY)
    set(pilfer_package_name "${pilfer_package_${component}}")
    configure_file(packaging/changelog.in "${folder}/changelog" @ONLY)
    execute_process(COMMAND "${pilfer_gzip}" -9nf "${folder}/changelog" COMMAND_ERROR_IS_FATAL ANY)
    install(
        FILES "${folder}/copyright" "${folder}/changelog.gz"
        DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${pilfer_package_${component}}"
        COMPONENT ${component})
    string(TOUPPER ${component} COMPONENT)
    set(CPACK_DEBIAN_${COMPONENT}_PACKAGE_NAME "${pilfer_package_${component}}")
    set(CPACK_DEBIAN_${COMPONENT}_FILE_NAME DEB-DEFAULT)
endforeach()

# Debian wants man pages compressed.
configure_file(tools/pilfer.1 "${PROJECT_BINARY_DIR}/package/pilfer.1" COPYONLY)
execute_process(COMMAND "${pilfer_gzip}" -9nf "${PROJECT_BINARY_DIR}/package/pilfer.1" COMMAND_ERROR_IS_FATAL ANY)
install(FILES "${PROJECT_BINARY_DIR}/package/pilfer.1.gz" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT tools)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "The pilfer authors <pilfer@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX "/usr")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime devel tools)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
file(WRITE "${PROJECT_BINARY_DIR}/package/triggers" "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/package/triggers")
set(CPACK_DEBIAN_DEVEL_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVEL_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVEL_PACKAGE_DEPENDS "${pilfer_package_runtime} (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(pilfer_package_text "
 Tasks are ordinary functions that fork, wait and block. A fork costs about as
 much as a function call; a task that waits suspends its stack.")
if(PILFER_USDT)
    set(pilfer_package_probes "\n It has probes (USDT) for bpftrace, perf and gdb.")
else()
    set(pilfer_package_probes "\n It was built without probes (USDT) for tracers.")
endif()
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "work-stealing runtime for C++20 (shared library)${pilfer_package_text}${pilfer_package_probes}")
set(CPACK_COMPONENT_DEVEL_DESCRIPTION "work-stealing runtime for C++20 (development files)${pilfer_package_text}")
set(CPACK_COMPONENT_TOOLS_DESCRIPTION "work-stealing runtime for C++20 (command)${pilfer_package_text}${pilfer_package_probes}")
include(CPack)
