// Threads, arenas and how a thread runs tasks while it waits. README.md explains the protocols.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include <pilfer/detail/base/sanitizer.hpp>
#include <pilfer/detail/task/bound_frames.hpp>
#include <pilfer/pool.hpp>

#include "task/backend.hpp"

#include "headers.hpp"
#include "lock.hpp"
#include "slot_deque.hpp"
#include "use_count.hpp"

namespace tbb::detail::r1 {

struct delegated_call;
class small_pool;

/// The first exception of a context, from the task that threw it until reset() or destroy().
class tbb_exception_ptr {
public:
    std::exception_ptr error;
};

/// The words that a task keeps for the scheduler. Atomic, because a task may be queued again while it runs.
struct task_accessor {
    static void set(d1::task& t, d1::task_group_context& c, std::intptr_t isolation, d1::slot_id affinity,
                    d1::slot_id origin) noexcept {
        word(t, 0).store(reinterpret_cast<std::uintptr_t>(&c), std::memory_order_relaxed);
        word(t, 1).store(static_cast<std::uint64_t>(isolation), std::memory_order_relaxed);
        word(t, 2).store(std::uint64_t{affinity} << 16 | origin, std::memory_order_relaxed);
    }
    static d1::task_group_context& context(const d1::task& t) noexcept {
        return *reinterpret_cast<d1::task_group_context*>(word(t, 0).load(std::memory_order_relaxed));
    }
    static std::intptr_t isolation(const d1::task& t) noexcept {
        return static_cast<std::intptr_t>(word(t, 1).load(std::memory_order_relaxed));
    }
    static d1::slot_id affinity(const d1::task& t) noexcept {
        return static_cast<d1::slot_id>(word(t, 2).load(std::memory_order_relaxed) >> 16);
    }
    /// The slot that spawned it, or no_slot.
    static d1::slot_id origin(const d1::task& t) noexcept {
        return static_cast<d1::slot_id>(word(t, 2).load(std::memory_order_relaxed));
    }

    /// For a pool that records: the wait_context or the context whose waiter waits for the task.
    static void set_awaited_by(d1::task& t, const void* scope) noexcept {
        word(t, 3).store(reinterpret_cast<std::uintptr_t>(scope), std::memory_order_relaxed);
    }
    static const void* awaited_by(const d1::task& t) noexcept {
        return reinterpret_cast<const void*>(word(t, 3).load(std::memory_order_relaxed));
    }

private:
    static std::atomic_ref<std::uint64_t> word(const d1::task& t, unsigned i) noexcept {
        return std::atomic_ref(const_cast<std::uint64_t&>(t.m_reserved[i]));
    }
};

/// Asks what the header keeps private.
class external_waiter {
public:
    [[nodiscard]] static bool is_running(const d1::wait_context& w) noexcept {
        return w.continue_execution();
    }
};

/// The execution_data of a task, followed by data of the scheduler.
struct execution_data_ext : d1::execution_data {
    thread_data* thread{};
};

/// A stack: what task::suspend() hands to its callback, and a key of enumerable_thread_specific.
struct suspend_point_type {
    explicit suspend_point_type(thread_data& t) noexcept : stack(&t) {}
    thread_data* const stack;
    std::atomic<bool> may_be_resumed{false};
    nap resumed;
};

/// How many stacks of the process are suspended, or resumed without a slot yet.
namespace suspended {
extern std::atomic<int> count;
/// True from here on for a thread that has fenced after it was added to the sleepers.
[[nodiscard]] inline bool any() noexcept { return count.load(std::memory_order_seq_cst) != 0; }
void begin() noexcept;
inline void end() noexcept { count.fetch_sub(1, std::memory_order_relaxed); }
/// Blocks the thread until a wake-up, or until any stack suspends.
void block_until_any(nap& n) noexcept;
void forget_threads() noexcept;
} // namespace suspended

/// A first-in-first-out queue of tasks, for any thread. A task may be in it several times.
class task_queue {
public:
    /// Throws std::bad_alloc, and then the queue is as before.
    void push(d1::task& t);
    /// The oldest task, or null. With an isolation other than 0 the oldest one that has it.
    d1::task* pop(std::intptr_t isolation) noexcept;
    /// Exact for a thread that has fenced after its own last step.
    [[nodiscard]] bool empty() const noexcept { return m_size.load(std::memory_order_seq_cst) == 0; }
    void forget_threads() noexcept {
        (void)m_lock.open_for_good();
        m_size.store(m_tasks.size(), std::memory_order_relaxed); // a thread may have been between
    }

private:
    short_lock m_lock;
    std::deque<d1::task*> m_tasks;
    std::atomic<std::size_t> m_size{0};
};

/// The observers of one arena.
class observer_list {
public:
    void add(observer_proxy& p) noexcept;
    void remove(observer_proxy& p) noexcept;
    [[nodiscard]] std::uint64_t newest() const noexcept { return m_newest.load(std::memory_order_acquire); }
    void enter(thread_data& t);
    void leave(thread_data& t);
    void forget_threads() noexcept { (void)m_lock.open_for_good(); }

private:
    /// An observer that throws ends the program, because no code on a worker would catch it.
    void call_each(thread_data& t, std::uint64_t after, std::uint64_t upto, bool entry) noexcept;
    short_lock m_lock;
    chain<observer_proxy> m_proxies;
    std::atomic<std::uint64_t> m_newest{0};
};

/// How a thread looks for tasks.
enum class look {
    brief,  ///< may miss a task that a thief looks at, and leaves tasks to slots that their affinity names
    of_job, ///< brief, and wishes for the free slot that the affinity of a task names
    last_of_job, ///< all tasks, but for those that it wishes for a slot for
    exact,       ///< before it sleeps: all tasks
};
[[nodiscard]] inline bool is_exact(look how) noexcept { return how >= look::last_of_job; }

/// One place of an arena, which one thread at a time takes.
struct alignas(128) slot {
    std::atomic<bool> taken{false};
    std::atomic<bool> is_looking{true}; // for tasks, if it is taken: a hint to thieves
    slot_deque tasks;
};

/// Slots, tasks and the worker jobs of the pool that run them.
class arena {
public:
    arena(unsigned concurrency, unsigned reserved, d1::task_arena_base::priority level);
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    void add_reference() noexcept { m_references.fetch_add(1, std::memory_order_relaxed); }
    void remove_reference() noexcept;

