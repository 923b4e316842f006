// Switches between the stack of a worker's thread and the stacks of tasks.
#pragma once

#include <cstdint>

#include <pilfer/detail/task/runtime.hpp>

#include "context/sanitizer.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// Enters and leaves contexts on one thread.
class switcher {
public:
    switcher(scheduler& w, team& t) noexcept;

    // ---- on the thread's own stack, between two tasks. Each returns when the thread is back.
    /// Begins a task on a free context. There is one: context_reserve::has_context().
    void start(task_word job) noexcept;
    /// Resumes the parent after a spawn whose child still runs on another worker.
    void continue_rest(scope_node& s) noexcept { after_switch(continue_parent(s)); }
    void resume_now(suspension& s) noexcept;
    /// The thread that calls this is the worker's from now on: sanitizers learn the bounds of its stack.
    void enter_thread() noexcept;
    /// For ThreadSanitizer, on a thread that takes the worker over from another one.
    void take_over() noexcept;

    // ---- on the stack of a task
    /// The body of suspend().
    void suspend_here(suspension& s) noexcept;
    /// Ends the job of `c`, and resumes `next` if it is not null.
    [[noreturn]] void leave_context(context* c, suspension* next) noexcept;

private:
    [[nodiscard]] void* continue_parent(scope_node& s) noexcept;
    [[nodiscard]] void* enter_context(context* c, task_word job) noexcept;
    [[nodiscard]] void* enter_suspended(suspension& s) noexcept;
    void let_go(suspension& s) noexcept;
    void after_switch(void* message) noexcept;

    scheduler& m_worker;
    team& m_team;
    void* m_sp = nullptr; // the saved stack of the thread while a context runs
    stack_view m_view;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
