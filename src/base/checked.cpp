#include <pilfer/detail/base/checked.hpp>

#include <cstdlib>

#include "base/write.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

void check_failed(const char* what) noexcept {
    os::write_error("pilfer: check failed: ");
    os::write_error(what);
    os::write_error("\n");
    std::abort();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