    [[nodiscard]] unsigned concurrency() const noexcept { return m_concurrency; }
    [[nodiscard]] unsigned reserved() const noexcept { return m_reserved; }
    /// True while an arena of its caller alone has a worker, which a queued task needs.
    [[nodiscard]] bool is_lent_a_worker() const noexcept {
        return m_concurrency == 1 && m_reserved == 1 && m_jobs.load(std::memory_order_relaxed) != 0;
    }
    [[nodiscard]] d1::task_group_context& default_context() noexcept { return m_default_context; }
    [[nodiscard]] slot& at(unsigned i) noexcept { return m_slots[i]; }

    static constexpr unsigned none = ~0U;
    static constexpr unsigned most_slots = 65'000; // a task keeps the number of a slot in 16 bits
    /// A free slot, or none.
    [[nodiscard]] unsigned take_slot(bool is_worker) noexcept;
    void give_slot(unsigned i) noexcept;
    /// Waits for the slot `before`, or any slot for a worker. The stack of a worker suspends meanwhile.
    [[nodiscard]] unsigned take_slot_again(unsigned before, bool is_worker);
    /// Around a wait of a stack that has given its slot away. A job does not count meanwhile, so another one
    /// may come. For a thread outside of the pool (not a job) a worker comes, if `replaced`.
    void begin_absence(bool is_job, bool replaced) noexcept;
    void end_absence(bool is_job, bool replaced) noexcept;

    /// By a thread in slot `own`: a task of another slot, a queued one, or null.
    d1::task* steal(thread_data& t, std::intptr_t isolation, look how);
    [[nodiscard]] bool has_critical() const noexcept { return !m_critical.empty(); }
    d1::task* pop_critical(std::intptr_t isolation) noexcept {
        return has_critical() ? m_critical.pop(isolation) : nullptr;
    }
    d1::task* pop_queued() noexcept { return m_queued.empty() ? nullptr : m_queued.pop(0); }
    /// A call that waits for a slot, or null.
    d1::task* pop_call() noexcept;
    void list_call(delegated_call& c) noexcept;
    /// False if a thread of the arena has taken it.
    bool unlist_call(delegated_call& c) noexcept;
    /// True if a worker would find a task.
    [[nodiscard]] bool has_work() noexcept;
    [[nodiscard]] bool has_queued() const noexcept { return !m_queued.empty() || has_critical(); }
    [[nodiscard]] bool is_busy() noexcept {
        return m_jobs.load(std::memory_order_seq_cst) != 0 || has_work();
    }

