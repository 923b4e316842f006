// Tasks run on top of a waiting frame if no stack is free for others (worker.W4).
#pragma once

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// Runs tasks on top of a frame that waits.
class top_runner {
public:
    top_runner(scheduler& w, team& t) noexcept;

    /// Before a wait: runs one task on top of the calling frame if no context is free. False: the frame
    /// may suspend.
    [[nodiscard]] bool help_on_top() noexcept;

private:
    [[nodiscard]] task_word help_own() noexcept;
    [[nodiscard]] task_word help_other(unsigned victim) noexcept;
    void run_on_top(task_word task) noexcept;

    scheduler& m_worker;
    team& m_team;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
