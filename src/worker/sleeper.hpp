// When a worker sleeps, and what a wake-up obliges it to: src/idle/README.md.
#pragma once

#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
class scheduler;

/// Searches without success that idle::latency puts in front of a sleep.
inline constexpr unsigned looks_for_latency = 20;

/// The token and the alert of one worker, and its sleep. On the thread's own stack, between two tasks.
class sleeper {
public:
    sleeper(scheduler& w, pool_core& p) noexcept;

    /// The worker has found something to run, and pays what it owes to others that want work. `likely`: the
    /// worker that may have more.
    void found_work(unsigned likely) noexcept;
    /// A search begins. From now on until found_work() or the scan before a sleep it looks at what is queued.
    void search_begins() noexcept;
    /// Woken, and nothing found since.
    [[nodiscard]] bool has_token() const noexcept { return m_token; }
    /// Before a sleep. True: another look instead.
    [[nodiscard]] bool looks_again() noexcept;
    void sleep() noexcept;
    /// The pool wants fewer workers: returns when this one is wanted again, or has a frame to go on with.
    void retire() noexcept;
    /// The worker ends.
    void settle() noexcept;

private:
    scheduler& m_worker;
    pool_core& m_pool;
    unsigned m_looks = 0; // searches without success since the last sleep: idle::latency
    bool m_token = false; // a waker gave it: before the worker runs what it finds, it looks for more
    bool m_alert = false; // it searches: a thread that queues something may rely on it and wake no worker
};

} // namespace detail
} // namespace v0
} // namespace pilfer
