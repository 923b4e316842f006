// The one-lock back-end: threads that look, run, rest and block under one mutex. README.md has the argument.
#pragma once

#include <memory>
#include <mutex>

#include <pilfer/detail/base/park.hpp>

#include "backend/one_lock_queue.hpp"
#include "task/backend.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class one_lock final : public backend {
public:
    /// Throws std::bad_alloc.
    one_lock(team& t, pool_core& p, unsigned temporary);

    [[nodiscard]] bool announce(scheduler& w, task_word task, way may) noexcept override;
    [[nodiscard]] bool announce_weighted(scheduler& w, task_word task, std::uint64_t weight,
                                         way may) noexcept override;
    void attend(scheduler& w) noexcept override;
    [[nodiscard]] worker* reclaim(scheduler& w, task_word task) noexcept override;
    void suspend(scheduler& w, suspension& s) noexcept override;
    void make_runnable(suspension& s) noexcept override;
    [[nodiscard]] std::uintptr_t refill_contexts(scheduler&) noexcept override { return 0; }

    [[nodiscard]] bool help_on_top(scheduler&) noexcept override { return false; }
    void yield(scheduler& w) noexcept override;
    void run_blocking(scheduler& w, blocking_job& job) noexcept override;
    [[nodiscard]] bool dequeue(scheduler& w, submission& s) noexcept override;

    void queue(submission& s, priority level, origin from) noexcept override;
    [[nodiscard]] bool fires_alarms() const noexcept override { return true; }
    void alarm_is_armed() noexcept override;
    [[nodiscard]] bool watches_descriptors() const noexcept override { return false; }
    [[nodiscard]] bool can_resize() const noexcept override { return false; }
    [[nodiscard]] std::optional<thread_figures> threads_now() noexcept override;
    [[nodiscard]] thread_state state_of(unsigned i) noexcept override;

    void shrink(unsigned threads) noexcept override { m_queue.shrink(threads); }
    void run(scheduler& w) noexcept override;
    void end_threads(unsigned threads) noexcept override;
    void check_end(audit& a, const counters& c, std::uint64_t submitted, unsigned threads) noexcept override;

private:
    using lists = one_lock_queue<std_atom, futex_park>;

    [[nodiscard]] bool push(scheduler& w, task_word task, way may) noexcept;
    void run_queued(scheduler& w, submission* s, context& here) noexcept;
    void fire() noexcept;
    void rest(scheduler& w, instant until) noexcept;
    void start_temporary(lists::seat* seat) noexcept;
    [[nodiscard]] instant next_stuck_look() const noexcept;
    void report_if_stuck() noexcept;

    team& m_team;
    pool_core& m_pool;
    std::unique_ptr<lists::seat[]> m_seats;
    lists m_queue;
    std::mutex m_starting; // of temporary threads
    std::mutex m_stuck_mutex;
    struct {
        std::uint64_t moves = UINT64_MAX; // when the pool was first seen stuck
        instant since = 0;
        bool reported = false;
    } m_stuck; // under its mutex
};

} // namespace detail
} // namespace v0
} // namespace pilfer