    /// A worker comes even if the arena may have none.
    void enqueue(d1::task& t);
    /// A worker comes only if the arena may have one: a thread waits in the arena for the task.
    void submit(d1::task& t, bool is_critical);
    /// After a task was published: asks for a worker. True if threads sleep here: the caller wakes those that
    /// may take it.
    [[nodiscard]] bool advertise() noexcept {
        if (!s_reaches_all) {
            std::atomic_thread_fence(std::memory_order_seq_cst);
        } else {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        if (m_jobs.load(std::memory_order_relaxed) < m_job_limit.load(std::memory_order_relaxed)) {
            ask_for_worker(false);
        }
        return m_sleepers.load(std::memory_order_relaxed) != 0;
    }
    /// Submits a job to the pool unless enough are there; at least one if forced.
    void ask_for_worker(bool force) noexcept;
    /// Wakes all threads that sleep here, if a task is there.
    void pass_wake_up_on() noexcept;
    /// After the number of allowed threads has changed.
    void set_job_limit() noexcept;
    [[nodiscard]] bool too_many_jobs() const noexcept {
        return m_jobs.load(std::memory_order_relaxed) >
               std::max(1, m_job_limit.load(std::memory_order_relaxed));
    }
    /// True if the job in slot `i` keeps a caller out, whose absence has let it in.
    [[nodiscard]] bool wants_back(unsigned i) const noexcept {
        return m_slot_seekers.load(std::memory_order_relaxed) != 0 && i < m_reserved &&
               m_absent.load(std::memory_order_relaxed) == 0;
    }
    [[nodiscard]] bool workers_only_queued() const noexcept {
        return m_job_limit.load(std::memory_order_relaxed) == 0;
    }

    /// The job, on the stack of a task of a pool.
    void run_job(bool in_own_pool) noexcept;
    /// A job that no pool runs.
    void drop_job() noexcept;

    /// Of the own arena of a thread, which `arenas::of_threads` counts from here on.
    void count() noexcept;
    /// Until the arena asks for a worker again.
    void uncount() noexcept;
    /// Its thread has left it.
    void leave_for_good() noexcept;

    void forget_threads() noexcept;

    observer_list observers;
    // Of the list of all arenas, and of sleepers, by the code that keeps them.
    arena* previous = nullptr;
    arena* next = nullptr;
    std::atomic<int> m_sleepers{0};
    std::atomic<int> m_slot_seekers{0};

    /// True if heavy_fence() orders other threads. Otherwise advertise() needs a fence of its own.
    static bool s_reaches_all;

private:
    ~arena();
    /// False if the slot is taken.
    bool take(unsigned i) noexcept;
    /// Whether the thief `t` leaves a task to the slot that its affinity names. A job wishes for that slot if
    /// it is free.
    slot_deque::choice choose(const d1::task& x, thread_data& t, look how) noexcept;
    /// The first slot that workers take.
    [[nodiscard]] unsigned first_of_workers() const noexcept {
        return m_absent.load(std::memory_order_relaxed) != 0 ? 0 : m_reserved;
    }
    void end_job(bool had_slot) noexcept;

    const unsigned m_concurrency;
    const unsigned m_reserved;
    const unsigned m_slot_count;
    const int m_level;
    std::atomic<std::intptr_t> m_references{1};
    use_count<pilfer::detail::std_atom> m_use; // as the own arena of a thread
    std::atomic<int> m_jobs{0};                // submitted or running
    std::atomic<int> m_job_limit{0};
    std::atomic<unsigned> m_absent{0};      // threads outside of the pool that a worker replaces
    std::atomic<bool> m_turned_away{false}; // a job has found no slot since a thread has looked
    std::atomic<unsigned> m_used{0};        // slots from 0 that have ever been taken
    std::unique_ptr<slot[]> m_slots;
    task_queue m_queued;
    task_queue m_critical;
    short_lock m_calls_lock;
    chain<delegated_call> m_calls;
    std::atomic<int> m_call_count{0};
    d1::task_group_context m_default_context;
};

/// The place of a thread in an arena, and what runs there.
struct position {
    arena* place = nullptr;
    unsigned slot_index = 0;
    bool is_outermost = true; // no task is on this stack, since it entered `place` or called execute()
    d1::task_group_context* context = nullptr;
    std::intptr_t isolation = 0;
    const char* stack_limit = nullptr; // a frame below it takes no tasks of others: the stack might overflow
    std::uint64_t last_observer = 0;   // whose entry this thread has seen in `place`
};

/// A thread's call into another arena.
class stay {
public:
    stay(thread_data& t, arena& a, unsigned i);
    /// A thread that is in `a` below on its stack uses its slot again: it would wait for itself.
    stay(thread_data& t, position& again);
    stay(const stay&) = delete;
    stay& operator=(const stay&) = delete;
    ~stay();
    /// The place of the thread in `a` below on its stack, or null.
    static position* find(thread_data& t, const arena& a) noexcept;
    /// In the child of fork(): the slots of the calls of `t` are taken.
    static void take_slots_again(thread_data& t) noexcept;
    [[nodiscard]] bool uses_a_slot_again() const noexcept { return m_again != nullptr; }

private:
    thread_data& m_thread;
    position m_before;
    stay* const m_below;
    position* const m_again;
};

/// The part of a thread that all its stacks share. Never destroyed: the next new thread adopts it.
struct thread_part {
    static thread_part& here();

