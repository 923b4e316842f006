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

/// Enters and leaves contexts on one thread, and has the contexts that the thread keeps in reserve.
class switcher {
public:
    switcher(scheduler& w, team& t) noexcept;

    // ---- on the thread's own stack, between two tasks. Each returns when the thread is back.
    /// Begins a task on a free context. There is one: has_context().
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

    // ---- free contexts
    /// True if a task can start.
    [[nodiscard]] bool has_context() noexcept;
    /// The body of refill_contexts().
    [[nodiscard]] std::uintptr_t refill_contexts() noexcept;
    /// Gets a context beyond the limit if the calling frame has used half of its stack. Then nothing may
    /// begin on top of it. False: it has not, or there is none.
    [[nodiscard]] bool takes_beyond() noexcept;
    /// Gives the free contexts back to the pool.
    void give_contexts() noexcept;
    /// For LeakSanitizer, on any thread: true if no task runs here and `c` is in the list of free contexts.
    [[nodiscard]] bool keeps_at_rest(const context& c) const noexcept;

private:
    void leaves_rest(activation* a) noexcept;
    [[nodiscard]] void* continue_parent(scope_node& s) noexcept;
    [[nodiscard]] void* enter_context(context* c, task_word job) noexcept;
    [[nodiscard]] void* enter_suspended(suspension& s) noexcept;
    void let_go(suspension& s) noexcept;
    void after_switch(void* message) noexcept;

    scheduler& m_worker;
    team& m_team;
    void* m_sp = nullptr; // the saved stack of the thread while a context runs
    stack_view m_view;
    // See leaves_rest(); of AddressSanitizer only.
    [[maybe_unused]] bool m_list_is_shown = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
