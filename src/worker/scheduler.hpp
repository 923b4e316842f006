// One worker: its thread, its stack of scheduling, and what only its thread touches.
//
// The scheduler runs on the thread's own stack and never moves. Tasks run on contexts. A task that waits
// switches to the scheduler, and only there is its wait published. The order of looking for work and the
// steps of a switch are in README.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <pilfer/detail/worker/parked.hpp>
#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/scope.hpp>

#include "balance/amount.hpp"
#include "balance/exposure.hpp"
#include "balance/victim.hpp"
#include "trace/ring.hpp"
#include "worker/backend.hpp"
#include "worker/block_pool.hpp"
#include "worker/closing.hpp"
#include "worker/overdue.hpp"
#include "worker/readiness.hpp"
#include "worker/tally.hpp"
#include <pilfer/detail/cancel/waits.hpp>
#include <pilfer/detail/worker/alarm.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class pool_core;
struct blocking_job;
struct guest;

/// Every 64th look for work starts behind the station that would otherwise always win.
inline constexpr std::uint64_t fairness_mask = 63;
/// The least time between two looks of steal_in_turn(): a reach costs up to 10 us beside running threads, as
/// much as 64 of the smallest tasks.
inline constexpr instant between_turns = 250'000; // ns
/// How many tasks a summoned worker may still announce before it yields to what waits for it.
inline constexpr unsigned yield_patience = 64;
/// Searches without success that idle::latency puts in front of a sleep.
inline constexpr unsigned looks_for_latency = 20;
/// A deque that weighs its tasks grows no further, so that no sum exceeds 2^63: see
/// task_options::most_weight.
inline constexpr std::int64_t most_weighed = std::int64_t{1} << 31;

class alignas(line_bytes) scheduler final : public worker {
public:
    scheduler(pool_core& owner, unsigned number, bool pinned);
    ~scheduler();
    scheduler(const scheduler&) = delete;
    scheduler& operator=(const scheduler&) = delete;

    /// The thread's whole life.
    void run() noexcept;
    /// The loop of a worker that steals, until the pool stops.
    void work() noexcept;
    /// On its own thread: from here on, until appear(), it is a thread outside.
    void disappear() noexcept;
    void appear() noexcept;
    [[nodiscard]] detail::backend& backend() const noexcept { return m_backend; }

    // A seat without a thread, which guests take: ./guest.cpp.
    void has_no_thread() noexcept;
    /// Anyone: somebody looks into the inbox.
    [[nodiscard]] bool is_there() const noexcept { return m_there.load(rlx); }
    void work_until(guest& v) noexcept;
    void forward_inbox() noexcept;
    /// No task runs here, and `c` lies in this worker's own list. Any thread may ask: for LeakSanitizer.
    [[nodiscard]] bool keeps_at_rest(const context& c) const noexcept;
    [[nodiscard]] bool ask_outside(bool (*ask)(void*), void* self) noexcept;

    // What the back-end work_stealing does: see src/worker/backend.hpp.
    [[nodiscard]] bool signalled(task_word task, way may) noexcept;
    [[nodiscard]] bool announce_weighted(task_word task, std::uint64_t weight, way may) noexcept;
    void attend() noexcept;
    [[nodiscard]] worker* reclaim_slow(task_word task) noexcept;
    /// Before a wait: runs an own spark on top of the calling frame if no context can be had. False: the
    /// frame may suspend.
    [[nodiscard]] bool help_on_top() noexcept;
    [[nodiscard]] std::uintptr_t refill_contexts() noexcept;
    /// A stack can be had for a task that starts.
    [[nodiscard]] bool has_context() noexcept;
    /// The frame that waits has used half of its stack: nothing may begin on top of it, if another stack can
    /// be had beyond the limit. True: one has been taken.
    [[nodiscard]] bool takes_beyond() noexcept;
    /// The free contexts go back to the pool.
    void give_contexts() noexcept;
    /// The newest private task, if that is no continuation or forked child; 0: none. The caller announces
    /// it again, or it is over.
    [[nodiscard]] task_word take_newest_spark() noexcept;
    /// The calling frame goes behind one other thing that is ready: see yield().
    void let_others_first() noexcept;
    /// The calling frame goes on on that worker of its pool.
    void go_to(unsigned number) noexcept;