    thread_data* spare = nullptr;          // data that no stack uses: as many as it ever had stacks at once
    std::atomic<unsigned> resumed_here{0}; // stacks of this thread that were resumed and wait for it
    thread_part* next_free = nullptr;
};

/// The data of a stack that is inside TBB: of a thread, of a job, or of a task of a pilfer pool that calls
/// TBB. A thread of a pool may have several. Between two calls of such tasks it keeps one, in s_here.
class thread_data : public position {
public:
    /// Of the calling stack. The first call gives the thread an arena of its own, in slot 0.
    static thread_data& here() {
        if (const pilfer::detail::worker* const w = pilfer::detail::this_worker()) {
            if (thread_data* const t = bound_on(*w)) {
                return *t;
            }
        }
        return base();
    }
    /// The data that the thread keeps, whichever stack runs.
    static thread_data& base() {
        pilfer::detail::san::acquire(&s_here);
        if (s_here != nullptr && s_here->place != nullptr) [[likely]] {
            return *s_here;
        }
        return make_here();
    }
    static inline thread_data* bound_on(const pilfer::detail::worker& w) noexcept;
    static thread_data* if_there() noexcept {
        pilfer::detail::san::acquire(&s_here);
        const pilfer::detail::worker* const w = pilfer::detail::this_worker();
        thread_data* const bound = w != nullptr ? bound_on(*w) : nullptr;
        return bound != nullptr ? bound : s_here;
    }

    bool is_worker = false; // a job runs on this stack
    bool is_own = false;    // a job in the library's own pool
    stay* stays = nullptr;
    std::uint32_t random = 1;
    std::uint32_t number = 0; // no other data has it
    std::uint32_t isolations = 0;
    small_pool* pool = nullptr;
    context_list* contexts = nullptr;
    thread_part* part = nullptr;   // of the thread that began what runs here
    arena* job = nullptr;          // whose job runs on this stack
    arena* own_arena = nullptr;    // that make_here() has made, also while the stack is in another one
    std::uint64_t last_theft = 0;  // by arena::steal(), in cheap_ticks()
    unsigned wished = arena::none; // the slot in which this job goes on
    bool* input_ends = nullptr;    // of the innermost input of a pipeline on this stack
    suspend_point_type point{*this};
    pilfer::detail::backend* records = nullptr; // of the pool that this stack is in, if that records
    const void* awaited_by = nullptr;           // the running task; for `records`

    [[nodiscard]] slot& own() noexcept { return place->at(slot_index); }

    /// Runs `first`, and then tasks until `*until` is released. A job (`until` is null) returns when its
    /// arena has no work.
    void run(d1::task* first, d1::wait_context* until);
    void spawn(d1::task& t, d1::task_group_context& c, d1::slot_id affinity);
    /// Waits while others run the tasks, and runs none itself.
    void wait_for_others(d1::wait_context& until);
    /// Runs one task of any kind. False if there is none.
    bool run_one();

