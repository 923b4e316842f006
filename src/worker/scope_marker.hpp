// Marks of scopes whose tasks may leave the worker (scope.M1, scope.M5, scope.M6: src/scope/README.md).
#pragma once

#include <pilfer/detail/task/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// Marks scopes as shared on behalf of one worker.
class scope_marker {
public:
    scope_marker(scheduler& w, team& t) noexcept;

    /// For exposing: marks the scopes of each task before it becomes stealable (scope.M1).
    [[nodiscard]] auto marking() noexcept {
        return [this](task_word task) noexcept { mark_task(task); };
    }
    /// A frame is about to suspend on this worker.
    void mark_suspending(activation* from) noexcept;
    /// A frame that suspended on another worker resumes on this one.
    void mark_moved(suspension& s) noexcept;

private:
    void mark_task(task_word task) noexcept;
    void mark_scopes(scope_node* inside) noexcept;
    void mark_scope_cursors(activation* from) noexcept;

    scheduler& m_worker;
    team& m_team;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
