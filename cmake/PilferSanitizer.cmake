# pilfer_sanitizer(<variable>): address, thread or none, by what this folder's flags ask for. An installed pilfer has this file,
# too.
function(pilfer_sanitizer variable)
    get_directory_property(options COMPILE_OPTIONS)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    string(JOIN " " flags ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${type}} ${options})
    set(${variable} none PARENT_SCOPE)
    foreach(sanitizer IN ITEMS address thread)
        if(flags MATCHES "-fsanitize=([a-z-]+,)*${sanitizer}([^a-z-]|$)")
            set(${variable} ${sanitizer} PARENT_SCOPE)
        endif()
    endforeach()
endfunction()