    /// `begins_looking`: its first step there is to look for tasks.
    void enter(arena& a, unsigned i, bool begins_looking = false);
    void leave();
    /// Ends the use of the thread's own arena. The next call makes another one.
    void leave_own_arena() noexcept;
    /// Half of a stack is for tasks that a waiting thread takes from others, and half for what these call.
    void limit_stack(const void* top, std::size_t bytes) noexcept {
        stack_limit = static_cast<const char*>(top) - bytes / 2;
    }
    /// As limit_stack(), for the stack of a task of a pool, from here on.
    void limit_stack_of_task() noexcept;
    /// Calls wait(on) without a slot. The stack of a task suspends there, and its thread runs others.
    /// `replaced`: a job runs tasks of the arena instead of this stack, unless this is a job itself.
    void step_out(bool replaced, void (*wait)(void* on), void* on);
    /// True if a wait with its slot blocks the thread, as in oneTBB, so that no other arena's tasks run on
    /// it. If another stack has to go on on the thread, this one suspends, because the other one may hold
    /// what it waits for. In a pool of the program, and in one that records, all stacks suspend, because
    /// tasks need their workers.
    [[nodiscard]] bool waits_as_thread() const noexcept {
        return is_own &&
               (records == nullptr || pilfer::detail::is_forked_child(*pilfer::detail::this_worker()->pool));
    }
    /// True in a recording, whose one worker may need the slot for a task that this stack waits for. A child
    /// of fork() has no such worker.
    [[nodiscard]] bool waits_without_slot() const noexcept {
        const pilfer::detail::worker* const w = pilfer::detail::this_worker();
        return records != nullptr && (w == nullptr || !pilfer::detail::is_forked_child(*w->pool));
    }
    void sleep_with_slot(nap& n) noexcept { waits_as_thread() ? n.block() : n.sleep(); }
    void step_out_until(nap& n) {
        step_out(
            false, [](void* on) { static_cast<nap*>(on)->sleep(); }, &n);
    }

    /// In the child of fork(): the data of the calling thread are those of the only one.
    static void forget_others() noexcept;

private:
    void forget_threads() noexcept;
    thread_data();
    ~thread_data();
    static void at_thread_end(void* p);
    static thread_data& make_here();
    /// Data without a place, for a stack that begins.
    static thread_data& take();
    /// The end of take(), or of a stack that had bound s_here.
    void give() noexcept;

    /// True if the stack is so full that `frame` takes no tasks of others.
    [[nodiscard]] bool is_deep(const void* frame) const noexcept {
        return static_cast<const char*>(frame) < stack_limit;
    }
    d1::task* find(std::intptr_t isolation, bool outermost, look how);
    d1::task* find_elsewhere(std::intptr_t isolation, bool outermost, look how);
    [[nodiscard]] bool job_has_to_leave() const noexcept;
    d1::task* find_or_wait(std::intptr_t isolation, d1::wait_context* until, bool outermost);
    d1::task* sleep(std::intptr_t isolation, d1::wait_context& until, bool outermost);
    void execute(d1::task* t, std::uint64_t& floating_point);
    void execute_recorded(d1::task* t, std::uint64_t& floating_point);
    void call_task(d1::task* t, std::uint64_t& floating_point);
    /// Lets a stack of this thread go on that was resumed.
    void let_resumed_go_first();
    /// Does what other workers of the program's pool ask for: they may want a task that is below here on the
    /// stack, or wait for their turn.
    void serve_pool() noexcept;

    thread_data* m_next_spare = nullptr;

