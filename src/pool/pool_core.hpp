// The state that the workers of one pool share.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <iosfwd>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include <pilfer/counters.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/idle/sleep.hpp>
#include <pilfer/detail/worker/levels.hpp>
#include <pilfer/detail/worker/runtime.hpp>
#include <pilfer/error.hpp>
#include <pilfer/options.hpp>

#include "base/os.hpp"
#include "base/signal_thread.hpp"
#include "context/rounding.hpp"
#include "context/stack_pool.hpp"
#include "governor/governor.hpp"
#include "guest/blocking.hpp"
#include "guest/guest.hpp"
#include "io/readiness.hpp"
#include "machine/plan.hpp"
#include "memory/block_pool.hpp"
#include "memory/record_pool.hpp"
#include "observe/stall.hpp"
#include "pool/closing.hpp"
#include "pool/forked.hpp"
#include "pool/leftovers.hpp"
#include "pool/queue_places.hpp"
#include "pool/registry.hpp"
#include "timer/timekeeper.hpp"
#include "trace/file.hpp"
#include "trace/json.hpp"
#include "worker/backend.hpp"
#include "worker/scheduler.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Null if the common pool has not been used yet, or could not be made.
[[nodiscard]] pool_core* common_core_if_made() noexcept;

class timed_task;
class reaction;
/// Called by a thread outside all pools that is about to block. If the thread is attached, it runs tasks
/// until `waiter` is released or the pool stops.
void work_while_waiting(foreign_waiter& waiter) noexcept;

/// Names the calling thread, which runs jobs of blocking().
void name_helper(const options& o) noexcept;

/// A short spin before a thread outside sleeps. The spin lasts about as long as a sleep and a wake-up would.
/// If recent spins did not help, most waits skip it.
class short_wait {
public:
    template <class Done>
    [[nodiscard]] static bool is_over(Done done) noexcept {
        if (!begins()) {
            return false;
        }
        // The looks become rarer: each one takes the cache line away from the thread that is about to write.
        unsigned step = 1;
        for (unsigned pauses = 0; pauses < most_pauses; pauses += step) {
            step = step < 64 ? 2 * step : step;
            for (unsigned i = 0; i < step; ++i) {
                cpu_relax();
            }
            if (done()) {
                ends(true);
                return true;
            }
        }
        ends(false);
        return false;
    }

private:
    static constexpr unsigned most_pauses = 256; // 3 to 15 us
    [[nodiscard]] static bool begins() noexcept;
    static void ends(bool helped) noexcept;
};

class pool_core {
public:
    using pool_sleepers = sleepers<std_atom, futex_park, os::poller>;

    /// Names of the files that are written when the pool ends; null: no such file.
    struct paths {
        const char* trace = nullptr;
        const char* profile = nullptr;
        const char* graph = nullptr;
        const char* advice = nullptr; ///< this file is read
    };
    /// `asked`: the program's options. The environment may have overruled them: a pool that records has one
    /// worker and no guest slots. `never_ends`: the pool's threads keep the library from being unloaded.
    pool_core(const options& checked, const paths& files, const options& asked, bool never_ends = false);
    ~pool_core();
    pool_core(const pool_core&) = delete;
    pool_core& operator=(const pool_core&) = delete;

    void shutdown(shutdown_mode mode);
    /// The rounding modes of the thread that made this pool. All workers use them.
    [[nodiscard]] const rounding& modes() const noexcept { return m_modes; }
    /// True if the calling process is a child of fork() and this pool belongs to a parent process.
    [[nodiscard]] bool is_forked_child() const noexcept { return m_process != forks::this_process(); }
    [[nodiscard]] bool never_ends() const noexcept { return m_never_ends; }
    void check_here() const {
        if (is_forked_child()) [[unlikely]] {
            throw pool_forked();
        }
        if (m_must_note_exit.load(rlx)) [[unlikely]] {
            os::note_exit(); // after the constructor, so it runs before the destructor; twice is no harm
            m_must_note_exit.store(false, rlx);
        }
    }
    /// The pool object is static memory of the program. Its destructor has to know whether exit() has begun.
    void must_note_exit() noexcept { m_must_note_exit.store(true, rlx); }
    /// Replaces the destructor for a parent's pool in a child of fork(): closes descriptors, joins no thread.
    void abandon() noexcept;
    /// Called in a child of fork() whose calling thread was a worker of this pool. Frees the locks that other
    /// threads may have held.
    void forget_threads() noexcept;

