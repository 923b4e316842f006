// Tasks that a shutdown waits for without a submission.
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

void begin_outstanding(worker* w) noexcept { static_cast<scheduler*>(w)->outstanding.begin(); }

void end_outstanding(worker* w) noexcept { static_cast<scheduler*>(w)->outstanding.end(); }

void root_ends(worker* w) noexcept {
    backend_of(w).root_ends(); // while the pool is certain to live
    end_outstanding(w);
}

bool dropping(const worker* w) noexcept { return static_cast<const scheduler*>(w)->crew().dropping(); }

} // namespace detail
} // namespace v0
} // namespace pilfer