    /// The end of a context's job: never returns to it.
    [[noreturn]] void leave_context(context* c, suspension* next) noexcept;
    /// The body of suspend().
    void suspend_here(suspension& s) noexcept;

    /// Anyone: a suspended context that has to go on on this worker.
    [[nodiscard]] submission_queue<std_atom>& inbox() noexcept { return m_inbox; }
    [[nodiscard]] pool_core& core() noexcept { return m_pool; }
    /// Of what runs here. A task that came out of a deque has that of what its deque's worker ran last.
    [[nodiscard]] priority level() const noexcept { return m_level; }

    /// One event of the trace; nothing but this branch where it is off. On this worker's thread.
    PILFER_ALWAYS_INLINE void note(trace::what what, std::uint32_t who = 0, std::uint32_t n = 0) noexcept {
        if (m_trace != nullptr) [[unlikely]] {
            m_trace->add(what, trace::task::spark, who, n);
        }
    }
    /// Worker `i` was woken by this one.
    void woke(unsigned i) noexcept {
        count.wakes.add();
        note(trace::what::wake, i);
    }
    /// Null: off.
    [[nodiscard]] const trace::ring* traced() const noexcept { return m_trace.get(); }

    /// An alarm of this worker is due at `due`. On its thread.
    void armed(instant due, told when) noexcept;
    /// On its thread, which fires alarms: runs before anything else.
    void add_prompt(submission& s) noexcept { m_prompts.push(&s); }
    /// This thread fires alarms: it looks itself after what they make runnable, and tells others then.
    [[nodiscard]] bool fires() const noexcept { return m_fires; }
    /// Anyone arms, this worker and at the latest the one that watches fire.
    timer_heap<std_atom, futex_park> alarms;

    alignas(line_bytes) tally count;
    outstanding_counts<std_atom> outstanding;
    parked_list waiting_coroutines; // which suspended here; for reports
    block_list blocks[block_classes];
    /// Tasks of futures that were claimed here, and whose announcements may lie in this deque: a hint.
    own_word<unsigned> stale_announcements{0};
    std::uintptr_t thread = 0;
    std::atomic<std::uint64_t> thread_id{0}; // of the system, for reports
    /// What the thief that asked last takes next (steal_amount::adaptive).
    std::atomic<std::uint64_t> requested{1};
    std::atomic<bool> on_its_cpu{false};   // the thread is pinned; for reports
    std::atomic<bool> has_priority{false}; // options.priority was granted; for reports
    std::atomic<activity> current_activity{activity::other};
    /// Waits of tasks that entered them here, which a cancellation ends: src/scope/README.md.
    cancellable_waits<std_atom, futex_park, scope_node> stoppable; // those below of scopes
    look_guard<std_atom> looks_up;

private:
    [[nodiscard]] static scheduler& of(worker* w) noexcept { return *static_cast<scheduler*>(w); }
    // The thread itself: ./threads.cpp.
    void name_thread() noexcept;
    [[nodiscard]] bool thread_begins() noexcept;
    void thread_ends() noexcept;
    [[nodiscard]] bool step() noexcept;
    [[nodiscard]] bool resume_one() noexcept;
    [[nodiscard]] bool run_own() noexcept;
    [[nodiscard]] bool run_prompt() noexcept;
    [[nodiscard]] bool run_submission(priority lowest = priority::low) noexcept;
    [[nodiscard]] bool search() noexcept;
    [[nodiscard]] bool steal_from_all() noexcept;
    [[nodiscard]] bool steal_in_turn() noexcept;
    [[nodiscard]] bool try_steal(unsigned victim, bool reach) noexcept;
    [[nodiscard]] std::int64_t amount_of(unsigned victim) noexcept;
    [[nodiscard]] std::int64_t take_more(unsigned victim, std::int64_t more) noexcept;
    void insert(task_word task, std::uint64_t weight) noexcept;
    [[nodiscard]] bool push_weighted(task_word task, std::uint64_t weight) noexcept;
    [[nodiscard]] bool make_scales() noexcept;
    [[nodiscard]] bool follow_push(task_word task, way may) noexcept;
    [[nodiscard]] bool announce_again(task_word task, std::uint64_t weight, way may) noexcept;
    void run_theft(task_word task, unsigned victim, std::int64_t tasks) noexcept;
    void judge_last_theft() noexcept;
    [[nodiscard]] std::int64_t force_expose(unsigned victim, std::int64_t most) noexcept;
    [[nodiscard]] bool looks_again() noexcept;
    void leave_slot() noexcept;
    [[nodiscard]] bool is_stirred() noexcept;
    void rest_as_guest(std::atomic<std::uint32_t>& state, std::uint64_t ns, readiness* io) noexcept;
    [[nodiscard]] bool hands_watch_on() noexcept;
    void sleep() noexcept;
    void retire() noexcept;
    [[nodiscard]] bool retires() const noexcept;
    [[nodiscard]] bool resume_here() noexcept;
    void resume_found(submission_queue<std_atom>::node* n, trace::what how) noexcept;
    [[nodiscard]] bool anything_ready() noexcept;
    bool fire_due(bool of_all) noexcept;
    [[nodiscard]] instant watch_alarms() noexcept;
    void leave_alarms() noexcept;
    [[nodiscard]] bool look_at_descriptors(readiness& io) noexcept;
    void sleep_at_descriptors(readiness& io, std::uint64_t ns) noexcept;
    void found_work(unsigned likely) noexcept;

