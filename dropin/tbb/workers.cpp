// The pool that runs the jobs of all arenas, global_control and task_scheduler_handle.
#include "scheduler.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include <pthread.h>

#include <pilfer/blocking.hpp>
#include <pilfer/pool.hpp>

#include "platform/cpus.hpp"
#include "pool/pool_core.hpp"

namespace tbb::detail::r1 {

namespace workers {
namespace {

class ending_pool;

/// A stack that waits for the end of pools.
struct end_waiter {
    explicit end_waiter(std::uint64_t n) noexcept : upto(n) {}
    const std::uint64_t upto; // the number of the last of them
    nap rest;
    end_waiter* previous = nullptr;
    end_waiter* next = nullptr;
};

struct state {
    short_lock lock;
    std::shared_ptr<pilfer::pool> pool; // under the lock
    std::atomic<int> waiting{0};        // jobs that are submitted and have not begun
    std::atomic<int> running{0};
    std::atomic<int> ending{0};   // pools that no job can enter any more, and that have not ended
    chain<ending_pool> ends;      // they, the oldest first; under the lock
    std::uint64_t ends_begun = 0; // under the lock
    chain<end_waiter> waiters;    // under the lock
    std::atomic<int> size{0};     // workers of the pool
    std::atomic<bool> has_pool{false};
    std::atomic<bool> is_left{false};         // a task of the common pool will end the pool
    std::atomic<unsigned> allowed{granted()}; // threads, with one outside of the pool
};

/// A thread of a pool of the library's own, also of one that ends.
constinit thread_local bool is_of_own_pool = false;

/// Never destroyed: threads may use it while the program ends.
state& all() {
    static state& s = *new state;
    return s;
}

/// The pool cannot grow beyond this number of workers.
unsigned most() { return std::max(32U, 2 * granted()); }

unsigned workers_for(unsigned threads) { return std::clamp(threads, 2U, most() + 1) - 1; }

/// A pool that does not end before the program writes its trace and its profile then.
void write_files_at_exit() {
    static const int registered = std::atexit([] {
        state& s = all();
        const guard held(s.lock);
        if (s.pool) {
            s.pool->core().write_files();
        }
    });
    (void)registered;
}

std::shared_ptr<pilfer::pool> pool_of(state& s) {
    const guard held(s.lock);
    if (!s.pool) {
        pilfer::options o;
        o.workers = workers_for(s.allowed.load(std::memory_order_relaxed));
        o.max_workers = std::max(most(), o.workers);
        o.name = "pilfer-tbb";
        o.stack_size = std::clamp(stack_size(), std::size_t{64} * 1024, std::size_t{1} << 30);
        o.max_extra_workers = 0;
        o.on_start = [](unsigned) { is_of_own_pool = true; };
        o.resume = pilfer::resume::own_thread; // what a program keeps in thread-locals stays its own
        // An unchanged program gets no signal handler and no reports.
        o.debug.overflow_message = false;
        o.debug.stall_report = 0;
        s.pool = std::make_shared<pilfer::pool>(o);
        s.size.store(static_cast<int>(s.pool->workers()), std::memory_order_relaxed);
        s.has_pool.store(true, std::memory_order_relaxed);
        write_files_at_exit();
    }
    return s.pool;
}

/// The pool that jobs have entered up to now. While the object exists, `ending` counts it.
class ending_pool {
public:
    explicit ending_pool(state& s) noexcept : m_state(s) {
        const guard held(s.lock);
        s.has_pool.store(false, std::memory_order_relaxed);
        m_pool = std::move(s.pool);
        if (m_pool) {
            s.ending.fetch_add(1, std::memory_order_relaxed);
            s.ends.push_back(*this);
            ++s.ends_begun;
        }
        m_number = s.ends_begun;
    }
    ending_pool(const ending_pool&) = delete;
    ending_pool& operator=(const ending_pool&) = delete;
    ~ending_pool() {
        if (!m_pool) {
            return;
        }
        m_pool.reset();
        const guard held(m_state.lock);
        m_state.ending.fetch_sub(1, std::memory_order_relaxed);
        m_state.ends.remove(*this);
        for (end_waiter* w = m_state.waiters.first(); w != nullptr;) {
            end_waiter* const after = w->next;
            if (!is_left(m_state, w->upto)) {
                m_state.waiters.remove(*w);
                w->rest.wake(); // From here on it may be gone.
            }
            w = after;
        }
    }
    [[nodiscard]] explicit operator bool() const noexcept { return m_pool != nullptr; }
    /// Of the last end that has begun up to this one.
    [[nodiscard]] std::uint64_t number() const noexcept { return m_number; }
    /// Under the lock: true if an end is left whose number is at most `upto`.
    [[nodiscard]] static bool is_left(const state& s, std::uint64_t upto) noexcept {
        const ending_pool* const oldest = s.ends.first();
        return oldest != nullptr && oldest->m_number <= upto;
    }
    /// Waits for the jobs, which leave arenas that never run dry, too, and go on in another pool. A submitter
    /// may still hold the pool, and the last holder must not be one that a worker waits for.
    void end() const { m_pool->shutdown(); }

