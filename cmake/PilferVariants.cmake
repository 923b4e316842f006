# libpilfer once more for programs with a sanitizer (docs/sanitizers.md). Each variant is an export set of its own, in which the
# targets have the plain ones' names: pilferConfig.cmake includes one of the sets.
if(NOT PILFER_SANITIZE STREQUAL "none" OR PILFER_FUZZ)
    message(FATAL_ERROR "PILFER_SANITIZED_VARIANTS needs PILFER_SANITIZE=none and PILFER_FUZZ=OFF")
endif()

# pilfer_variant_of(<target> <variant> <flag>): a target like <target>, but compiled with <flag>, as its users are.
function(pilfer_variant_of target variant flag)
    get_target_property(sources ${target} SOURCES)
    get_target_property(kind ${target} TYPE)
    string(REPLACE "_LIBRARY" "" kind ${kind})
    add_library(${variant} ${kind} ${sources})
    get_target_property(name ${target} EXPORT_NAME)
    if(NOT name)
        set(name ${target})
    endif()
    set_target_properties(${variant} PROPERTIES EXPORT_NAME ${name})
    foreach(property IN ITEMS COMPILE_DEFINITIONS COMPILE_FEATURES COMPILE_OPTIONS INCLUDE_DIRECTORIES LINK_LIBRARIES LINK_OPTIONS
                              INTERFACE_COMPILE_DEFINITIONS INTERFACE_COMPILE_FEATURES INTERFACE_COMPILE_OPTIONS
                              INTERFACE_INCLUDE_DIRECTORIES INTERFACE_LINK_LIBRARIES INTERFACE_LINK_OPTIONS CXX_EXTENSIONS
                              CXX_VISIBILITY_PRESET POSITION_INDEPENDENT_CODE SOVERSION UNITY_BUILD UNITY_BUILD_MODE VERSION
                              VISIBILITY_INLINES_HIDDEN)
        get_target_property(value ${target} ${property})
        if(NOT value MATCHES "-NOTFOUND$")
            set_target_properties(${variant} PROPERTIES ${property} "${value}")
        endif()
    endforeach()
    target_compile_options(${variant} PUBLIC ${flag})
    target_compile_options(${variant} PRIVATE -fno-omit-frame-pointer -g1)
    target_link_options(${variant} PUBLIC ${flag})
endfunction()

foreach(sanitizer IN ITEMS address thread)
    string(SUBSTRING ${sanitizer} 0 1 short)
    set(short ${short}san)
    pilfer_variant_of(pilfer pilfer_${short} -fsanitize=${sanitizer})
    pilfer_variant_of(pilfer_threadpool pilfer_threadpool_${short} -fsanitize=${sanitizer})
    set_target_properties(pilfer_threadpool_${short} PROPERTIES LINK_LIBRARIES "" INTERFACE_LINK_LIBRARIES "")
    target_link_libraries(pilfer_threadpool_${short} PRIVATE pilfer_${short})
    pilfer_variant_of(pilfer_test pilfer_test_${short} -fsanitize=${sanitizer})
    install(
        TARGETS pilfer_${short} pilfer_threadpool_${short} pilfer_test_${short}
        EXPORT pilfer_${sanitizer}
        LIBRARY COMPONENT devel
        ARCHIVE COMPONENT devel)
    install(EXPORT pilfer_${sanitizer} NAMESPACE pilfer:: DESTINATION "${pilfer_cmake_dir}")

    set(pilfer_pc_variant -${short})
    set(pilfer_pc_suffix _${short})
    set(pilfer_pc_flag "-fsanitize=${sanitizer} ")
    foreach(name IN ITEMS pilfer pilfer-threadpool)
        configure_file(cmake/${name}.pc.in "${PROJECT_BINARY_DIR}/${name}-${short}.pc" @ONLY)
        install(FILES "${PROJECT_BINARY_DIR}/${name}-${short}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
    endforeach()
endforeach()