    /// For exposing: marks the scopes of each task before it becomes stealable (scope.M1).
    [[nodiscard]] auto marking() noexcept {
        return [this](task_word task) noexcept { mark_task(task); };
    }
    void mark_task(task_word task) noexcept;
    void mark_scopes(scope_node* inside) noexcept { count.scopes_shared.add(scope_node::share(inside)); }
    void mark_scope_cursors(activation* from) noexcept;
    void mark_suspending(activation* from) noexcept;
    void mark_moved(suspension& s) noexcept;

    void note_run(trace::what what, task_word task, std::uint32_t who = 0, std::uint32_t n = 0) noexcept;
    void note_slice(trace::what what, trace::task task = {}, std::uint32_t who = 0,
                    std::uint32_t n = 0) noexcept;
    void note_slice_cold(trace::what what, trace::task task, std::uint32_t who, std::uint32_t n) noexcept;
    void note_missed() noexcept;

    void execute(task_word task) noexcept;
    void start(task_word job) noexcept;
    void resume_now(suspension& s) noexcept;
    void let_go(suspension& s) noexcept;
    void after_switch(void* message) noexcept;
    void leaves_rest([[maybe_unused]] activation* a) noexcept;
    [[nodiscard]] void* continue_parent(scope_core& s) noexcept;
    [[nodiscard]] void* enter_context(context* c, task_word job) noexcept;
    [[nodiscard]] void* enter_suspended(suspension& s) noexcept;
    [[nodiscard]] bool grow_ring() noexcept;
    [[nodiscard]] task_word help_own() noexcept;
    [[nodiscard]] task_word help_other(unsigned victim) noexcept;
    /// Answers those who want work, between two tasks. Makes no way for what is queued.
    void share_between_tasks() noexcept;
    void run_on_top(task_word task) noexcept;
    void yield_here() noexcept;
    void yield_to_queued() noexcept;
    [[nodiscard]] bool has_others_to_run() noexcept;
    [[nodiscard]] bool yield_after_announcing(task_word task) noexcept;
    [[nodiscard]] bool anything_queued(priority lowest = priority::low) noexcept;
    void remind(priority level) noexcept;
    void expose(std::uint64_t n) noexcept;
    void expose_some() noexcept;
    [[nodiscard]] scales<std_atom> load_now() noexcept;
    [[nodiscard]] signal_word<std_atom>::word take_bits() noexcept;
    [[nodiscard]] bool anything_left() noexcept;
    [[nodiscard]] bool steal_from_retired() noexcept;
    void keep_yield_requests(signal_word<std_atom>::word bits) noexcept;
    [[nodiscard]] signal_word<std_atom>::word after_push() noexcept;
    void answer(signal_word<std_atom>::word bits) noexcept;