    /// Number of deques that thieves look at. Deques of present and possible workers come first (resize.cpp),
    /// then those of guest slots (src/guest/guest.cpp).
    [[nodiscard]] unsigned size() const noexcept { return m_size; }
    /// Number of workers that take work. They have the lowest indices; the other workers are retired.
    [[nodiscard]] unsigned active() const noexcept { return m_active.load(rlx); }
    [[nodiscard]] bool is_retired(unsigned worker) const noexcept {
        return worker >= active() && worker < m_first_spare;
    }
    /// True for a worker that is retired or about to retire, and for a free guest slot.
    [[nodiscard]] bool has_left(unsigned worker) const noexcept {
        return is_retired(worker) || (worker >= m_first_spare && !m_workers[worker]->guest.is_there());
    }
    /// See pool::resize().
    unsigned resize(unsigned n);
    /// Called by the governor: limits the pool to `n` of the workers that resize() asked for. If no thread
    /// can be made, the pool keeps fewer workers.
    void grant(unsigned n) noexcept;
    /// Number of workers that resize() asked for.
    [[nodiscard]] unsigned wanted() const noexcept { return m_wanted.load(rlx); }
    /// True if the pool may make no threads except its workers.
    [[nodiscard]] bool has_no_helpers() const noexcept { return m_options.only_workers; }
    /// Null if only resize() decides how many workers take work.
    [[nodiscard]] pool_governor* governor() const noexcept { return m_governor.get(); }
    /// The calling thread, which is no worker of this pool, works here until `v` is over or the pool stops.
    /// False: no guest slot is free.
    [[nodiscard]] bool receive(guest& v) noexcept;
    /// True if the pool has fewer guest slots than its options ask for. Its guests then block as any other
    /// thread outside does.
    [[nodiscard]] bool lacks_guest_slots() const noexcept {
        return places_of(m_options).seats < m_options.attachable;
    }
    /// run_until() in a pool that lacks guest slots: calls `ask` at once and after each notify(), until it
    /// returns true. False: the pool stops, or `ask` has called fork() and this is the child.
    [[nodiscard]] bool ask_when_notified(bool (*ask)(void*), void* self) noexcept;
    /// Something that a guest asks for may have changed.
    void notify_guests() noexcept;
    [[nodiscard]] std::atomic<std::uint32_t>& notices() noexcept { return m_notices; }
    [[nodiscard]] unsigned first_spare() const noexcept { return m_first_spare; }
    /// True if every worker sleeps, and every guest.
    [[nodiscard]] bool everybody_rests() noexcept;
    [[nodiscard]] scheduler& at(unsigned i) noexcept { return *m_workers[i]; }
    /// Number of schedulers, including those without a thread. Some threads could not be made; those of a
    /// one-lock pool come and go.
    [[nodiscard]] unsigned schedulers() const noexcept { return static_cast<unsigned>(m_workers.size()); }
    [[nodiscard]] const options& settings() const noexcept { return m_options; }
    /// Groups of workers that share hardware with this one: the smallest group first, the whole pool last.
    /// Valid for the pool's lifetime. The content is final after wait_for_start() has returned.
    [[nodiscard]] std::span<const balance::group> near(unsigned worker) const noexcept {
        return m_seating.near.of(worker);
    }
    /// Pins the calling thread, which is worker `i`, if the options ask for pinning. False: it is not pinned.
    [[nodiscard]] bool pin(unsigned i) const noexcept {
        return i < m_seating.cpu.size() && os::pin_thread(m_seating.cpu[i], m_seating.mask);
    }
    /// The CPU of worker `i`, if the worker is pinned.
    [[nodiscard]] unsigned cpu_of(unsigned i) const noexcept { return m_seating.cpu[i]; }
    [[nodiscard]] counters sum() const noexcept;
    [[nodiscard]] counters of(unsigned i) const noexcept;
    void write_trace(std::ostream& out) const;
    /// Writes the files that PILFER_TRACE, PILFER_PROFILE and PILFER_PROFILE_GRAPH named, if any. Only the
    /// first call writes.
    void write_files() noexcept;
    [[nodiscard]] detail::backend& backend() const noexcept { return *m_backend; }

