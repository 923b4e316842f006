// The back-end of a pool whose schedules are chosen: one worker, whose ready tasks are in one list.
#pragma once

#if defined(PILFER_TEST)

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/work_stealing.hpp"
#include "explore/chooser.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Why a schedule failed, in the order of how much the reason explains.
enum class verdict {
    passed,
    exception,
    requirement,
    outsider,
    deadlock,
    left_waiting,
    endless,
    blocked,
    misfit
};

/// Return addresses of a step of a task, innermost first. As many as are between a place in a user's code and
/// the step.
using step_frames = std::array<const void*, 16>;

/// One step of a schedule.
struct trace_step {
    std::uint32_t task;  ///< 0: no task, but the pool.
    std::string name;    ///< of the task; empty: it has none
    std::string what;    ///< With the object's name.
    std::uint32_t other; ///< Another task; 0: there is none.
    step_frames frames{};
    unsigned depth = 0; ///< Of the frames.
};

/// The result of one schedule.
struct run_report {
    verdict how = verdict::passed;
    std::string message{};
    bool abandoned = false;             ///< Tasks wait for ever: the pool is not used again.
    bool holds_thread = false;          ///< A task has blocked its thread, which never goes on.
    std::uint32_t hash = 2'166'136'261; ///< Of the steps, if they were traced.
};

/// Says what to run, and hears what came of it. On the worker's own stack.
class exploration {
public:
    /// The plan of the next schedule; null: there is none.
    [[nodiscard]] virtual const plan* next() = 0;
    [[nodiscard]] virtual bool traces() const noexcept = 0;
    /// A trace is to have lines of the source.
    [[nodiscard]] virtual bool shows_lines() const noexcept = 0;
    virtual void call_body() = 0; ///< In a task.
    virtual void ran(const chooser& c, run_report& r, std::vector<trace_step>& trace) = 0;
    [[nodiscard]] virtual std::uint64_t most_steps() const noexcept = 0;
    [[nodiscard]] virtual std::uint64_t most_faults() const noexcept = 0;
    /// For so many nanoseconds a task may block its thread, or compute without a step. 0: for ever.
    [[nodiscard]] virtual std::uint64_t most_time() const noexcept = 0;

protected:
    ~exploration() = default;
};

class exploring final : public work_stealing {
public:
    exploring(team& t, pool_core& p, exploration& x);
    ~exploring() override;

    // ---- called by the thread that explores
    /// Returns when all schedules have run, or one has left tasks that wait for ever, and then says so. The
    /// thread of the worker ends after that, unless a task holds it.
    [[nodiscard]] const run_report& explore() noexcept;

    // ---- inside tasks
    void point(const char* what, const void* object) noexcept;
    /// True if an operation that may fail does.
    [[nodiscard]] bool fault(const char* what, const void* object) noexcept;
    /// Waits for notify() of the object.
    void wait_for(const void* object) noexcept;
    void notify(const void* object, bool all) noexcept;
    /// The first failure of a schedule is its result.
    void fails(verdict how, std::string message);

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
    [[nodiscard]] void* task_leaves() noexcept override;
    void task_returns(scheduler& w, void* left) noexcept override;

    /// The time of the pool.
    [[nodiscard]] instant clock() const noexcept { return m_clock; }
    [[nodiscard]] std::uint64_t ticks() noexcept { return ++m_ticks; }

private:
    /// Something that can run next.
    struct ready {
        std::uint32_t number; ///< The task's.
        task_word task;       ///< 0: `frame` resumes.
        suspension* frame;
        const context* by;        ///< On which it was announced; null: a submission.
        std::uint64_t joined = 0; ///< The number of the entry.
        std::uint64_t owes = 0;   ///< It runs after all entries with smaller numbers than this.
    };
    /// The place of the running task among the candidates.
    enum class turn {
        over,      ///< It is none.
        goes_on,   ///< The first one; another one preempts it.
        is_handed, ///< The first one, to which a task that ended has jumped. Another one is no preemption.
        yields,    ///< The last one, if it owes no other task its turn.
    };
    struct root;
    struct preempted;
    struct notified;

    void watch(std::uint64_t most) noexcept;
    [[nodiscard]] bool holds_its_thread(bool blocked, std::uint64_t moved) noexcept;
    void run_schedule() noexcept;
    void begin_schedule(const plan& p);
    void step() noexcept;
    void enter(const ready& r) noexcept;
    [[nodiscard]] bool fire_next_alarm() noexcept;
    void judge();
    void take_from_outside() noexcept;
    [[nodiscard]] bool has_no_end() noexcept;
    void preempt(std::size_t next, std::uint64_t owes = 0) noexcept;
    void goes_on(turn how) noexcept;
    [[nodiscard]] std::size_t choose(turn how, std::uint64_t owes = 0);
    [[nodiscard]] bool has_older(std::uint64_t number) const noexcept;
    void note(const char* what, const void* object = nullptr, std::uint32_t other = 0, const char* of = "");
    [[nodiscard]] std::string with_name(std::string what, const void* object);
    [[nodiscard]] std::string waits(bool& elsewhere);
    [[nodiscard]] std::uint32_t number_of(const context* c);
    [[nodiscard]] std::uint32_t running();
    void push(task_word task, suspension* frame, std::uint32_t number, const context* by);

    pool_core& m_pool;
    exploration& m_exploration;
    scheduler* m_here = nullptr; // the one worker
    std::atomic<std::uint32_t> m_asked{0};
    std::atomic<std::uint32_t> m_answered{0};
    std::atomic<std::uint64_t> m_moves{0};  // steps, of all schedules
    std::atomic<std::uint64_t> m_thread{0}; // the worker's number in the system
    std::atomic<bool> m_runs{false};        // a schedule does
    std::atomic<const char*> m_last_step{""};
    std::mutex m_outside_mutex;
    std::vector<ready> m_from_outside; // under the mutex
    std::atomic<bool> m_any_outside{false};

    // Of the schedule that runs.
    chooser m_chooser;
    std::vector<ready> m_ready; // the oldest first
    // Places in m_ready, and what is no such place.
    static constexpr std::size_t none = SIZE_MAX;
    static constexpr std::size_t alarm_place = SIZE_MAX - 1;
    static constexpr std::size_t running_place = SIZE_MAX - 2;
    std::size_t m_next = none; // was chosen as a task was preempted
    bool m_picked = false;     // the scheduler has chosen the frame that resumes
    std::unordered_map<const context*, std::uint32_t> m_numbers;
    std::uint32_t m_tasks = 0; // the newest number
    std::uint32_t m_beginning = 0;
    std::uint64_t m_steps = 0;
    std::uint64_t m_faults = 0;
    std::vector<notified*> m_notified; // waits that notify() ends, the oldest first
    std::uint64_t m_yields = 0;        // since something became ready, or an alarm fired
    std::uint64_t m_suspended = 0;     // contexts that wait, or are preempted
    bool m_body_over = false;
    bool m_traces = false;
    bool m_begins = false; // a task does
    std::vector<trace_step> m_trace;
    std::map<std::pair<const void*, std::string_view>, unsigned> m_objects; // numbers of those that are named
    run_report m_report;
    std::vector<std::uint32_t> m_candidates; // numbers of tasks
    std::vector<std::size_t> m_places;       // of the candidates
    std::uint64_t m_joined = 0;              // the newest number of an entry
    std::vector<std::uint64_t> m_yielded;    // by task: m_joined at its last yield
    instant m_clock = 0;
    std::uint64_t m_ticks = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
