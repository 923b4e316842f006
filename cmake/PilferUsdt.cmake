# Probes for tracers of the system, where PILFER_USDT wants them: <sys/sdt.h>, a header alone. PILFER_USDT becomes ON or OFF.
set(pilfer_usdt_wanted "${PILFER_USDT}")
if(NOT pilfer_usdt_wanted MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "PILFER_USDT is '${pilfer_usdt_wanted}', but must be AUTO, ON or OFF")
endif()
set(PILFER_USDT OFF)
if(NOT pilfer_usdt_wanted STREQUAL "OFF")
    # Asked again each time, because the header may be installed later.
    include(CheckCXXSourceCompiles)
    include(CMakePushCheckState)
    unset(PILFER_SDT_COMPILES CACHE)
    cmake_push_check_state(RESET) # what the host project has set for its own checks
    set(CMAKE_REQUIRED_QUIET ON)
    check_cxx_source_compiles(
        "#include <sys/sdt.h>
        int main(int n, char** all) {
            STAP_PROBE4(pilfer, check, n, all, all[0], 4U);
        }"
        PILFER_SDT_COMPILES)
    cmake_pop_check_state()
    if(PILFER_SDT_COMPILES)
        set(PILFER_USDT ON)
    elseif(pilfer_usdt_wanted STREQUAL "ON")
        message(FATAL_ERROR "PILFER_USDT is ON, but there is no <sys/sdt.h> (Debian: systemtap-sdt-dev)")
    endif()
endif()
if(PROJECT_IS_TOP_LEVEL)
    message(STATUS "pilfer: USDT probes ${PILFER_USDT}")
endif()
