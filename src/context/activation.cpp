#include <pilfer/detail/context/context.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

PILFER_NOINLINE activation* activation_outside() noexcept {
    static constinit thread_local activation self;
    return &self;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
