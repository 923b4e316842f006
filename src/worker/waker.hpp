// Notifies the workers of one team that something is there for them: src/idle/README.md.
#pragma once

#include <atomic>

#include <pilfer/detail/task/runtime.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// Chooses whom to wake, and asks busy workers to yield. Any thread.
class waker {
public:
    explicit waker(team& t) noexcept : m_team(t) {}

    /// A task is queued for any worker: wakes a sleeping worker. If all workers are awake, sets the yield
    /// request of every worker: a busy one yields at one of its next 64 announcements. `spare`, for threads
    /// outside: skips the wake-up if some worker searches, because it will find the task.
    void notify_any(bool spare = false) noexcept;
    /// Wakes a sleeping worker. False: none sleeps.
    [[nodiscard]] bool wake_any(bool spare = false) noexcept;
    /// Wakes worker `i`, the best place to resume a context. False: worker `i` is awake, or the caller will
    /// look itself.
    [[nodiscard]] bool wake(unsigned i) noexcept;
    /// Queues a yielding context after everything else. No other worker is asked to yield.
    void requeue(suspension* s) noexcept;
    /// Hands `s` to worker `worker`, whose thread alone may resume it.
    void send_to(suspension* s, unsigned worker) noexcept;
    /// resume::elsewhere: hands `s` to a worker other than `not_here`.
    void send_elsewhere(suspension* s, unsigned not_here) noexcept;
    /// The worker that is next in turn, for what any worker can take.
    [[nodiscard]] scheduler& in_turn() noexcept;

private:
    void notify(unsigned i) noexcept;
    [[nodiscard]] bool somebody_is_alert() noexcept;

    team& m_team;
    std::atomic<unsigned> m_next{PILFER_CHAOS_START(unsigned)}; // round robin for threads outside
    std::atomic<unsigned> m_seen_alert{0}; // the worker that a thread outside last saw searching
};

} // namespace detail
} // namespace v0
} // namespace pilfer