    friend class arena;
    friend class call;
    friend struct thread_part;
    static thread_local thread_data* s_here __attribute__((tls_model("initial-exec")));
};

/// The frames of TBB on the stack of a task of a pool. Waits above them return on the same thread.
class frames : pilfer::detail::bound_frames {
public:
    explicit frames(thread_data& t) noexcept : m_data(&t) {}
    static thread_data* data_of(pilfer::detail::bound_frames* b) noexcept {
        return b != nullptr ? static_cast<frames*>(b)->m_data : nullptr;
    }

private:
    thread_data* const m_data;
};

inline thread_data* thread_data::bound_on(const pilfer::detail::worker& w) noexcept {
    return frames::data_of(pilfer::detail::bound_frames::innermost(w));
}

/// A call into TBB that runs code of the program. In a task of a pool the outermost one takes the data that
/// the thread keeps, and binds the stack to the thread.
class call {
public:
    call() {
        const pilfer::detail::worker* const w = pilfer::detail::this_worker();
        m_data = w != nullptr ? thread_data::bound_on(*w) : nullptr;
        if (m_data == nullptr) {
            m_data = &thread_data::base();
            if (w != nullptr) [[unlikely]] {
                begin();
            }
        }
    }
    call(const call&) = delete;
    call& operator=(const call&) = delete;
    ~call() {
        if (m_frames) [[unlikely]] {
            end();
        }
    }
    [[nodiscard]] thread_data& data() const noexcept { return *m_data; }

private:
    void begin();
    void end() noexcept;

