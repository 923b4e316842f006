# Rayon, from the source packages that Debian installs as a local registry; nothing is downloaded.
set(BENCH_CARGO_REGISTRY /usr/share/cargo/registry CACHE PATH "Folder with the sources of the Rust package rayon")
find_program(BENCH_CARGO cargo)
find_program(BENCH_RUSTC rustc)
file(GLOB bench_rayon_sources "${BENCH_CARGO_REGISTRY}/rayon-1*")
if(NOT BENCH_CARGO OR NOT BENCH_RUSTC OR NOT bench_rayon_sources)
    message(STATUS "bench: no Rayon programs, cargo and rayon's sources are not both there (cargo, librust-rayon-dev)")
    return()
endif()
execute_process(COMMAND ${BENCH_RUSTC} --version OUTPUT_VARIABLE bench_rustc_version)
string(REGEX MATCH "rustc [0-9.]+" bench_rustc_version "${bench_rustc_version}")

# cargo writes its lock file beside Cargo.toml, so it gets a copy.
set(bench_rayon "${CMAKE_CURRENT_BINARY_DIR}/rayon")
set(sources Cargo.toml src/kernels.rs src/main.rs src/uts.rs)
list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/rayon/")
set(links "")
foreach(kernel IN ITEMS fib integrate mergesort nqueens skynet uts uts_deep)
    list(APPEND links COMMAND ${CMAKE_COMMAND} -E create_symlink "${bench_rayon}/target/release/bench-rayon"
         "${bench_output}/bench-${kernel}-rayon")
    bench_note(${kernel} rayon)
endforeach()
add_custom_command(
    OUTPUT "${bench_rayon}/built"
    COMMAND ${CMAKE_COMMAND} -E copy_directory "${CMAKE_CURRENT_SOURCE_DIR}/rayon" "${bench_rayon}"
    COMMAND
        ${CMAKE_COMMAND} -E env "CARGO_HOME=${bench_rayon}/home" "BENCH_RUSTC=${bench_rustc_version}" ${BENCH_CARGO}
        build --release --offline --quiet --target-dir target --config "source.crates-io.replace-with='debian'"
        --config "source.debian.directory='${BENCH_CARGO_REGISTRY}'"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${bench_output}" ${links}
    COMMAND ${CMAKE_COMMAND} -E touch "${bench_rayon}/built"
    WORKING_DIRECTORY "${bench_rayon}"
    DEPENDS ${sources}
    COMMENT "Building the Rayon programs with cargo"
    VERBATIM)
file(MAKE_DIRECTORY "${bench_rayon}")
add_custom_target(bench-rayon ALL DEPENDS "${bench_rayon}/built")
