# Sanitizers, which hold for everything in this build, and the flags of pilfer's own targets.
include(CheckCXXCompilerFlag)

set(pilfer_sanitize_flags "")
if(PILFER_SANITIZE STREQUAL "address")
    set(pilfer_sanitize_flags -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(PILFER_SANITIZE STREQUAL "thread")
    set(pilfer_sanitize_flags -fsanitize=thread)
elseif(NOT PILFER_SANITIZE STREQUAL "none")
    message(FATAL_ERROR "PILFER_SANITIZE is '${PILFER_SANITIZE}', but must be none, address or thread")
endif()

if(pilfer_sanitize_flags)
    # Directory-wide, so that GoogleTest and the programs are instrumented like the library.
    # A report needs lines and names only (-g1): all of -g makes compiling a fifth slower.
    add_compile_options(${pilfer_sanitize_flags} -fno-omit-frame-pointer -g1)
    add_link_options(${pilfer_sanitize_flags})
endif()

if(PILFER_FUZZ)
    # Beside what -fsanitize=undefined holds: a number from a text may be too large for its type.
    add_compile_options(-fsanitize=fuzzer-no-link,float-cast-overflow)
endif()

# A frame larger than the guard area below a stack would jump over it without these probes.
option(PILFER_STACK_CLASH_PROTECTION "Compile pilfer and what uses it with -fstack-clash-protection" ON)
if(PILFER_STACK_CLASH_PROTECTION)
    check_cxx_compiler_flag(-fstack-clash-protection PILFER_HAS_STACK_CLASH_PROTECTION)
else()
    set(PILFER_HAS_STACK_CLASH_PROTECTION OFF)
endif()

# Users' tasks run on the library's stacks, so their frames need the probes, too. A target whose property
# PILFER_NO_STACK_CLASH_PROTECTION is set goes without.
function(pilfer_protects_users target)
    if(PILFER_HAS_STACK_CLASH_PROTECTION)
        set(known $<OR:$<COMPILE_LANG_AND_ID:CXX,GNU,Clang>,$<COMPILE_LANG_AND_ID:C,GNU,Clang>>)
        set(refused $<BOOL:$<TARGET_PROPERTY:PILFER_NO_STACK_CLASH_PROTECTION>>)
        target_compile_options(
            ${target} INTERFACE "$<$<AND:${known},$<NOT:${refused}>>:-fstack-clash-protection>")
    endif()
endfunction()

# Warnings and code generation of one of pilfer's own C++ targets. Users of the library inherit no warnings.
function(pilfer_own_target target)
    target_compile_options(
        ${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall -Wextra -Wpedantic -Wconversion -Wshadow>)
    # With -fsanitize=thread, of this project or of one that pilfer is built in, g++ warns that ThreadSanitizer does not see
    # fences. The protocols publish by release stores.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-tsan>)
    if(PILFER_WERROR)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-Werror>)
    endif()
    # Also where tests include headers of src/. Public headers have no probes.
    target_compile_definitions(${target} PRIVATE $<$<BOOL:${PILFER_USDT}>:PILFER_USDT>)
    if(PILFER_HAS_STACK_CLASH_PROTECTION)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-fstack-clash-protection>)
    endif()
endfunction()

# Compiles a target's C++ sources together, where PILFER_UNITY is one of ARGN: most of the time goes into what they
# include. Rooms are dealt out to two groups, enough for the CPUs of a small machine. PILFER_UNITY is off by default.
function(pilfer_together target)
    if(NOT PILFER_UNITY IN_LIST ARGN)
        return()
    endif()
    set(groups 2)
    get_target_property(sources ${target} SOURCES)
    set(rooms "")
    foreach(source IN LISTS sources)
        cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE folder)
        cmake_path(GET folder PARENT_PATH folder)
        cmake_path(GET folder FILENAME room)
        if(NOT room IN_LIST rooms)
            list(APPEND rooms ${room})
        endif()
        list(FIND rooms ${room} place)
        math(EXPR group "${place} % ${groups}")
        set_source_files_properties("${source}" PROPERTIES UNITY_GROUP part_${group})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    # A file may use a name that another one has for itself; ci/abi.sh compiles each of libpilfer's alone, with all warnings.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow>)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # g++ takes the lot for the source and its files for headers, in which an unnamed namespace would be a mistake.
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
    endif()
endfunction()
