// How a task takes and gives a lock of the library: until its last one is free, no cancellation stops it.
#pragma once

#include <pilfer/detail/context/scope_node.hpp>
#include <pilfer/detail/task/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Called after the running task `a` has released its last lock, if its innermost scope began under a lock
/// and goes on. From now on the tasks below that scope may be stopped.
PILFER_API PILFER_COLD void scope_outlives_lock(const activation* a) noexcept;
/// The halves of takes_lock() and gives_lock() in a pool that records a task graph.
PILFER_API PILFER_COLD void takes_recorded_lock(activation* a, const void* lock) noexcept;
PILFER_API PILFER_COLD void gives_recorded_lock(activation* a, const void* lock) noexcept;
/// Called for the running task, null if there is none, as it takes a lock of the library. Until its last lock
/// is free a cancellation stops it only through scopes that begin meanwhile. A stolen branch of a holder has
/// the mark from the beginning. It is in scopes of the joining frame and leaves their marks alone. `lock`:
/// its address, for recordings; null for a lock that several tasks may hold.
PILFER_ALWAYS_INLINE void takes_lock(activation* a, const void* lock) noexcept {
    if (a == nullptr) {
        return;
    }
    unsigned locks = a->locks;
    if (locks == 0) {
        scope_node* const at = a->node.load(rlx);
        locks = scope_node::holds(at) ? 0 : 1;
        a->node.store(scope_node::as_holder(at), rlx);
    } else if ((locks & activation::locks_are_recorded) != 0) [[unlikely]] {
        detail::takes_recorded_lock(a, lock);
        return;
    }
    a->locks = locks + 2;
}
/// Called for the running task, null if there is none, after it has released a lock of the library, which may
/// be gone.
PILFER_ALWAYS_INLINE void gives_lock(activation* a, const void* lock) noexcept {
    if (a == nullptr) {
        return;
    }
    const unsigned locks = a->locks;
    if (locks > 3) {
        if ((locks & activation::locks_are_recorded) != 0) [[unlikely]] {
            detail::gives_recorded_lock(a, lock);
            return;
        }
        a->locks = locks - 2;
        return;
    }
    a->locks = 0;
    if (locks == 3) {
        scope_node* const at = a->node.load(rlx);
        if (scope_node::holds(at)) [[likely]] {
            a->node.store(scope_node::as_free(at), rlx);
        } else {
            detail::scope_outlives_lock(a);
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
