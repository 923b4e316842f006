// When a worker sleeps, and what a wake-up obliges it to: src/idle/README.md.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class scheduler;
class team;
struct rest_plan;

/// Searches without success before a sleep, if the pool spins for idle::latency.
inline constexpr unsigned looks_for_latency = 20;

/// The token and the alert of one worker, and its sleep. Called on the thread's own stack, between two tasks.
class sleeper {
public:
    sleeper(scheduler& w, team& t) noexcept;

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
    void sleep() noexcept;
    /// Parks a worker that the pool does not want. Returns when the worker is wanted again, has a frame to
    /// resume, or has to end with the pool.
    void retire() noexcept;
    /// Parks a worker whose task waits beside nothing. Returns when the worker has a frame to resume.
    void wait_for_inbox() noexcept;
    /// Clears the token and the alert of a worker that ends.
    void settle() noexcept;

private:
    void make(rest_plan& plan) noexcept;
    /// Without token or alert. Returns after a call, or if `called()` is true.
    template <class Called>
    void park(Called called) noexcept;
    PILFER_NOINLINE void note_park() noexcept;
    PILFER_NOINLINE void note_unpark() noexcept;
    static void rest_on(std::atomic<std::uint32_t>& state, std::uint64_t ns) noexcept;

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