    ending_pool* previous = nullptr;
    ending_pool* next = nullptr;

private:
    state& m_state;
    std::shared_ptr<pilfer::pool> m_pool;
    std::uint64_t m_number;
};

/// Waits for the ends whose numbers are at most `upto`.
void wait_for_ends(state& s, std::uint64_t upto) noexcept {
    end_waiter self(upto);
    {
        const guard held(s.lock);
        if (!ending_pool::is_left(s, upto)) {
            return;
        }
        s.waiters.push_back(self);
    }
    self.rest.sleep();
}

/// A job on its way to a worker.
class job final : public pilfer::detail::detached_task {
public:
    job(arena& a, bool in_own_pool) noexcept : m_arena(&a), m_in_own_pool(in_own_pool) {}
    ~job() override {
        if (m_arena != nullptr) {
            m_arena->drop_job(); // the program's pool has dropped it
        }
    }
    /// The arena stays with the caller.
    void recall() noexcept { m_arena = nullptr; }

private:
    void execute() override {
        state& s = all();
        if (m_in_own_pool) {
            s.waiting.fetch_sub(1, std::memory_order_relaxed);
            s.running.fetch_add(1, std::memory_order_relaxed);
        }
        std::exchange(m_arena, nullptr)->run_job(m_in_own_pool);
        if (m_in_own_pool) {
            s.running.fetch_sub(1, std::memory_order_relaxed);
        }
    }

    arena* m_arena;
    const bool m_in_own_pool;
};

/// Throws pool_closed, std::bad_alloc.
void submit_to(pilfer::detail::pool_core& p, int level, arena& a, bool in_own_pool) {
    constexpr std::array levels{pilfer::priority::high, pilfer::priority::normal, pilfer::priority::low};
    auto task = std::make_unique<job>(a, in_own_pool);
    p.backend().carries_foreign(task.get(), true);
    try {
        task->start(p, {.priority = levels[static_cast<std::size_t>(level)]});
    } catch (...) {
        task->recall();
        p.backend().carries_foreign(task.get(), false);
        throw;
    }
    (void)task.release(); // NOLINT(bugprone-unused-return-value): it ends itself, and may have already
}

/// Once.
void report_no_pool(const std::exception& e) noexcept {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) {
        std::fprintf(stderr, "libpilfer-tbb: no workers, waiting threads run all tasks: %s\n", e.what());
    }
}

/// The pool of the program in which a job of the calling thread runs, or null.
pilfer::detail::pool_core* pool_of_program() noexcept {
    if (const pilfer::detail::worker* const w = pilfer::detail::this_worker();
        w != nullptr && !is_of_own_pool) {
        return w->pool;
    }
    return pilfer::detail::common_core_if_made();
}

/// A task of the common pool, until it has run or was dropped.
class leaving {
public:
    leaving() noexcept = default;
    leaving(leaving&& other) noexcept : m_is_this(std::exchange(other.m_is_this, false)) {}
    leaving& operator=(leaving&&) = delete;
    ~leaving() {
        if (m_is_this) {
            all().is_left.store(false, std::memory_order_relaxed);
        }
    }
    void operator()() const {
        if (const ending_pool own(all()); own) {
            pilfer::blocking([&] { own.end(); });
        }
    }

private:
    bool m_is_this = true;
};

/// The program has begun to use the common pool. Then the library's own is not needed any more, and ends as
/// soon as its jobs have left. Jobs that come from the program's other pools do not end it. The end begins in
/// a task, because the caller may be one of the workers, and because the common pool may be closed: then no
/// end begins that would have to be given up. Throws what submit() throws.
void leave_own_pool(state& s) {
    if (pilfer::detail::common_core_if_made() != nullptr &&
        !s.is_left.exchange(true, std::memory_order_relaxed)) {
        pilfer::pool::common().submit(leaving());
    }
}

} // namespace

unsigned granted() noexcept {
    static const unsigned n = [] {
        try {
            return pilfer::os::automatic_workers();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "libpilfer-tbb: %s; it is ignored\n", e.what());
            return pilfer::os::granted_cpus();
        }
    }();
    return n;
}

unsigned allowed() noexcept { return all().allowed.load(std::memory_order_relaxed); }

