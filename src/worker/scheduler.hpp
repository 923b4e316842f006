// One worker: its thread, its parts, and what only its thread touches.
//
// The scheduler runs on the thread's own stack and never moves. Tasks run on contexts. A task that waits
// switches to the scheduler, and only there is its wait published. The order of looking for work and the
// steps of a switch are in README.md.
#pragma once

#include <atomic>
#include <cstdint>

#include <pilfer/detail/task/parked.hpp>
#include <pilfer/detail/task/runtime.hpp>

#include "idle/activity.hpp"
#include "idle/closing.hpp"
#include "memory/block_pool.hpp"
#include "task/backend.hpp"
#include "trace/event_log.hpp"
#include "trace/tally.hpp"
#include "worker/announcer.hpp"
#include "worker/context_reserve.hpp"
#include "worker/lookout.hpp"
#include "worker/scope_marker.hpp"
#include "worker/sleeper.hpp"
#include "worker/switcher.hpp"
#include "worker/thief.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class cancel_seat;
class occupant;
class service;
class team;

/// Every 64th look for work skips the source that would otherwise always win.
inline constexpr std::uint64_t fairness_mask = 63;

class alignas(line_bytes) scheduler final : public worker {
public:
    scheduler(team& crew, pool_core& owner, unsigned number, bool pinned);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    [[nodiscard]] static scheduler& of(worker* w) noexcept { return *static_cast<scheduler*>(w); }
    [[nodiscard]] pool_core& core() const noexcept { return *pool; }
    [[nodiscard]] team& crew() const noexcept { return m_team; }
    [[nodiscard]] detail::backend& backend() const noexcept { return m_backend; }

    // ---- the thread
    /// The loop of a worker that steals, until the pool stops.
    void work() noexcept;
    /// Looks for work once, and runs what was found. False: nothing was found.
    [[nodiscard]] bool step() noexcept;
    /// From here on the calling thread is the worker's, until disappear() makes it a thread outside.
    void appear() noexcept;
    void disappear() noexcept;

    // ---- between two tasks
    /// Runs a context that may resume here, or a submission of at least level `lowest`. False: there is none.
    [[nodiscard]] bool resume_one() noexcept;
    [[nodiscard]] bool run_submission(priority lowest = priority::low) noexcept;
    /// Runs a task that was taken from a deque.
    void execute(task_word task) noexcept;
    /// A task inside the scope `parent` begins: cancellations look at it.
    void note_begin(scope_node* parent) noexcept {
        if (deque.signal().has(signal_word<std_atom>::stop)) [[unlikely]] {
            note_begin_cold(parent);
        }
    }
    /// True if a submission or a context waits for this worker, or for any.
    [[nodiscard]] bool anything_queued(priority lowest = priority::low) noexcept;
    /// True if something is queued, a deque of the pool has a task, or the pool stops.
    [[nodiscard]] bool anything_ready() noexcept;
    /// True if a retired worker's deque has a task.
    [[nodiscard]] bool anything_left() noexcept;
    /// True if resize() wants this worker to retire.
    [[nodiscard]] bool retires() const noexcept;
    /// Called before a context is entered: work that waits for a worker gets its turn during it.
    void remind(priority level) noexcept;

    // ---- inside a task, which may be on another worker afterwards
    /// Queues the running context after all other work that waits for this worker.
    void yield_here() noexcept;
    /// Lets one other ready thing run before the running context: see yield().
    void let_others_first() noexcept;
    /// In the function suspension::publish, after which the frame may resume: returns when the inbox has a
    /// frame, and the next look finds that. Not in a slot for guests.
    void wait_for_inbox() noexcept;
    /// The running context resumes on worker `there` of its pool.
    void go_to(unsigned there) noexcept;
    /// The running context resumes on another worker of its pool, if there is one.
    void go_elsewhere() noexcept;

    // ---- what services use
    /// This worker is about to run something: services hand on what they watch over, and other workers get
    /// the notices that were deferred.
    void hand_on() noexcept;
    /// A task that runs on this thread before anything else.
    void add_prompt(submission& s) noexcept { m_prompts.push(&s); }
    /// Calls `f`, which makes tasks runnable, and returns true if it did. This worker looks for them first,
    /// and wakes others only when it has found one.
    template <class F>
    bool deferring_notices(F f) noexcept {
        m_defers = true;
        const bool any = f();
        m_defers = false;
        return any;
    }
    void owe_notice() noexcept { m_owes_notice = true; }
    [[nodiscard]] bool defers_notices() const noexcept { return m_defers; }