    /// A task from outside: counts, queues and announces it. If the queue is full, the caller waits and may
    /// resume on another worker, or queue_full is thrown. Throws pool_closed.
    void accept(submission* s, priority level);
    /// accept() for a task of this pool, whose existence keeps the pool open. Never waits, never fails.
    void accept_inside(submission* s, priority level) noexcept;
    /// accept() at the normal level that ignores any bound of the queue. False: the pool is closed, and `s`
    /// is unchanged.
    [[nodiscard]] bool try_accept(submission* s) noexcept;
    /// Keeps the pool alive while a thread that is no worker of it uses it. Without a pin, a submitted task
    /// might run and end, and the pool with it, while the submitter still looks for a sleeper to wake.
    class pool_pin {
    public:
        explicit pool_pin(pool_core& p) noexcept : m_pool(is_own(p) ? nullptr : &p) {
            if (m_pool != nullptr) {
                m_pool->m_pins.fetch_add(1, rlx);
            }
        }
        pool_pin(const pool_pin&) = delete;
        pool_pin& operator=(const pool_pin&) = delete;
        ~pool_pin() {
            if (m_pool != nullptr) {
                m_pool->m_pins.fetch_sub(1, rel);
            }
        }

    private:
        [[nodiscard]] static bool is_own(const pool_core& p) noexcept {
            const worker* w = this_worker();
            return w != nullptr && w->pool == &p;
        }
        pool_core* m_pool;
    };
    /// Counts a task that will be queued when its alarm fires. False: the pool is closed and the caller is
    /// none of its tasks.
    [[nodiscard]] bool expect() noexcept;
    /// expect() called by an alarm, which is no task of the pool.
    [[nodiscard]] bool expect_again() noexcept { return m_closing.accept(); }
    /// Queues a task that expect() has counted.
    void queue_expected(submission* s, priority level = priority::normal) noexcept;
    /// Queues a suspended coroutine that is counted as an outstanding task. Any thread. The coroutine may
    /// run, and the pool may end, before this call returns. `late`: the task was not counted by expect().
    void queue_begun(submission* s, bool late) noexcept;
    /// Uncounts a task of expect() that will never be queued. This is the caller's last use of the pool; the
    /// caller may be no worker of it.
    void forget_expected() noexcept;
    /// The pool's end has dropped an alarm.
    void count_dropped_alarm() noexcept { m_dropped_alarms.fetch_add(1, rlx); }
    /// Timed tasks that must not end on a scheduler's stack, because user code cannot run there. They end
    /// with the pool.
    submission_queue<std_atom> ended_with_pool;
    /// A function that waits without a stack begins or stops waiting. The end of the pool handles the
    /// reactions that are left.
    void add_reaction(reaction& r) noexcept;
    void remove_reaction(reaction& r) noexcept;
    [[nodiscard]] bool is_closed() const noexcept { return m_closing.is_closed(); }
    /// Keeps an `every` that was cancelled while its alarm fired, until the canceller no longer uses this
    /// pool.
    void leave_cancelled(timed_task* t) noexcept;
    /// A task was taken out of `submissions`: a submitter that waits for a place may continue.
    void left_queue() noexcept {
        if (m_places.bounded()) [[unlikely]] {
            give_place_back();
        }
    }
    /// For reports.
    [[nodiscard]] const queue_places<std_atom, futex_park>& places() const noexcept { return m_places; }
    /// A task is queued for any worker: wakes a sleeping worker. If all workers are awake, sets the yield
    /// request of every worker: a busy one yields at one of its next 64 announcements. `spare`, for threads
    /// outside: skips the wake-up if some worker searches, because it will find the task.
    void notify_any(bool spare = false) noexcept;
    /// Counts scopes that a thread outside has marked as shared by its submissions.
    void shared_from_outside(std::uint64_t scopes) noexcept { m_shared_outside.fetch_add(scopes, rlx); }
    /// A task was put into the inbox of worker `i`: wakes that worker, or sets its yield request.
    void notify(unsigned i) noexcept;
    [[nodiscard]] bool wake_up(unsigned i) noexcept;
    /// Queues a yielding context after everything else. No other worker is asked to yield.
    void requeue(suspension* s) noexcept;
    /// resume::elsewhere: hands `s` to a worker other than `not_here`.
    void send_elsewhere(suspension* s, unsigned not_here) noexcept;
    void send_to(suspension* s, unsigned worker) noexcept;

