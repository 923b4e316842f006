# The libraries that headers of include/pilfer/adapters/ adapt, for their tests and examples. pilfer_adapter_<name> is a
# target with what <pilfer/adapters/<name>.hpp> needs. There is none where that library is not installed, and in cross
# builds, because the folders of this machine's libraries have its system headers too.
foreach(name IN ITEMS parallel_scheduler parlay) # compile without any library
    add_library(pilfer_adapter_${name} INTERFACE)
endforeach()
if(NOT CMAKE_CROSSCOMPILING)
    find_path(PILFER_ASIO_INCLUDE asio/any_io_executor.hpp)
    find_path(PILFER_EIGEN_INCLUDE unsupported/Eigen/CXX11/ThreadPool PATH_SUFFIXES eigen3)
    find_path(PILFER_OPENCV_INCLUDE opencv2/core/parallel/parallel_backend.hpp PATH_SUFFIXES opencv4)
    find_library(PILFER_OPENCV_LIBRARY opencv_core)
    mark_as_advanced(PILFER_ASIO_INCLUDE PILFER_EIGEN_INCLUDE PILFER_OPENCV_INCLUDE PILFER_OPENCV_LIBRARY)
    foreach(name IN ITEMS asio eigen opencv)
        string(TOUPPER ${name} library)
        if(PILFER_${library}_INCLUDE AND (NOT name STREQUAL "opencv" OR PILFER_OPENCV_LIBRARY))
            add_library(pilfer_adapter_${name} INTERFACE)
            target_include_directories(pilfer_adapter_${name} SYSTEM INTERFACE "${PILFER_${library}_INCLUDE}")
        endif()
    endforeach()
    if(TARGET pilfer_adapter_asio)
        # asio 1.22 knows only the coroutines of older versions of clang.
        target_compile_definitions(pilfer_adapter_asio INTERFACE $<$<CXX_COMPILER_ID:Clang>:ASIO_HAS_CO_AWAIT=1>)
    endif()
    if(TARGET pilfer_adapter_eigen)
        # Eigen uses std::bind, for which clang warns of a trait inside libstdc++.
        target_compile_options(pilfer_adapter_eigen INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
    endif()
    if(TARGET pilfer_adapter_opencv)
        target_link_libraries(pilfer_adapter_opencv INTERFACE "${PILFER_OPENCV_LIBRARY}")
    endif()
endif()
