// The back-end of a pool whose schedules are chosen: one worker, whose ready tasks are in one list.
#pragma once

#if defined(PILFER_TEST)

#include <atomic>
#include <cstdint>

#include "backend/work_stealing.hpp"
#include "explore/interleaving.hpp"
#include "explore/ready_list.hpp"
#include "search/exploration.hpp"
#include "search/watched_thread.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class exploring final : public work_stealing {
public:
    exploring(team& t, pool_core& p, exploration& x);
    ~exploring() override;

    // ---- called by the thread that explores
    /// Returns when all schedules have run, or one has left tasks that wait for ever, and then says so. The
    /// thread of the worker ends after that, unless a task holds it.
    [[nodiscard]] const run_report& explore() noexcept;

    /// The schedule that runs.
    [[nodiscard]] interleaving& now() noexcept { return m_now; }

    // ---- backend
    [[nodiscard]] bool announce(scheduler& w, task_word task, way may) noexcept override;
    [[nodiscard]] bool announce_weighted(scheduler& w, task_word task, std::uint64_t weight,
                                         way may) noexcept override;
    void attend(scheduler& w) noexcept override;
    [[nodiscard]] worker* reclaim(scheduler& w, task_word task) noexcept override;
    void suspend(scheduler& w, suspension& s) noexcept override;
    void make_runnable(suspension& s) noexcept override;
    void yield(scheduler& w) noexcept override;
    void run_blocking(scheduler& w, blocking_job& job) noexcept override;
    [[nodiscard]] bool may_run_awaited() const noexcept override { return false; }
    [[nodiscard]] bool may_announce(const scheduler&) const noexcept override { return false; }
    void queue(submission& s, priority level, origin from) noexcept override;
    [[nodiscard]] bool run_prompt(scheduler&, submission&) noexcept override { return false; }
    [[nodiscard]] bool fires_alarms() const noexcept override { return true; }
    [[nodiscard]] bool can_resize() const noexcept override { return false; }
    void run(scheduler& w) noexcept override;
    void end_threads(unsigned threads) noexcept override;
    void check_end(audit& a, const counters& c, std::uint64_t submitted, unsigned threads) noexcept override;

    void task_begins(scheduler& w, task_word task) noexcept override;
    void task_ends() noexcept override;
    [[nodiscard]] void* task_leaves(const suspension* wait) noexcept override;
    void task_returns(scheduler& w, void* left) noexcept override;

private:
    struct root;

    void thread_was_stopped(const watched_thread::stopped& at);
    void run_schedule() noexcept;
    [[nodiscard]] bool descriptor_is_ready() noexcept;
    void enter(const ready& r) noexcept;
    void judge();
    void take_from_outside() noexcept;

    exploration& m_exploration;
    scheduler* m_here = nullptr; // the one worker
    std::atomic<std::uint32_t> m_asked{0};
    std::atomic<std::uint32_t> m_answered{0};
    watched_thread m_thread;
    ready_outside m_outside;
    interleaving m_now;

    // Of the schedule that runs.
    bool m_picked = false; // the scheduler has chosen the frame that resumes
    std::uint32_t m_beginning = 0;
    std::uint64_t m_suspended = 0; // contexts that wait, or are preempted
    bool m_body_over = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