    /// In the checked build, after all threads are joined: aborts if a sum is wrong or a task is left.
    void check_end() noexcept;

    [[nodiscard]] bool stopping() const noexcept { return m_stop.load(std::memory_order_acquire); }
    [[nodiscard]] bool dropping() const noexcept { return m_dropping.load(std::memory_order_relaxed); }
    /// See keep_warm.
    void begin_warm() noexcept;
    /// False: no begin_warm() is outstanding.
    bool end_warm() noexcept;
    /// True if idle workers keep searching. False if stacks have run out: an idle worker then gives its own
    /// stack away, and sleeps.
    [[nodiscard]] bool is_warm() const noexcept { return m_warm.load(rlx) != 0 && !stacks.exhausted(); }
    /// A worker is about to sleep: a shutdown that waits for quiet looks again.
    void worker_is_idle() noexcept { m_closing.worker_is_idle(); }
    void wait_for_start() noexcept;
    /// options.on_start has ended on one more thread, with an exception or null. False: the pool has already
    /// started, so no thread waits for the exception.
    [[nodiscard]] bool thread_has_begun(std::exception_ptr error) noexcept;
    /// The nice value that options.priority asks for.
    [[nodiscard]] int wanted_nice() const noexcept { return m_nice + m_options.priority; }

    /// A thread that takes a task from this queue calls left_queue().
    leveled_queue<std_atom> submissions;
    submission_queue<std_atom> runnable; // contexts that may resume on any worker
    /// Set if retired workers or former guests may have left tasks in their deques (idle.S9).
    leftovers<std_atom> left_tasks;
    const blocks_user uses_blocks; // first: it is destroyed after all members that give blocks back
    stack_pool stacks;
    record_pool records;
    block_pool blocks;

    [[nodiscard]] pool_sleepers& idle() noexcept { return *m_idle; }
    /// Number of blocking() jobs that run on threads of workers.
    [[nodiscard]] std::atomic<unsigned>& in_place() noexcept { return m_in_place; }
    [[nodiscard]] bool oversubscribed() const noexcept { return m_oversubscribed.load(rlx); }
#if defined(PILFER_CHAOS)
    /// Counts the pools of the process from 1.
    [[nodiscard]] std::uint64_t number() const noexcept { return m_number; }
#endif
    [[nodiscard]] stall_watch& stall() noexcept { return m_stall; }
    [[nodiscard]] blocked_watch& blocked() noexcept { return m_blocked; }
    /// A guess: true if every worker is inside a task while another task waits in a queue or a deque. Any
    /// thread.
    [[nodiscard]] bool nobody_takes_what_is_ready() noexcept;

    [[nodiscard]] blocking_threads& blocking() noexcept { return m_blocking; }

