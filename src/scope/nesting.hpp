// Forks that run as plain calls, and how deep they are nested.
#pragma once

#if defined(PILFER_TEST)
#include <cstdint>
#endif

#include <pilfer/detail/task/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// How many forks, each in the one before it, the stack of a task contains. A pool on one lock calls what is
/// forked, and so does any pool without memory for the announcement. A task that may fork without end keeps
/// the work to itself from `most` on.
///
/// It is an estimate: a fork that starts on a context which its forker has left meanwhile counts as a call.
class nesting {
public:
    static constexpr unsigned most = 16;

    nesting() noexcept = default;
    /// For what the running task is about to fork.
    [[nodiscard]] nesting forked() const noexcept { return nesting(task_here(), m_depth); }
    /// Called first by what has been forked.
    [[nodiscard]] nesting begun() const noexcept {
        return nesting({}, task_here() == m_forker ? m_depth + 1 : 0);
    }
    [[nodiscard]] bool is_call() const noexcept { return m_depth != 0; }
    [[nodiscard]] bool is_deep() const noexcept { return m_depth >= most; }

private:
    struct task_id {
        const context* stack = nullptr;
#if defined(PILFER_TEST)
        std::uint64_t name = 0; // a stack is used again at another time in the repetition of a recording
#endif
        friend bool operator==(const task_id&, const task_id&) = default;
    };
    [[nodiscard]] static task_id task_here() noexcept {
        const context* const c = this_activation()->ctx;
#if defined(PILFER_TEST)
        return {c, c->test.name()};
#else
        return {c};
#endif
    }
    nesting(task_id forker, unsigned depth) noexcept : m_forker(forker), m_depth(depth) {}

    task_id m_forker;
    unsigned m_depth = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
