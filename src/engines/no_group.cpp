// Programs without MPI link this file instead of mpi_group.cpp.
#include <stdexcept>

#include "engines/group.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

std::unique_ptr<process_group> make_group(int, char**) {
    throw std::runtime_error("pilfer::cluster: this program was built without MPI");
}

} // namespace detail
} // namespace v0
} // namespace pilfer
