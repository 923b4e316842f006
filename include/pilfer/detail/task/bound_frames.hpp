// Frames that must go on on the thread on which they began.
#pragma once

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// While it lives, each wait on the running task's stack returns on the thread that made the object, and so
/// does each sync() after a spawn. For frames of a library that keeps data of its thread. A local object of a
/// task. Where a guest runs the task, which may leave, waits return anywhere. Cost: a wait that another
/// worker ends takes one more switch of the stack; no instruction elsewhere.
class PILFER_API bound_frames {
public:
    bound_frames() noexcept;
    bound_frames(const bound_frames&) = delete;
    bound_frames& operator=(const bound_frames&) = delete;
    ~bound_frames();

    /// The innermost ones of the running task; null: there are none. Not on threads outside.
    [[nodiscard]] static bound_frames* innermost(const worker& w) noexcept {
        const activation* const a = w.current.load(rlx);
        return a != nullptr ? a->ctx->bound : nullptr;
    }
    /// The worker that `c` belongs to; null: any.
    [[nodiscard]] static worker* home_of(const context& c) noexcept {
        const bound_frames* const b = c.bound;
        return b != nullptr ? b->m_home : nullptr;
    }

private:
    worker* m_home;
    bound_frames* m_below;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
