#include <pilfer/detail/task/bound_frames.hpp>

#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Read anew by each caller: a frame may have moved since.
[[nodiscard]] bound_frames*& place() noexcept { return this_worker()->current.load(rlx)->ctx->bound; }

} // namespace

bound_frames::bound_frames() noexcept
    : m_home(scheduler::of(this_worker()).guest == nullptr ? this_worker() : nullptr), m_below(place()) {
    place() = this;
}

bound_frames::~bound_frames() { place() = m_below; }

} // namespace detail
} // namespace v0
} // namespace pilfer