    [[nodiscard]] timer_watch<std_atom>& watch() noexcept { return m_watch; }
    /// When the first alarm of any worker is due. Cost: one cache line of each worker.
    [[nodiscard]] instant first_alarm() const noexcept;
    /// Until when a watching worker may sleep: the first alarm's due time. any_time: there is no alarm, but a
    /// task waits for a descriptor.
    [[nodiscard]] instant first_expected() const noexcept;
    /// True if an alarm is due before a stall report would be, or if a descriptor is awaited.
    [[nodiscard]] bool expects_soon() const noexcept;
    /// An alarm was armed that is due at `due`: no watching worker may sleep longer than that.
    void tell_watch(instant due) noexcept { m_backend->watch(due); }
    /// Makes the watching worker look again, because an alarm is due at `due`. If no worker watches, wakes a
    /// sleeping worker, else the timekeeper.
    void wake_watch(instant due) noexcept;
    void find_watch() noexcept;
    /// Called before an alarm is armed or a descriptor is awaited. Until then keep_watch() costs one load.
    void will_expect() noexcept {
        if (!m_expects.load(rlx)) {
            m_expects.store(true, rlx);
        }
    }
    void run_prompt(timed_task& t) noexcept;
    void keep_watch() noexcept;
    // For the timekeeper, which watches while all workers are busy: src/timer/timekeeper.cpp.
    kept_time kept;
    /// When the first alarm is due, or a descriptor must be polled, while no worker watches. never: a worker
    /// watches, or nothing is expected.
    [[nodiscard]] instant first_unwatched() const noexcept;
    /// Called by the timekeeper: fires alarms due at `t` and polls descriptors, unless a worker watches.
    void fire_unwatched(instant t) noexcept;
    /// Null if no task of this pool has waited for a descriptor yet.
    [[nodiscard]] readiness* io_if_made() const noexcept { return m_io.load(acq); }
    /// Makes the readiness object if needed. Null: it is not available, and `error` is an errno.
    [[nodiscard]] readiness* io(int& error) noexcept;
    /// The worker whose heap takes an alarm of a foreign thread.
    [[nodiscard]] scheduler& any_worker() noexcept { return at(m_next.fetch_add(1, rlx) % active()); }

    /// Suspended contexts; exact while all workers sleep.
    [[nodiscard]] std::uint64_t suspended() const noexcept;
    /// Coroutines that wait for something of this library; exact while all workers sleep.
    [[nodiscard]] std::uint64_t waiting_coroutines() const noexcept;
    /// Grows whenever a worker begins to run a task. Two equal values: no task began in between.
    [[nodiscard]] std::uint64_t progress() const noexcept;
    /// No worker is inside a task.
    [[nodiscard]] bool idle_now() noexcept;
    [[nodiscard]] bool joined() const noexcept { return m_over.load(acq); }
    /// From now on options.debug.dump_signal makes this pool write its dump. Throws std::system_error.
    void answer_dump_signal();
    pool_core* next_to_stop = nullptr; // see src/cancel/cancellation.hpp
    /// This pool's entry in the list of all pools.
    pool_entry listed;

    /// Starts the thread of worker `i`. Returns 0 or an errno.
    [[nodiscard]] int start_thread(unsigned i) noexcept;
    /// Waits until no pool_pin exists.
    void wait_for_guests() const noexcept;

private:
    void start_threads();
    void follow_limits() noexcept;
    void make_governor(const char* advice_file, unsigned workers_asked);
    void call_back(unsigned i) noexcept;
    [[nodiscard]] std::exception_ptr wait_until_begun(unsigned threads) noexcept;
    void give_up(const std::exception_ptr& why);
    void accept_bounded(submission* s, priority level);
    [[nodiscard]] bool accept_with_place(submission* s, priority level) noexcept;
    void wait_for_place();
    void give_place_back() noexcept;
    void refuse_waiting() noexcept;
    void queue(submission* s, priority level) noexcept;
    void stop_threads() noexcept;
    void drop_alarms(bool counted) noexcept;
    void end_dropped() noexcept;
    void wait_for_cancellers() noexcept;
    void unlink_reaction(reaction& r) noexcept;
    void sweep_reactions() noexcept;
    void end_swept() noexcept;
    void end_once();
    [[nodiscard]] bool wake_somebody(bool spare = false) noexcept;
    [[nodiscard]] bool somebody_is_alert() noexcept;

