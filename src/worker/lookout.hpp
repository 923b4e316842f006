// What a search for work and a wake-up oblige a worker to: src/idle/README.md.
#pragma once

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;

/// Searches without success before a sleep, if the pool spins for idle::latency.
inline constexpr unsigned looks_for_latency = 20;

/// The token and the alert of one worker. Called on the thread's own stack, between two tasks.
class lookout {
public:
    lookout(scheduler& w, team& t) noexcept;

    /// The worker has found something to run: settles its token or alert, and wakes other workers if there is
    /// more work. `likely` is the worker that may have more.
    void found_work(unsigned likely) noexcept;
    /// A search begins. The worker looks at what is queued until found_work(), or until the scan before a
    /// sleep.
    void search_begins() noexcept;
    /// True if the worker was woken and has found nothing since.
    [[nodiscard]] bool has_token() const noexcept { return m_token; }
    /// Called before a sleep. True: search once more instead.
    [[nodiscard]] bool looks_again() noexcept;
    /// A waker has ended the sleep of this worker.
    void takes_token() noexcept { m_token = true; }
    /// Clears the token and the alert of a worker that ends.
    void settle() noexcept;

private:
    scheduler& m_worker;
    team& m_team;
    /// Searches without success since the last sleep, for idle::latency.
    unsigned m_looks = 0;
    /// A waker has given this worker a token. Before the worker runs what it finds, it looks for more.
    bool m_token = false;
    /// This worker searches. A thread that queues something may rely on that, and wake no worker.
    bool m_alert = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