    thread_data* m_data;
    const char* m_limit = nullptr; // of m_data, before
    std::optional<frames> m_frames;
};

/// Access to the private half of a context.
struct task_group_context_impl {
    /// Makes `c` a child of the running task's context, at its first use. Later calls do nothing.
    static void bind(d1::task_group_context& c, thread_data& t) {
        const auto state = c.my_state.load(std::memory_order_acquire);
        if (state == d1::task_group_context::state::created ||
            state == d1::task_group_context::state::locked) {
            bind_slowly(c, t);
        }
    }
    static void initialize(d1::task_group_context& c) noexcept;
    static void destroy(d1::task_group_context& c) noexcept;
    static void reset(d1::task_group_context& c) noexcept;
    static bool cancel(d1::task_group_context& c) noexcept;
    [[nodiscard]] static bool is_cancelled(const d1::task_group_context& c) noexcept {
        return c.my_cancellation_requested.load(std::memory_order_relaxed) != 0;
    }
    [[nodiscard]] static std::uint64_t floating_point(const d1::task_group_context& c) noexcept {
        return c.my_cpu_ctl_env;
    }
    static void capture_fp(d1::task_group_context& c) noexcept;
    /// Keeps the exception that is being handled, if no other one was first.
    static void keep_exception(d1::task_group_context& c) noexcept;
    static void rethrow(d1::task_group_context& c);
    static d1::task_group_context& of(d1::intrusive_list_node& n) noexcept;
    /// How many bound contexts have `c` as their parent, in bytes that the header leaves free.
    static std::atomic_ref<std::uint32_t> children_of(d1::task_group_context& c) noexcept;
    static void insert(d1::task_group_context& c, d1::intrusive_list_node& head, short_lock& lock) noexcept;
    static void erase(d1::task_group_context& c, short_lock& lock) noexcept;

private:
    static void bind_slowly(d1::task_group_context& c, thread_data& t);
};

/// The bound contexts that one thread has bound. It outlives the thread: contexts may live on.
class context_list {
public:
    static context_list& adopt();
    void abandon() noexcept;
    void add(d1::task_group_context& c) noexcept;
    void remove(d1::task_group_context& c) noexcept;
    /// Calls f for each bound context of the process, under the lock of its list.
    template <class F>
    static void for_each_bound(F f) noexcept;
    /// In a child of fork().
    static void forget_all_threads() noexcept;

private:
    short_lock m_lock;
    d1::intrusive_list_node m_head{};
    context_list* m_next_of_all = nullptr;
    context_list* m_next_free = nullptr;
};

/// The settings of floating point that a context carries, 0 for none.
[[nodiscard]] std::uint64_t read_floating_point() noexcept;
void write_floating_point(std::uint64_t settings) noexcept;

/// What a pool that records is told of tasks.
namespace recording {
/// The back-end of the pool that `w` is of; null: it does not record.
[[nodiscard]] pilfer::detail::backend* of(const pilfer::detail::worker& w) noexcept;
/// `t`, of the context `c`, is about to be queued by the calling stack, whose data are `here`.
void queued(d1::task& t, const d1::task_group_context* c, const thread_data& here) noexcept;
/// Begins and ends of recorded tasks.
extern std::atomic<std::uint64_t> events;
/// Sleeps while the recording runs the tasks of this thread. Reports once if no task begins or ends for long.
void sleep_outside(nap& n) noexcept;
/// The pool that jobs of a thread outside of all pools run in, if it records. Such a thread then runs no
/// tasks, because the recording follows one worker.
class outside {
public:
    outside() noexcept {
        if (s_is_wanted && pilfer::detail::this_worker() == nullptr) [[unlikely]] {
            find();
        }
    }
    [[nodiscard]] explicit operator bool() const noexcept { return m_backend != nullptr; }
    [[nodiscard]] pilfer::detail::backend* operator->() const noexcept { return m_backend; }

private:
    void find() noexcept;
    static const bool s_is_wanted; // by the environment
    std::shared_ptr<pilfer::pool> m_own;
    pilfer::detail::backend* m_backend = nullptr;
};
} // namespace recording

/// The workers of the process.
namespace workers {
/// Threads that the machine grants this process (PILFER_WORKERS, else CPUs), with the one that asks.
[[nodiscard]] unsigned granted() noexcept;
/// The bound of threads that run tasks at once, by global_control.
[[nodiscard]] unsigned allowed() noexcept;
/// Submits a job of `a`: by a task to its pool, by other threads to the common pool if the program uses it.
/// Otherwise the library makes a pool of its own. False if no pool can be made.
[[nodiscard]] bool submit(int level, arena& a) noexcept;
/// True if jobs in the library's own pool should leave: another job waits for a worker and none is free, or
/// the pool ends.
[[nodiscard]] bool are_wanted() noexcept;
/// True if the program has made the common pool, where jobs run from then on.
[[nodiscard]] bool have_moved() noexcept;
/// A job in the library's own pool gives its worker away, and has it again.
void job_pauses() noexcept;
void job_goes_on() noexcept;
/// After global_control has changed.
void set_allowed(unsigned n) noexcept;
/// Ends the threads of the pool. The next submission makes new ones.
void end();
[[nodiscard]] bool have_pool() noexcept;
/// The library's own pool, which is made if there is none. Null if none can be made.
[[nodiscard]] std::shared_ptr<pilfer::pool> own_pool() noexcept;
} // namespace workers

/// The arenas of the process.
namespace arenas {
void add(arena& a) noexcept;
void remove(arena& a) noexcept;
void set_job_limits() noexcept;
void set_job_limit(arena& a) noexcept;
/// task_arena objects that are initialized.
extern std::atomic<int> explicit_ones;
/// Own arenas of threads. After a failed finalize() an arena counts from its next request for a worker on.
/// Each queued task is a request. A spawned task is one unless the arena has enough jobs.
extern std::atomic<int> of_threads;
} // namespace arenas

/// Threads that sleep until a wait_context is released, or their arena has a task or a slot for them.
struct sleeper {
    nap rest;
    std::uintptr_t released = 0;
    arena* place = nullptr;
    std::intptr_t isolation = 0;
    bool keeps_slot = false;
    bool wants_slot = false;
    bool is_worker = false;
    bool is_deep = false; // takes none but critical tasks
    bool is_outermost = false;
    sleeper* previous = nullptr;
    sleeper* next = nullptr;
};
namespace sleepers {
void add(sleeper& s) noexcept;
void remove(sleeper& s) noexcept;
/// Wakes one thread that may take a spawned task.
void wake_for_spawned(arena& a, std::intptr_t isolation) noexcept;
// A thread that is woken for other work may take the task first. So these wake all that may take it.
void wake_for_queued(arena& a) noexcept; // or a call
void wake_for_critical(arena& a, std::intptr_t isolation) noexcept;
void wake_all_in(arena& a) noexcept;
/// Wakes all that sleep with a slot.
void wake_slot_keepers() noexcept;
void wake_for_slot(arena& a) noexcept;
void wake_for_release(std::uintptr_t released) noexcept;
void forget_threads() noexcept;
} // namespace sleepers

/// Memory of a thread's small objects.
void adopt_pool(thread_data& t);
void abandon_pool(thread_data& t) noexcept;

/// True if global_control asks for an end of the program at the first exception of a task.
[[nodiscard]] bool terminates_on_exception() noexcept;
[[nodiscard]] std::size_t stack_size() noexcept;

/// Registers what a child of fork() needs, once.
void prepare_for_fork() noexcept;

} // namespace tbb::detail::r1
