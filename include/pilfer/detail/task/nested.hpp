// A task that runs on top of another frame.
#pragma once

#include <pilfer/detail/context/context.hpp>
#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// While it lives, a task that runs on top of another frame is the running task of the worker. `parent`: the
/// scope that encloses it.
class nested_activation {
public:
    nested_activation(worker* w, scope_node* parent) noexcept
        : nested_activation(w, parent, w->exceptions->in_flight()) {}
    /// For a task that unwinds if more than `not_its_own` exceptions are in flight here.
    nested_activation(worker* w, scope_node* parent, unsigned not_its_own) noexcept
        : m_self(w->current.load(rlx), parent, not_its_own) {
        w->current.store(&m_self, rlx);
    }
    nested_activation(const nested_activation&) = delete;
    nested_activation& operator=(const nested_activation&) = delete;
    ~nested_activation() { this_worker()->current.store(m_self.beneath, rlx); }
    /// For a part of the task beneath, which a recording takes for one with it: reports locks if that does.
    void reports_locks_as_below() noexcept {
        m_self.locks = m_self.beneath->locks & activation::locks_are_recorded;
    }

private:
    activation_on_top m_self;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