    const std::uint64_t m_process = forks::this_process();
    const bool m_never_ends;
    options m_options;
    const rounding m_modes = rounding::now();
    unsigned m_first_spare; // workers have the indices below it, guest slots those from it on
    unsigned m_size;
    std::atomic<unsigned> m_active;
    const unsigned m_cpus;
    std::atomic<bool> m_oversubscribed;
    std::atomic<unsigned> m_wanted; // by resize(), under the mutex
    std::mutex m_resize_mutex;
    unsigned m_threads = 0;          // number of threads made; under that mutex after construction
    unsigned m_granted = UINT32_MAX; // under that mutex: the limit set by grant()
    bool m_follows_quota = false;
    mutable std::atomic<bool> m_must_note_exit{false};
    bool m_resized_no_more = false; // under that mutex: the threads are being ended
    std::atomic<std::uint64_t> m_free_slots{0};
    machine::seating m_seating;
    std::unique_ptr<detail::backend> m_backend;
    std::vector<std::unique_ptr<scheduler>> m_workers;
    std::unique_ptr<pool_sleepers::seat[]> m_seats;
    std::unique_ptr<pool_sleepers::map_word[]> m_map;
    std::unique_ptr<pool_sleepers::map_word[]> m_retired;
    std::unique_ptr<pool_sleepers> m_idle;
    std::atomic<unsigned> m_in_place{0};
    std::atomic<unsigned> m_next{PILFER_CHAOS_START(unsigned)}; // round robin for foreign submitters

    std::atomic<unsigned> m_seen_alert{0}; // the worker that a thread outside last saw searching

    closing<std_atom, futex_park> m_closing;
    queue_places<std_atom, futex_park> m_places;
    std::atomic<std::uint32_t> m_notices{0}; // calls of notify()
    std::atomic<unsigned> m_pins{0};         // threads that keep the pool alive: see pool_pin
    submission_queue<std_atom> m_cancelled;
    std::atomic<std::uint64_t> m_shared_outside{0};
    raw_lock<std_atom, futex_park> m_reactions_lock;
    reaction* m_reactions = nullptr;    // under that lock
    submission_queue<std_atom> m_swept; // the reactions that the end of the pool ends
    std::atomic<bool> m_dropping{false};
    std::atomic<std::uint64_t> m_dropped_alarms{0};
    // For checks: tasks that workers had counted and that went through the submissions.
    std::atomic<std::uint64_t> m_queued_late{0};
    std::atomic<bool> m_stop{false};
    std::atomic<unsigned> m_warm{0}; // number of keep_warm objects
    std::atomic<bool> m_over{false}; // the threads are joined
    stall_watch m_stall;
    blocked_watch m_blocked{std::uint64_t{m_options.debug.stall_report} * 1'000'000};
    timer_watch<std_atom> m_watch;
    std::atomic<bool> m_expects{false};
    std::atomic<readiness*> m_io{nullptr};
    std::mutex m_io_mutex; // while it is made
    std::unique_ptr<readiness> m_io_owner;
    blocking_threads m_blocking;
    std::unique_ptr<os::signal_thread> m_dump_thread; // ends before the pool does
    std::unique_ptr<pool_governor> m_governor;        // its thread ends before the workers do
    std::atomic<std::uint32_t> m_started{0};
    std::atomic<std::uint32_t> m_begun{0}; // threads that have called options.on_start
    std::mutex m_begun_mutex;
    std::exception_ptr m_refusal; // the first exception that on_start threw; under that mutex
    const int m_nice = os::nice_of(0);
    trace::moment m_begin = trace::now();
    std::unique_ptr<trace::file> m_trace_file;
    std::mutex m_shutdown_mutex;
    bool m_joined = false; // under m_shutdown_mutex
#if defined(PILFER_CHAOS)
    [[nodiscard]] static std::uint64_t next_number() noexcept {
        static std::atomic<std::uint64_t> pools{0};
        return pools.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    const std::uint64_t m_number = next_number();
#endif
};

} // namespace detail
} // namespace v0
} // namespace pilfer