bool submit(int level, arena& a) noexcept {
    state& s = all();
    if (pilfer::detail::pool_core* const program = pool_of_program()) {
        try {
            if (s.has_pool.load(std::memory_order_relaxed)) {
                leave_own_pool(s);
            }
            submit_to(*program, level, a, false);
            return true;
        } catch (const std::exception&) {
            // It is closed, or its queue is full: a pool of the library's own runs the job.
        }
    }
    s.waiting.fetch_add(1, std::memory_order_relaxed);
    for (;;) {
        try {
            submit_to(pool_of(s)->core(), level, a, true);
            return true;
        } catch (const pilfer::pool_closed&) {
            // finalize() has ended this pool after pool_of() has returned it. The next one is another.
        } catch (const std::exception& e) {
            s.waiting.fetch_sub(1, std::memory_order_relaxed);
            report_no_pool(e);
            return false;
        }
    }
}

bool are_wanted() noexcept {
    state& s = all();
    return s.ending.load(std::memory_order_relaxed) > 0 ||
           (s.waiting.load(std::memory_order_relaxed) > 0 &&
            s.running.load(std::memory_order_relaxed) >= s.size.load(std::memory_order_relaxed));
}

bool have_moved() noexcept { return pilfer::detail::common_core_if_made() != nullptr; }

void job_pauses() noexcept { all().running.fetch_sub(1, std::memory_order_relaxed); }

void job_goes_on() noexcept { all().running.fetch_add(1, std::memory_order_relaxed); }

void set_allowed(unsigned n) noexcept {
    state& s = all();
    if (s.allowed.exchange(n, std::memory_order_relaxed) == n) {
        return;
    }
    {
        const guard held(s.lock);
        if (s.pool) {
            try {
                s.size.store(static_cast<int>(s.pool->resize(workers_for(n))), std::memory_order_relaxed);
            } catch (const std::exception& e) {
                std::fprintf(stderr, "libpilfer-tbb: the number of workers stays: %s\n", e.what());
            }
        }
    }
    arenas::set_job_limits();
}

void end() {
    state& s = all();
    std::uint64_t begun = 0;
    {
        const ending_pool own(s);
        begun = own.number();
        if (own) {
            own.end();
        }
    }
    wait_for_ends(s, begun); // also of pools that other threads end
}

std::shared_ptr<pilfer::pool> own_pool() noexcept {
    try {
        return pool_of(all());
    } catch (const std::exception& e) {
        report_no_pool(e);
        return nullptr;
    }
}

bool have_pool() noexcept { return all().has_pool.load(std::memory_order_relaxed); }

void forget_threads() noexcept {
    state& s = all();
    (void)s.lock.open_for_good();
    // The pool of the parent has no threads here. It is kept, because its destructor would look for them.
    new (&s.pool) std::shared_ptr<pilfer::pool>;
    s.has_pool.store(false, std::memory_order_relaxed);
    s.is_left.store(false, std::memory_order_relaxed);
    s.waiting.store(0, std::memory_order_relaxed);
    s.running.store(0, std::memory_order_relaxed);
    s.ending.store(0, std::memory_order_relaxed);
    s.ends = {};
    s.waiters = {};
}

} // namespace workers

// --- global_control ----------------------------------------------------------------------------------------

struct global_control_impl {
    static std::size_t value(const d1::global_control& c) noexcept { return c.my_value; }
    static d1::global_control::parameter parameter(const d1::global_control& c) noexcept {
        return c.my_param;
    }
};

namespace {

constexpr std::size_t parameters = d1::global_control::parameter_max;

struct controls {
    short_lock lock;
    std::array<std::multiset<std::size_t>, parameters> active;
    std::array<std::atomic<std::size_t>, parameters> value{};
};

std::size_t usual(std::size_t parameter) noexcept {
    switch (parameter) {
    case d1::global_control::max_allowed_parallelism:
        return workers::granted();
    case d1::global_control::thread_stack_size:
        return std::size_t{4} << 20;
    default:
        return 0;
    }
}

controls& all_controls() {
    static controls& c = *[] {
        auto* made = new controls;
        for (std::size_t p = 0; p < parameters; ++p) {
            made->value[p].store(usual(p), std::memory_order_relaxed);
        }
        return made;
    }();
    return c;
}

void update(controls& c, std::size_t p) noexcept {
    const auto& set = c.active[p];
    // The smallest number of threads, the largest stack, and any other one if it is set.
    const std::size_t n = set.empty()                                        ? usual(p)
                          : p == d1::global_control::max_allowed_parallelism ? *set.begin()
                                                                             : *set.rbegin();
    c.value[p].store(n, std::memory_order_relaxed);
}

void use_allowed() noexcept {
    const std::size_t n =
        all_controls().value[d1::global_control::max_allowed_parallelism].load(std::memory_order_relaxed);
    workers::set_allowed(static_cast<unsigned>(std::clamp<std::size_t>(n, 1, 1U << 20)));
}

} // namespace

