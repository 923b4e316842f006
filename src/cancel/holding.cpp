#include <pilfer/detail/cancel/holding.hpp>

#include <pilfer/detail/cancel/points.hpp>

#include "cancel/cancellation.hpp"
#include "worker/scheduler.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

void takes_recorded_lock(activation* a, const void* lock) noexcept {
    a->locks &= ~activation::locks_are_recorded;
    takes_lock(a, lock);
    a->locks |= activation::locks_are_recorded;
    if (lock != nullptr) {
        backend_of(this_worker()).task_locks(lock);
    }
}

void gives_recorded_lock(activation* a, const void* lock) noexcept {
    if (lock != nullptr) {
        backend_of(this_worker()).task_unlocks(lock);
    }
    a->locks &= ~activation::locks_are_recorded;
    gives_lock(a, lock);
    a->locks |= activation::locks_are_recorded;
}

void scope_outlives_lock(const activation* a) noexcept {
    scope_node* at = a->node.load(rlx);
    while (!scope_node::holds(scope_node::strip(at)->parent())) {
        at = scope_node::strip(at)->parent();
    }
    scope_node& oldest = *scope_node::strip(at);
    oldest.outlives_lock();
    cancellation::renew();
    std_atom::fence_sc(); // cancel.C6
    worker* const w = this_worker();
    // The scope of a cleanup is not marked before its first fork.
    if (cancellation::stopped_at(w, &oldest, !unwinds(w))) {
        cancellation::look_again(oldest);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
