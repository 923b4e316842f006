// Programs without OpenSSL link this file instead of tls.cpp.
#include <stdexcept>

#include "jobqueue/tls.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

std::unique_ptr<stream> secure(std::unique_ptr<stream>, const std::string&, const tls_files&) {
    throw std::runtime_error("needs TLS, and this program was built without OpenSSL");
}

} // namespace detail
} // namespace v0
} // namespace pilfer