    pool_core& m_pool;
    detail::backend& m_backend; // the pool's
    void* m_sp = nullptr;       // the scheduler's own saved stack while a context runs
    stack_view m_view;
    submission_queue<std_atom> m_inbox;
    submission_queue<std_atom> m_prompts; // deadlines that have come; of this thread
    balance::random m_random;
    balance::chooser m_chooser;
    balance::steal_batch m_batch;
    std::optional<std::int64_t> m_mark; // where the last theft would have announced first: adaptive only
    balance::exposer m_exposer;         // by all contexts of this thread: see after_push()
    own_word<std::uint64_t> m_ends{
        PILFER_CHAOS_START(std::uint64_t)}; // tasks run by the scheduler: every 64th look starts elsewhere
    own_word<unsigned> m_last_woken{UINT32_MAX};
    own_word<priority> m_level{priority::normal};
    own_word<std::uint32_t> m_turn{0};               // see leveled_queue::pop()
    own_word<bool> m_submissions_first{false};       // a context has just made way for them
    own_word<priority> m_yielded_for{priority::low}; // the level of the frame that has
    own_word<bool> m_own_first{false};               // a context has just yielded
    own_word<unsigned> m_patience{yield_patience};   // announcements left until a summoned worker makes way
    unsigned m_looks = 0;             // without success, that a sleep was put off for: idle::latency
    own_word<instant> m_armed{never}; // of what was armed here, the first that nobody was told of
    instant m_last_in_turn = 0;       // when it last looked at others in turn: see steal_in_turn()
    unsigned m_next_in_turn = 0;      // whom it looks at first then
    bool m_watches = false;           // this worker was the last to say that it watches over the alarms
    own_word<bool> m_fires{false};
    // See leaves_rest(); of AddressSanitizer only.
    [[maybe_unused]] bool m_list_is_shown = false;
    bool m_all_alarms = false;  // the next look at alarms is one at everybody's
    bool m_owes_notice = false; // alarms have made contexts runnable, and nobody was told
    bool m_token = false;       // woken: look again before running what is found
    bool m_alert = false;       // the same for what is queued: who queued it may have told nobody
    bool m_count_all;
    guest* m_guest = nullptr;             // null: a worker of the pool
    std::atomic<bool> m_there{true};      // pool.V2
    std::unique_ptr<trace::ring> m_trace; // null: off
    // What of steals_failed and steals_lost is in the trace already.
    own_word<std::uint64_t> m_noted_failed{0};
    own_word<std::uint64_t> m_noted_lost{0};
};

/// Of the pool whose worker runs the caller.
[[nodiscard]] inline backend& backend_of(const worker* w) noexcept {
    return static_cast<const scheduler*>(w)->backend();
}

/// Before a wait of the task that runs on `w`: runs another one on top of it if it cannot suspend. False: it
/// can.
[[nodiscard]] inline bool help_on_top(worker* w) noexcept {
    return backend_of(w).help_on_top(*static_cast<scheduler*>(w));
}

#if defined(PILFER_CHECKED)
/// Ends the program if a checked_lock is held where a frame is about to leave its stack.
void check_locks(const suspension& s) noexcept;
#else
inline void check_locks(const suspension&) noexcept {}
#endif

/// Fires what is due at `t` of the alarms of `w`, up to 64 of them. Returns how many.
unsigned fire_due_of(scheduler& w, instant t) noexcept;

/// Makes a ring of `capacity` slots, with entries for weights if it `weighs`; null without memory.
[[nodiscard]] ring<std_atom>* make_ring(std::int64_t capacity, bool weighs) noexcept;
void free_ring(ring<std_atom>* r) noexcept;

} // namespace detail
} // namespace v0
} // namespace pilfer