bool terminates_on_exception() noexcept {
    return all_controls().value[d1::global_control::terminate_on_exception].load(std::memory_order_relaxed) !=
           0;
}

std::size_t stack_size() noexcept {
    return all_controls().value[d1::global_control::thread_stack_size].load(std::memory_order_relaxed);
}

void create(d1::global_control& g) {
    controls& c = all_controls();
    const auto p = static_cast<std::size_t>(global_control_impl::parameter(g));
    {
        const guard held(c.lock);
        c.active[p].insert(global_control_impl::value(g));
        update(c, p);
        use_allowed(); // under the lock: the last change decides
    }
}

void destroy(d1::global_control& g) {
    controls& c = all_controls();
    const auto p = static_cast<std::size_t>(global_control_impl::parameter(g));
    {
        const guard held(c.lock);
        const auto found = c.active[p].find(global_control_impl::value(g));
        if (found != c.active[p].end()) {
            c.active[p].erase(found);
        }
        update(c, p);
        use_allowed();
    }
}

std::size_t global_control_active_value(int parameter) {
    if (parameter < 0 || static_cast<std::size_t>(parameter) >= parameters) {
        return 0;
    }
    return all_controls().value[static_cast<std::size_t>(parameter)].load(std::memory_order_relaxed);
}

// --- task_scheduler_handle ---------------------------------------------------------------------------------

void get(d1::task_scheduler_handle& h) {
    h.m_ctl = new d1::global_control(d1::global_control::scheduler_handle, 1);
}

void release_impl(d1::task_scheduler_handle& h) {
    delete h.m_ctl;
    h.m_ctl = nullptr;
}

namespace {

/// True inside a task, another arena or an isolated region.
bool is_inside(const thread_data& t) noexcept {
    return t.context != nullptr || t.is_worker || !t.is_outermost || t.stays != nullptr || t.isolation != 0;
}

/// True if a task_arena or a handle is left.
bool has_objects() {
    controls& c = all_controls();
    const guard held(c.lock);
    return !c.active[d1::global_control::scheduler_handle].empty() || arenas::explicit_ones.load() != 0;
}

} // namespace

/// Ends the pool's threads and waits for their end. Fails if the calling thread is inside a task, another
/// arena or an isolated region, and if anything else uses the threads: a task_arena, another handle, or
/// another thread. Then the calling thread keeps its arena. Outside of a task, another arena and an isolated
/// region that arena ceases to count, until it asks for a worker. A spawned task asks for none if the arena
/// has enough jobs. If nothing has used the threads, there are none to end.
bool finalize_impl(d1::task_scheduler_handle& h) {
    release_impl(h);
    thread_data* const t = thread_data::if_there();
    if (t != nullptr && is_inside(*t)) {
        return false;
    }
    const bool is_used =
        workers::have_pool() || arenas::explicit_ones.load() != 0 || arenas::of_threads.load() != 0;
    // First cease to count, then look: of several threads that do so the last one sees no other.
    if (t != nullptr && t->own_arena != nullptr) {
        t->own_arena->uncount();
    }
    if (is_used && (has_objects() || arenas::of_threads.load() != 0)) {
        return false;
    }
    if (t != nullptr) {
        t->leave_own_arena();
    }
    workers::end();
    return true;
}

bool finalize(d1::task_scheduler_handle& h, std::intptr_t mode) {
    if (mode == d1::release_nothrowing) {
        release_impl(h);
        return true;
    }
    const bool ended = finalize_impl(h);
    if (!ended && mode == d1::finalize_throwing) {
        throw_exception(exception_id::unsafe_wait);
    }
    return ended;
}

// --- fork() ------------------------------------------------------------------------------------------------

namespace arenas {
void forget_threads() noexcept;
}
void forget_waiters() noexcept;
void open_pools() noexcept;

void prepare_for_fork() noexcept {
    // The child has the forking thread alone. The locks of other threads are opened, and the next job makes a
    // new pool.
    (void)pthread_atfork(nullptr, nullptr, [] {
        workers::forget_threads();
        sleepers::forget_threads();
        suspended::forget_threads();
        forget_waiters();
        open_pools();
        context_list::forget_all_threads();
        (void)all_controls().lock.open_for_good();
        arenas::forget_threads();
        thread_data::forget_others();
    });
}

} // namespace tbb::detail::r1
