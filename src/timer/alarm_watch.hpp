// The alarms of one pool: which worker fires them, and which sleeping worker watches for the next one.
// Argument: README.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/detail/timer/alarm.hpp>

#include "task/service.hpp"
#include "timer/timekeeper.hpp"
#include "trace/tally.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class team;
class timed_task;

/// The due time that stands for an awaited descriptor in the watch. It is after every alarm, before `never`.
inline constexpr instant any_time = never - 1;

/// Descriptors, for the watching worker: it looks at them beside the alarms, and sleeps there.
class watched_kernel {
public:
    /// True if something is awaited.
    [[nodiscard]] virtual bool is_awaited() const noexcept = 0;
    /// True if something is awaited, and no thread has looked for some time.
    [[nodiscard]] virtual bool is_due() const noexcept = 0;
    /// Makes runnable what waited for something that has happened. True: something did.
    virtual bool look() noexcept = 0;
    /// `w` sleeps until something happens or another thread wakes it. `ns`: at most; 0: no limit.
    virtual void sleep(scheduler& w, std::uint64_t ns) noexcept = 0;

protected:
    ~watched_kernel() = default;
};

/// One per pool.
class alarm_watch final : public watcher, public service, public kept_time {
public:
    explicit alarm_watch(pool_core& p);
    ~alarm_watch();

    /// Arms `a`. On worker `w`.
    void arm(scheduler& w, alarm& a, instant due, told when) noexcept;
    /// Arms `a`. Any thread.
    void arm(alarm& a, instant due) noexcept;
    /// The worker `w` waits for something that is due at `due`: no watching worker may sleep longer than
    /// that.
    void expect(scheduler& w, instant due, told when) noexcept;
    /// expect() of any thread.
    void expect(instant due) noexcept;
    /// From now on the watching worker also watches over `k`.
    void watch_over(watched_kernel& k) noexcept;

    /// When the first alarm of any worker is due. Cost: one cache line of each worker.
    [[nodiscard]] instant first_alarm() const noexcept;
    /// True if an alarm is due before `limit`, or if a descriptor is awaited.
    [[nodiscard]] bool expects_before(instant limit) const noexcept;

    /// The alarms of worker `i`. Works on a copy of this object, too: see `pilfer top`.
    [[nodiscard]] const timer_heap<std_atom, futex_park>* heap_of(unsigned i) const noexcept {
        return &m_desks.get()[i].alarms;
    }

    // ---- tasks of alarms
    /// Runs a prompt task, which has fired and is counted, at once on the thread that fires it.
    void run_prompt(timed_task& t) noexcept;
    /// Keeps a cancelled `every` until its canceller no longer uses this pool.
    void leave_cancelled(timed_task* t) noexcept;
    /// Keeps a timed task that must not end on a scheduler's stack, because user code cannot run there.
    void leave_ended(timed_task* t) noexcept;

    // ---- the end of the pool
    /// `counted`: also drops the alarms that a draining shutdown waits for.
    void drop_alarms(bool counted) noexcept;
    /// Ends the timed tasks that were left. The calling thread may run user code.
    void end_dropped() noexcept;
    /// Called after the last worker has ended.
    void wait_for_cancellers() noexcept;

    // ---- watcher
    void serve(scheduler& w, bool in_turn) noexcept override;
    [[nodiscard]] bool look_again(scheduler& w) noexcept override;
    void stays_awake(scheduler& w) noexcept override;
    void found_work(scheduler& w) noexcept override;
    void settled_token(scheduler& w) noexcept override;
    void sleep(scheduler& w, std::uint64_t ns) noexcept override;
    void limit(scheduler& w, instant until, bool leaves, limited_wait& wait) noexcept override;
    [[nodiscard]] bool hand_on(scheduler& w) noexcept override;

    // ---- service
    void plan_rest(scheduler& w, rest_plan& plan) noexcept override;
    [[nodiscard]] instant first_due() const noexcept override { return first_alarm(); }
    void fire_due(instant t) noexcept override;

    // ---- kept_time
    [[nodiscard]] instant first_unwatched() const noexcept override;
    void fire_unwatched(instant t, std::string& report) noexcept override;

private:
    /// The alarms of one worker. Its thread writes it; any thread arms.
    struct alignas(line_bytes) desk {
        timer_heap<std_atom, futex_park> alarms;
        /// When the first alarm armed here is due that the watch does not know.
        own_word<instant> armed{never};
        /// This worker was the last to take over the watch.
        bool watches = false;
        /// The next look is at the alarms of all workers.
        bool looks_at_all = false;
    };
    [[nodiscard]] desk& of(const scheduler& w) const noexcept;
    [[nodiscard]] bool fire_all(scheduler& w, bool of_all) noexcept;
    static unsigned fire_some(desk& d, instant t) noexcept;
    [[nodiscard]] instant lie_down(scheduler& w) noexcept;
    [[nodiscard]] instant first_expected() const noexcept;
    void wake_watch(instant due) noexcept;
    void find_watch() noexcept;
    [[nodiscard]] bool is_watched() const noexcept;

    pool_core& m_pool;
    timer_watch<std_atom> m_watch;
    std::unique_ptr<desk[]> m_desks; // by worker
    std::atomic<watched_kernel*> m_kernel{nullptr};
    submission_queue<std_atom> m_cancelled;
    submission_queue<std_atom> m_ended;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
