// The points at which a task learns that it is cancelled. README.md has the table.
#include <pilfer/detail/cancel/points.hpp>

#include <pilfer/cancel.hpp>

#include "cancel/cancellation.hpp"
#include "worker/scheduler.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

bool stopped_cold(worker* w) noexcept {
    return cancellation::stopped_at(w, w->current.load(rlx)->node.load(rlx), !unwinds(w));
}

bool must_leave() noexcept {
    worker* w = this_worker();
    return w != nullptr && stopped_here(w) && !unwinds(w);
}

void leave_if_stopped() {
    if (must_leave()) {
        throw stopped();
    }
}

void drop_and_leave(std::uint64_t tasks) {
    count_dropped(this_worker(), tasks);
    throw stopped();
}

scope_node* place_below(scope_node* node) noexcept {
    scope_node* at = node;
    // The walk stops at a lock, because nothing further out counts. From a stolen branch it also finds scopes
    // of the joining frame, which may end.
    while (scope_node::is_owner(at) && !scope_node::holds(at) && scope_node::strip(at) != nullptr &&
           (scope_node::strip(at)->head().cancel_state.load(rlx) & cancel_flag::shielded) == 0) {
        at = scope_node::strip(at)->parent();
    }
    return at;
}

bool says_stopped(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (const stopped&) {
        return true;
    } catch (...) {
        return false;
    }
}

bool leaves_by_stopped() noexcept { return says_stopped(caught_error()); }

std::exception_ptr stopped_error() noexcept { return std::make_exception_ptr(stopped()); }

bool child_begins(worker* w) noexcept {
    if (!stopped_here(w)) {
        return true;
    }
    count_dropped(w);
    context* c = w->current.load(rlx)->ctx;
    c->job = &c->next; // no other context has its own address there
    return false;
}

bool rest_signalled(worker* w, task_word rest) noexcept {
    return announce_signalled(w, rest) && child_begins(this_worker());
}

} // namespace detail

bool cancelled() noexcept {
    detail::worker* w = detail::this_worker();
    return w != nullptr && w->current.load(detail::rlx) != nullptr && detail::stopped_here(w);
}

} // namespace v0
} // namespace pilfer
