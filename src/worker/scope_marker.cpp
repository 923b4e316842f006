// Marks scopes as shared when a frame leaves its worker, or gives work to another pool (scope.M5, scope.M6:
// ../scope).
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

scope_marker::scope_marker(scheduler& w, team& t) noexcept : m_worker(w), m_team(t) {}

void scope_marker::mark_scopes(scope_node* inside) noexcept {
    m_worker.count.scopes_shared.add(scope_node::share(inside));
}

/// Marks the scopes of a frame that suspends. If all of them are settled, this takes one load for each and no
/// lock. That is the usual case for a frame that has waited before.
void scope_marker::mark_suspending(activation* from) noexcept {
    for (activation* a = from; scope_node::is_settled(a->node.load(rlx));
         a = static_cast<activation_on_top*>(a)->beneath) {
        if (a == &a->ctx->self) {
            return;
        }
    }
    // scope.M5: an enclosing scope may leave the chain meanwhile, on another worker to which its frame has
    // moved unmarked.
    (void)m_worker.deque.owner().locked([this, from]() noexcept {
        mark_scope_cursors(from);
        return true;
    });
}

/// Marks the scopes of a task that becomes stealable. A single worker shares with no other one, whatever its
/// policy exposes.
void scope_marker::mark_task(task_word task) noexcept {
    if (m_team.size() > 1) {
        const auto* const at = reinterpret_cast<const void*>(task & ~kind_mask);
        san::acquire(at); // deque.R2 again: the owner's stores are those of several fibers
        mark_scopes(parent_of(task));
        san::release(at); // after this look at its frame
    }
}

/// Marks the scopes of a frame and of the frames that it runs on top of. They may resume on another worker,
/// while the tasks that they announced stay in this deque. Called under a lock of a deque.
void scope_marker::mark_scope_cursors(activation* from) noexcept {
    for (activation* a = from;; a = static_cast<activation_on_top*>(a)->beneath) {
        mark_scopes(a->node.load(rlx));
        if (a == &a->ctx->self) {
            return;
        }
    }
}

/// scope.M6: a suspended frame is about to leave its worker, on which the scopes that enclose it may live on
/// unmarked.
PILFER_NOINLINE void scope_marker::mark_moved(suspension& s) noexcept {
    (void)s.home->deque.thief().locked([this, &s]() noexcept {
        mark_scope_cursors(s.act);
        return true;
    });
}

} // namespace detail
} // namespace v0
} // namespace pilfer