    // ---- guests
    /// True if a worker or a guest reads the inbox. Any thread.
    [[nodiscard]] bool is_there() const noexcept { return m_there.load(rlx); }
    /// A slot for guests is taken, or left.
    void set_there(bool now) noexcept { m_there.store(now, rlx); }
    /// Moves the inbox of a slot without a guest to the runnable queue. Any thread.
    void forward_inbox() noexcept;
    /// The guest that runs this scheduler; null: a worker of the pool, or a free slot.
    own_word<occupant*> guest{nullptr};

    /// The suspended contexts that have to resume on this worker. Any thread may push.
    [[nodiscard]] submission_queue<std_atom>& inbox() noexcept { return m_inbox; }
    /// The level of the running task. A stolen task has the level of the task that its victim ran last.
    [[nodiscard]] priority level() const noexcept { return m_level; }
    void set_level(priority level) noexcept { m_level = level; }
    // Each has a probe. They are not inlined, because perf takes one place for a name.
    /// Worker `i` was woken by this one.
    PILFER_NOINLINE void woke(unsigned i) noexcept;
    /// `tasks` tasks were taken from the deque of worker `victim`, and one of them runs next.
    PILFER_NOINLINE void stole(unsigned victim, std::int64_t tasks) noexcept;

    alignas(line_bytes) tally count;
    outstanding_counts<std_atom> outstanding;
    parked_list waiting_coroutines; // coroutines that suspended here, for reports
    block_list blocks[block_classes];
    /// Tasks of futures that were claimed here and may still be in this deque: a hint.
    own_word<unsigned> stale_announcements{0};
    std::uintptr_t thread = 0;
    std::atomic<std::uint64_t> thread_id{0}; // of the system, for reports
    /// The number of tasks that the thief that asked last takes next (steal_amount::adaptive).
    std::atomic<std::uint64_t> requested{1};
    std::atomic<bool> on_its_cpu{false};   // the thread is pinned; for reports
    std::atomic<bool> has_priority{false}; // options.priority was granted; for reports
    std::atomic<activity> current_activity{activity::other};
    /// The part that cancellations use: src/cancel.
    cancel_seat* cancel = nullptr;

    // The parts of the worker. Code that runs on its thread uses them.
    event_log log;
    scope_marker marks;
    switcher switching;
    context_reserve reserve;
    lookout looking;
    sleeper resting;
    announcer sharing;
    thief theft;

private:
    [[nodiscard]] bool run_own() noexcept;
    [[nodiscard]] bool run_prompts() noexcept;
    void start_submission(submission& s, priority level) noexcept;
    [[nodiscard]] bool resume_here() noexcept;
    void resume_found(submission_queue<std_atom>::node* n, trace::what how) noexcept;
    void note_begin_cold(scope_node* parent) noexcept;
    void work_begins() noexcept;

    team& m_team;
    detail::backend& m_backend; // the pool's
    submission_queue<std_atom> m_inbox;
    submission_queue<std_atom> m_prompts; // of this thread
    std::atomic<bool> m_there{true};      // pool.V2
    /// Tasks run by the scheduler: every 64th look starts elsewhere.
    own_word<std::uint64_t> m_ends{PILFER_CHAOS_START(std::uint64_t)};
    own_word<priority> m_level{priority::normal};
    /// For leveled_queue::pop().
    own_word<std::uint32_t> m_turn{0};
    /// A context has just yielded to submissions, which run first.
    own_word<bool> m_submissions_first{false};
    /// The level of the frame that yielded to them.
    own_word<priority> m_yielded_for{priority::low};
    /// A context has just yielded to one other ready thing: a task of the own deque runs first.
    own_word<bool> m_own_first{false};
    own_word<bool> m_defers{false};
    /// A service has made tasks runnable, and no worker was woken.
    bool m_owes_notice = false;
};

/// The back-end of the pool whose worker runs the caller.
[[nodiscard]] inline backend& backend_of(const worker* w) noexcept {
    return static_cast<const scheduler*>(w)->backend();
}

/// Called before a wait of the task that runs on `w`. If that task cannot suspend, runs another one on top of
/// it. False: it can suspend.
[[nodiscard]] inline bool help_on_top(worker* w) noexcept {
    return backend_of(w).help_on_top(*static_cast<scheduler*>(w));
}

} // namespace detail
} // namespace v0
} // namespace pilfer
