// What the workers of one pool share.
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

/// Null: nobody has used the common pool, or it could not be made.
[[nodiscard]] pool_core* common_core_if_made() noexcept;

class timed_task;
class reaction;
/// Of a thread outside that is about to block: if it is attached it works until `waiter` is released, or
/// until the pool stops.
void work_while_waiting(foreign_waiter& waiter) noexcept;

/// Names the calling thread, which runs jobs of blocking().
void name_helper(const options& o) noexcept;

/// A thread outside is about to wait: looks for as long as a sleep and a wake-up would take whether that is
/// over. Where that did not help lately, only now and then.
class short_wait {
public:
    template <class Done>
    [[nodiscard]] static bool is_over(Done done) noexcept {
        if (!begins()) {
            return false;
        }
        // Ever more rarely: each look takes the line away from who is about to write.
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

    /// Where what is written goes when the pool ends; null: nothing is.
    struct paths {
        const char* trace = nullptr;
        const char* profile = nullptr;
        const char* graph = nullptr;
        const char* advice = nullptr; ///< this one is read
    };
    /// `asked`: by the program. The environment may have overruled it: a pool that records has one worker,
    /// and no seats. `never_ends`: its threads keep the library from being unloaded.
    pool_core(const options& checked, const paths& files, const options& asked, bool never_ends = false);
    ~pool_core();
    pool_core(const pool_core&) = delete;
    pool_core& operator=(const pool_core&) = delete;

    void shutdown(shutdown_mode mode);
    /// The calling process is a child of fork(), and this pool its parent's.
    /// Of the thread that has made this pool, and so of all its workers.
    [[nodiscard]] const rounding& modes() const noexcept { return m_modes; }
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
    /// The pool lies in the memory of the program: its destructor asks whether the program ends.
    void must_note_exit() noexcept { m_must_note_exit.store(true, rlx); }
    /// In place of the destructor of one that was left behind: gives descriptors back, and joins nothing.
    void abandon() noexcept;
    /// In a child of fork() by a task of this pool: locks that other threads may hold are free.
    void forget_threads() noexcept;

    /// The deques that are looked at: of workers that there are or can be (resize.cpp), and behind them those
    /// of spare seats (guest.cpp).
    [[nodiscard]] unsigned size() const noexcept { return m_size; }
    /// Those that take work: the first so many. The others step aside.
    [[nodiscard]] unsigned active() const noexcept { return m_active.load(rlx); }
    [[nodiscard]] bool is_retired(unsigned worker) const noexcept {
        return worker >= active() && worker < m_first_spare;
    }
    /// A worker that has stepped aside, or is about to, or a free seat.
    [[nodiscard]] bool has_left(unsigned worker) const noexcept {
        return is_retired(worker) || (worker >= m_first_spare && !m_workers[worker]->guest.is_there());
    }
    /// See pool::resize().
    unsigned resize(unsigned n);
    /// The same for who follows what the system gives: no more than `n` of those that resize() wants. Where
    /// no thread can be made it stays with fewer.
    void grant(unsigned n) noexcept;
    /// What resize() wants.
    [[nodiscard]] unsigned wanted() const noexcept { return m_wanted.load(rlx); }
    /// Null: nobody but resize() says how many workers take work.
    /// No thread but its workers may be made for it.
    [[nodiscard]] bool has_no_helpers() const noexcept { return m_options.only_workers; }
    [[nodiscard]] pool_governor* governor() const noexcept { return m_governor.get(); }
    /// The calling thread, which is none of this pool, works here until `v` is over or the pool stops. False:
    /// no seat is free.
    [[nodiscard]] bool receive(guest& v) noexcept;
    /// Guests of this pool wait as any thread outside.
    [[nodiscard]] bool lacks_guest_slots() const noexcept {
        return places_of(m_options).seats < m_options.attachable;
    }
    /// For run_until() in such a pool: asks, and again after each notify(), until the answer is yes. False:
    /// the pool stops, or the question has forked.
    [[nodiscard]] bool ask_when_notified(bool (*ask)(void*), void* self) noexcept;
    /// Something that a guest asks for may have changed.
    void notify_guests() noexcept;
    [[nodiscard]] std::atomic<std::uint32_t>& notices() noexcept { return m_notices; }
    [[nodiscard]] unsigned first_spare() const noexcept { return m_first_spare; }
    /// All sleep that are there.
    [[nodiscard]] bool everybody_rests() noexcept;
    [[nodiscard]] scheduler& at(unsigned i) noexcept { return *m_workers[i]; }
    /// Those without a thread included: some could not be made, those of a one-lock pool come and go.
    [[nodiscard]] unsigned schedulers() const noexcept { return static_cast<unsigned>(m_workers.size()); }
    [[nodiscard]] const options& settings() const noexcept { return m_options; }
    /// Workers that share something with this one, the smallest group first, everybody last. Valid as long as
    /// the pool lives, and right once the workers have been let go: see wait_for_start().
    [[nodiscard]] std::span<const balance::group> near(unsigned worker) const noexcept {
        return m_seating.near.of(worker);
    }
    /// Pins the calling thread, which is worker `i`, where the options want that. False: it is not pinned.
    [[nodiscard]] bool pin(unsigned i) const noexcept {
        return i < m_seating.cpu.size() && os::pin_thread(m_seating.cpu[i], m_seating.mask);
    }
    /// Where worker `i` belongs, if it is pinned.
    [[nodiscard]] unsigned cpu_of(unsigned i) const noexcept { return m_seating.cpu[i]; }
    [[nodiscard]] counters sum() const noexcept;
    [[nodiscard]] counters of(unsigned i) const noexcept;
    void write_trace(std::ostream& out) const;
    /// To the files that PILFER_TRACE, PILFER_PROFILE and PILFER_PROFILE_GRAPH named, if any; the first call
    /// only.
    void write_files() noexcept;
    [[nodiscard]] detail::backend& backend() const noexcept { return *m_backend; }

    /// A task from outside: counted, queued, announced. Where the queue is full it waits, and may go on on
    /// another worker, or throws queue_full. Throws pool_closed.
    void accept(submission* s, priority level);
    /// By a task of this pool, which keeps it open: never waits, never fails.
    void accept_inside(submission* s, priority level) noexcept;
    /// As accept(), at the normal level and beyond any bound; false: the pool is closed, and `s` was left
    /// alone.
    [[nodiscard]] bool try_accept(submission* s) noexcept;
    /// While one lives the pool does: what a thread hands to a pool that is not its own may run, end, and
    /// with it the pool, while that thread still looks for somebody to wake.
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
    /// A task that is queued later, when its alarm fires. Counted from now on, if the pool is open or the
    /// caller one of its own tasks; else false.
    [[nodiscard]] bool expect() noexcept;
    /// The same by an alarm, which is no task.
    [[nodiscard]] bool expect_again() noexcept { return m_closing.accept(); }
    /// Such a task is queued now.
    void queue_expected(submission* s, priority level = priority::normal) noexcept;
    /// A suspended coroutine, whose unit has begun, is queued. Anyone: it may run and with it this pool end
    /// before this returns. `late`: the unit was none of expect().
    void queue_begun(submission* s, bool late) noexcept;
    /// It will not be: the last use of this pool by the caller, which may be no worker of it.
    void forget_expected() noexcept;
    /// The pool's end has dropped one.
    void count_dropped_alarm() noexcept { m_dropped_alarms.fetch_add(1, rlx); }
    /// One that must not end on a scheduler's stack, where code of the user cannot run: it ends with the
    /// pool.
    submission_queue<std_atom> ended_with_pool;
    /// A function that waits without a stack begins or ceases to: the end of the pool looks after those that
    /// are left.
    void add_reaction(reaction& r) noexcept;
    void remove_reaction(reaction& r) noexcept;
    [[nodiscard]] bool is_closed() const noexcept { return m_closing.is_closed(); }
    /// An `every` that was cancelled while its alarm fired: kept until its canceller is through with this
    /// pool.
    void leave_cancelled(timed_task* t) noexcept;
    /// Something was taken out of `submissions`: whoever waits for room goes on.
    void left_queue() noexcept {
        if (m_places.bounded()) [[unlikely]] {
            give_place_back();
        }
    }
    /// For reports.
    [[nodiscard]] const queue_places<std_atom, futex_park>& places() const noexcept { return m_places; }
    /// Something was put where any worker may take it: wakes a sleeper. If nobody sleeps, asks a busy
    /// worker to make way after its next 64 announcements. `spare`: wakes nobody if a worker searches, which
    /// will look; for threads outside.
    void notify_any(bool spare = false) noexcept;
    /// A thread outside has marked so many scopes by what it submitted.
    void shared_from_outside(std::uint64_t scopes) noexcept { m_shared_outside.fetch_add(scopes, rlx); }
    /// The same for one worker's inbox.
    void notify(unsigned i) noexcept;
    [[nodiscard]] bool wake_up(unsigned i) noexcept;
    /// A context that makes way goes behind everything else: nobody else is asked to.
    void requeue(suspension* s) noexcept;
    /// For resume::elsewhere: hands `s` to a worker other than `not_here`.
    void send_elsewhere(suspension* s, unsigned not_here) noexcept;
    void send_to(suspension* s, unsigned worker) noexcept;

    /// The checked build, when all threads are joined: aborts if a sum does not balance or something is left.
    void check_end() noexcept;

    [[nodiscard]] bool stopping() const noexcept { return m_stop.load(std::memory_order_acquire); }
    [[nodiscard]] bool dropping() const noexcept { return m_dropping.load(std::memory_order_relaxed); }
    /// See keep_warm.
    void begin_warm() noexcept;
    /// False: nobody has begun.
    bool end_warm() noexcept;
    /// Not where stacks have run out: then whoever has nothing to do gives its own away, and sleeps.
    [[nodiscard]] bool is_warm() const noexcept { return m_warm.load(rlx) != 0 && !stacks.exhausted(); }
    /// A worker is about to sleep: a shutdown that waits for quiet looks again.
    void worker_is_idle() noexcept { m_closing.worker_is_idle(); }
    void wait_for_start() noexcept;
    /// options.on_start has come to its end on one more thread, with an exception or null. False: nobody is
    /// there to be told of it, because the pool has started.
    [[nodiscard]] bool thread_has_begun(std::exception_ptr error) noexcept;
    /// What options.priority asks for.
    [[nodiscard]] int wanted_nice() const noexcept { return m_nice + m_options.priority; }

    /// By who takes something: see left_queue().
    leveled_queue<std_atom> submissions;
    submission_queue<std_atom> runnable; // contexts that may go on anywhere
    /// Workers that have stepped aside, and guests, may have left tasks in their deques (idle.S9).
    leftovers<std_atom> left_tasks;
    const blocks_user uses_blocks; // first: it ends behind all that gives blocks back
    stack_pool stacks;
    record_pool records;
    block_pool blocks;

    [[nodiscard]] pool_sleepers& idle() noexcept { return *m_idle; }
    /// Jobs of blocking() that run on threads of workers.
    [[nodiscard]] std::atomic<unsigned>& in_place() noexcept { return m_in_place; }
    [[nodiscard]] bool oversubscribed() const noexcept { return m_oversubscribed.load(rlx); }
#if defined(PILFER_CHAOS)
    /// Counts the pools of the process from 1.
    [[nodiscard]] std::uint64_t number() const noexcept { return m_number; }
#endif
    [[nodiscard]] stall_watch& stall() noexcept { return m_stall; }
    [[nodiscard]] blocked_watch& blocked() noexcept { return m_blocked; }
    /// Every worker is inside a task, and a task is queued or lies in a deque. By any thread: a guess.
    [[nodiscard]] bool nobody_takes_what_is_ready() noexcept;

    [[nodiscard]] blocking_threads& blocking() noexcept { return m_blocking; }

    [[nodiscard]] timer_watch<std_atom>& watch() noexcept { return m_watch; }
    /// When the first alarm of any worker is due. Cost: a line of each.
    [[nodiscard]] instant first_alarm() const noexcept;
    /// The same for whoever may sleep; any_time: there are none, but somebody waits for a descriptor.
    [[nodiscard]] instant first_expected() const noexcept;
    /// Something may come by itself before a stall report would: an alarm, or a descriptor at any time.
    [[nodiscard]] bool expects_soon() const noexcept;
    /// An alarm was armed that is due at `due`: whoever sleeps sleeps no longer than that.
    void tell_watch(instant due) noexcept { m_backend->watch(due); }
    /// The same if it is certain that the worker which watches sleeps for longer.
    void wake_watch(instant due) noexcept;
    void find_watch() noexcept;
    /// Before an alarm is armed or a descriptor waited for: until then keep_watch() costs one load.
    void will_expect() noexcept {
        if (!m_expects.load(rlx)) {
            m_expects.store(true, rlx);
        }
    }
    void run_prompt(timed_task& t) noexcept;
    void keep_watch() noexcept;
    // While all workers are busy: ./timekeeper.cpp.
    kept_time kept;
    /// When the first alarm is due, or a descriptor is to be looked at, over which no worker watches; never:
    /// one does, or nothing is expected.
    [[nodiscard]] instant first_unwatched() const noexcept;
    /// By the timekeeper: fires what is due at `t`, and looks at descriptors, unless a worker watches.
    void fire_unwatched(instant t) noexcept;
    /// Null: nobody in this pool has waited for a descriptor yet.
    [[nodiscard]] readiness* io_if_made() const noexcept { return m_io.load(acq); }
    /// Makes it; null: it could not be had, and `error` is an errno.
    [[nodiscard]] readiness* io(int& error) noexcept;
    /// The worker whose heap takes an alarm of a foreign thread.
    [[nodiscard]] scheduler& any_worker() noexcept { return at(m_next.fetch_add(1, rlx) % active()); }

    /// Suspended contexts; exact while all workers sleep.
    [[nodiscard]] std::uint64_t suspended() const noexcept;
    /// Coroutines that wait for something of this library; exact while all workers sleep.
    [[nodiscard]] std::uint64_t waiting_coroutines() const noexcept;
    /// Grows whenever a worker begins to run something: equal twice, nothing began in between.
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
    /// Until nobody is inside a visit.
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
    unsigned m_first_spare; // places of workers; behind them seats for guests
    unsigned m_size;
    std::atomic<unsigned> m_active;
    const unsigned m_cpus;
    std::atomic<bool> m_oversubscribed;
    std::atomic<unsigned> m_wanted; // by resize(), under the mutex
    std::mutex m_resize_mutex;
    unsigned m_threads = 0;          // made, the first so many; under that mutex once the pool is there
    unsigned m_granted = UINT32_MAX; // under it: by grant()
    bool m_follows_quota = false;
    mutable std::atomic<bool> m_must_note_exit{false};
    bool m_resized_no_more = false; // under it: the threads are being ended
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

    std::atomic<unsigned> m_seen_alert{0}; // whom a thread outside saw searching last

    closing<std_atom, futex_park> m_closing;
    queue_places<std_atom, futex_park> m_places;
    std::atomic<std::uint32_t> m_notices{0}; // calls of notify()
    std::atomic<unsigned> m_pins{0};         // others, inside calls that may be the last ones: see visit
    submission_queue<std_atom> m_cancelled;
    std::atomic<std::uint64_t> m_shared_outside{0};
    raw_lock<std_atom, futex_park> m_reactions_lock;
    reaction* m_reactions = nullptr;    // under that lock
    submission_queue<std_atom> m_swept; // of them, what the end of the pool ends
    std::atomic<bool> m_dropping{false};
    std::atomic<std::uint64_t> m_dropped_alarms{0};
    std::atomic<std::uint64_t> m_queued_late{
        0}; // units of workers that went through the submissions; for checks
    std::atomic<bool> m_stop{false};
    std::atomic<unsigned> m_warm{0}; // objects of keep_warm
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
    std::exception_ptr m_refusal; // the first that one of them threw; under that mutex
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
