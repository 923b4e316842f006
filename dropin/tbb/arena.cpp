// Arenas: slots, queues and the jobs of workers; task_arena's entries.
#include "scheduler.hpp"

#include <exception>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/ticks.hpp>

namespace tbb::detail::r1 {

// --- queues ------------------------------------------------------------------------------------------------

void task_queue::push(d1::task& t) {
    const guard held(m_lock);
    m_tasks.push_back(&t);
    m_size.fetch_add(1, std::memory_order_seq_cst);
}

d1::task* task_queue::pop(std::intptr_t isolation) noexcept {
    const guard held(m_lock);
    const auto found = std::find_if(m_tasks.begin(), m_tasks.end(), [&](const d1::task* t) {
        return isolation == 0 || task_accessor::isolation(*t) == isolation;
    });
    if (found == m_tasks.end()) {
        return nullptr;
    }
    d1::task* const t = *found;
    m_tasks.erase(found);
    m_size.fetch_sub(1, std::memory_order_relaxed);
    return t;
}

// --- arenas ------------------------------------------------------------------------------------------------

bool arena::s_reaches_all = pilfer::detail::heavy_fence_reaches_all();

namespace arenas {
namespace {
short_lock lock;
chain<arena> all;
} // namespace
std::atomic<int> explicit_ones{0};
std::atomic<int> of_threads{0};

void add(arena& a) noexcept {
    const guard held(lock);
    all.push_back(a);
    a.set_job_limit();
}
void remove(arena& a) noexcept {
    const guard held(lock);
    all.remove(a);
}
void set_job_limits() noexcept {
    const guard held(lock);
    for (arena* a = all.first(); a != nullptr; a = a->next) {
        a->set_job_limit();
    }
}
void set_job_limit(arena& a) noexcept {
    const guard held(lock);
    a.set_job_limit();
}
void forget_threads() noexcept {
    (void)lock.open_for_good();
    of_threads.store(0, std::memory_order_relaxed);
    for (arena* a = all.first(); a != nullptr; a = a->next) {
        a->forget_threads();
    }
}
} // namespace arenas

// A worker that a queued task needs has a place beyond the reserved ones, whatever the concurrency.
arena::arena(unsigned concurrency, unsigned reserved, d1::task_arena_base::priority level)
    : m_concurrency(std::min(concurrency, most_slots)), m_reserved(std::min(reserved, m_concurrency)),
      m_slot_count(std::max({m_concurrency, m_reserved + 1, 2U})),
      m_level(level == d1::task_arena_base::priority::high  ? 0
              : level == d1::task_arena_base::priority::low ? 2
                                                            : 1),
      m_slots(new slot[m_slot_count]), m_default_context(d1::task_group_context::isolated) {
    task_group_context_impl::capture_fp(m_default_context);
    arenas::add(*this);
}

arena::~arena() { arenas::remove(*this); }

void arena::remove_reference() noexcept {
    if (m_references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete this;
    }
}

bool arena::take(unsigned i) noexcept {
    if (m_slots[i].taken.load(std::memory_order_seq_cst) ||
        m_slots[i].taken.exchange(true, std::memory_order_seq_cst)) {
        return false;
    }
    unsigned used = m_used.load(std::memory_order_relaxed);
    while (used <= i &&
           !m_used.compare_exchange_weak(used, i + 1, std::memory_order_release, std::memory_order_relaxed)) {
    }
    return true;
}

unsigned arena::take_slot(bool is_worker) noexcept {
    // An arena of one has a second place for a thread that calls, as in oneTBB: two threads that call into
    // each other's arena would wait for ever.
    const unsigned places = is_worker ? m_concurrency : std::max(m_concurrency, 2U);
    for (unsigned i = is_worker ? first_of_workers() : 0; i < places; ++i) {
        if (take(i)) {
            return i;
        }
    }
    if (is_worker && m_concurrency <= m_reserved) {
        // For queued tasks alone. A reserved slot has a number that the program expects.
        for (unsigned i = 0; i < m_slot_count; ++i) {
            if (take(i)) {
                return i;
            }
        }
    }
    return none;
}

void arena::give_slot(unsigned i) noexcept {
    m_slots[i].taken.store(false, std::memory_order_seq_cst);
    if (m_slot_seekers.load(std::memory_order_seq_cst) != 0) {
        sleepers::wake_for_slot(*this);
    }
    // Queued tasks, and what is left in any slot, rely on this look.
    if (m_turned_away.load(std::memory_order_seq_cst) && m_turned_away.exchange(false) && has_work()) {
        ask_for_worker(true);
    }
}

unsigned arena::take_slot_again(unsigned before, bool is_worker) {
    // In a slot for workers a thread outside of the pool would keep workers away as long as it is here.
    const auto take_one = [&] { return take(before) ? before : is_worker ? take_slot(true) : none; };
    unsigned i = take_one();
    if (i != none) {
        return i;
    }
    suspended::begin(); // A thread that sleeps in such a slot gives it away.
    while (i == none) {
        sleeper s;
        s.place = this;
        s.wants_slot = true;
        sleepers::add(s);
        pilfer::detail::heavy_fence(); // give_slot() sees the sleeper, or its slot is seen here
        i = take_one();
        if (i == none) {
            s.rest.sleep();
        }
        sleepers::remove(s);
        if (i != none) {
            sleepers::wake_for_slot(*this); // A slot may have woken this stack, which takes no second one.
        }
    }
    suspended::end();
    return i;
}

void arena::begin_absence(bool is_job, bool replaced) noexcept {
    if (is_job) {
        m_jobs.fetch_sub(1, std::memory_order_seq_cst);
    } else if (replaced) {
        m_absent.fetch_add(1, std::memory_order_relaxed);
        arenas::set_job_limit(*this);
    }
    pilfer::detail::heavy_fence(); // as in end_job()
    if ((is_job || replaced) && has_work()) {
        ask_for_worker(true);
    }
}

void arena::end_absence(bool is_job, bool replaced) noexcept {
    if (is_job) {
        m_jobs.fetch_add(1, std::memory_order_seq_cst);
    } else if (replaced) {
        m_absent.fetch_sub(1, std::memory_order_relaxed);
        arenas::set_job_limit(*this);
    }
}

namespace {

/// After a theft of less than half a microsecond of work: a pause of two, in which the other threads do more
/// than a handshake for each task would let them.
void rest_after_short_theft(std::uint64_t last_theft) noexcept {
    const std::uint64_t now = pilfer::detail::cheap_ticks();
    if (now - last_theft < pilfer::detail::piece_ticks() / 8) {
        while (pilfer::detail::cheap_ticks() - now < pilfer::detail::piece_ticks() / 2) {
            pilfer::detail::backoff(0);
        }
    }
}

} // namespace

d1::task* arena::steal(thread_data& t, std::intptr_t isolation, bool exact) {
    const unsigned used = m_used.load(std::memory_order_acquire);
    if (used < 2) {
        return nullptr;
    }
    rest_after_short_theft(t.last_theft);
    t.random = t.random * 1664525U + 1013904223U;
    const bool only_left = t.is_worker && workers_only_queued();
    unsigned i = static_cast<unsigned>(std::uint64_t{t.random} * used >> 32);
    for (unsigned n = 0; n < used; ++n, i = i + 1 == used ? 0 : i + 1) {
        if (i == t.slot_index || (only_left && m_slots[i].taken.load(std::memory_order_relaxed))) {
            continue;
        }
        if (d1::task* stolen = m_slots[i].tasks.steal(isolation, exact)) {
            t.last_theft = pilfer::detail::cheap_ticks();
            return stolen;
        }
    }
    return nullptr;
}

bool arena::has_work() noexcept {
    if (has_queued()) {
        return true;
    }
    const bool only_left = workers_only_queued();
    if (!only_left && m_call_count.load(std::memory_order_seq_cst) != 0) {
        return true;
    }
    const unsigned used = m_used.load(std::memory_order_acquire);
    for (unsigned i = 0; i < used; ++i) {
        if ((!only_left || !m_slots[i].taken.load(std::memory_order_seq_cst)) &&
            m_slots[i].tasks.has_tasks()) {
            return true;
        }
    }
    return false;
}

void arena::enqueue(d1::task& t) {
    m_queued.push(t);
    ask_for_worker(true);
    if (advertise()) {
        sleepers::wake_for_queued(*this);
    }
}

void arena::submit(d1::task& t, bool is_critical) {
    const std::intptr_t isolation = task_accessor::isolation(t); // once it is queued it may be gone
    (is_critical ? m_critical : m_queued).push(t);
    if (advertise()) {
        is_critical ? sleepers::wake_for_critical(*this, isolation) : sleepers::wake_for_queued(*this);
    }
}

void arena::set_job_limit() noexcept {
    const unsigned absent = m_absent.load(std::memory_order_relaxed);
    m_job_limit.store(static_cast<int>(std::min(m_concurrency - m_reserved, workers::allowed() - 1) + absent),
                      std::memory_order_seq_cst);
}

void arena::ask_for_worker(bool force) noexcept {
    // Also if enough jobs are there: one of them runs the task.
    m_use.ask(arenas::of_threads);
    const int limit = std::max(m_job_limit.load(std::memory_order_relaxed), force ? 1 : 0);
    int jobs = m_jobs.load(std::memory_order_seq_cst);
    do {
        if (jobs >= limit) {
            return;
        }
    } while (!m_jobs.compare_exchange_weak(jobs, jobs + 1, std::memory_order_seq_cst));
    add_reference();
    if (!workers::submit(m_level, *this)) {
        drop_job(); // without a pool the threads that wait run all that was spawned
    }
}

void arena::drop_job() noexcept {
    m_jobs.fetch_sub(1, std::memory_order_seq_cst);
    remove_reference();
}

void arena::pass_wake_up_on() noexcept {
    if (m_sleepers.load(std::memory_order_seq_cst) == 0) {
        return;
    }
    bool is_there = has_queued() || m_call_count.load(std::memory_order_seq_cst) != 0;
    const unsigned used = m_used.load(std::memory_order_acquire);
    for (unsigned i = 0; !is_there && i < used; ++i) {
        is_there = m_slots[i].tasks.has_tasks();
    }
    if (is_there) {
        sleepers::wake_all_in(*this);
    }
}

void arena::run_job(bool in_own_pool) noexcept {
    const unsigned i = take_slot(true);
    if (i != none) {
        thread_data& t = thread_data::take();
        const frames here(t);
        t.is_worker = true;
        t.is_own = in_own_pool;
        t.job = this;
        t.records = recording::of(*pilfer::detail::this_worker());
        t.limit_stack_of_task();
        t.enter(*this, i);
        t.own().tasks.begin_own();
        t.run(nullptr, nullptr);
        t.leave();
        t.job = nullptr;
        t.records = nullptr;
        t.is_worker = t.is_own = false;
        t.give();
    }
    end_job(i != none);
}

void arena::end_job(bool had_slot) noexcept {
    m_jobs.fetch_sub(1, std::memory_order_seq_cst);
    // A task that was published before this has been seen, or its publisher sees that a job is missing.
    pilfer::detail::heavy_fence();
    // Dekker with give_slot(): it sees this, or its slot is seen here.
    if (!had_slot) {
        m_turned_away.store(true, std::memory_order_seq_cst);
    }
    bool is_room = had_slot;
    const bool all_reserved = m_concurrency <= m_reserved; // as in take_slot()
    const unsigned end = all_reserved ? m_slot_count : m_concurrency;
    for (unsigned i = all_reserved ? 0 : first_of_workers(); !is_room && i < end; ++i) {
        is_room = !m_slots[i].taken.load(std::memory_order_seq_cst);
    }
    // Without a free slot the next thread that leaves one looks.
    if (is_room && has_work()) {
        ask_for_worker(true);
    }
    remove_reference();
}

void arena::count() noexcept { m_use.begin(arenas::of_threads); }
void arena::uncount() noexcept { m_use.pause(arenas::of_threads); }
void arena::leave_for_good() noexcept { m_use.end(arenas::of_threads); }

void arena::forget_threads() noexcept {
    m_use.forget();
    m_jobs.store(0, std::memory_order_relaxed);
    m_absent.store(0, std::memory_order_relaxed);
    m_sleepers.store(0, std::memory_order_relaxed);
    m_slot_seekers.store(0, std::memory_order_relaxed);
    m_queued.forget_threads();
    m_critical.forget_threads();
    (void)m_calls_lock.open_for_good();
    m_calls = {};
    m_call_count.store(0, std::memory_order_relaxed);
    observers.forget_threads();
    for (unsigned i = 0; i < m_slot_count; ++i) {
        m_slots[i].taken.store(false, std::memory_order_relaxed);
        m_slots[i].tasks.forget_threads();
    }
}

// --- calls into other arenas -------------------------------------------------------------------------------

stay::stay(thread_data& t, arena& a, unsigned i)
    : m_thread(t), m_before(static_cast<position&>(t)), m_below(t.stays), m_again(nullptr) {
    t.stays = this;
    t.enter(a, i);
    t.own().tasks.begin_own();
}

stay::stay(thread_data& t, position& again)
    : m_thread(t), m_before(static_cast<position&>(t)), m_below(t.stays), m_again(&again) {
    t.stays = this;
    const char* const limit = t.stack_limit;
    static_cast<position&>(t) = again;
    t.stack_limit = limit;
    t.is_outermost = true;
    t.context = nullptr;
    t.isolation = 0;
}

stay::~stay() {
    if (m_again != nullptr) {
        m_again->last_observer = m_thread.last_observer;
    } else {
        m_thread.leave();
    }
    static_cast<position&>(m_thread) = m_before;
    m_thread.stays = m_below;
}

void stay::take_slots_again(thread_data& t) noexcept {
    for (const stay* s = t.stays; s != nullptr; s = s->m_below) {
        s->m_before.place->at(s->m_before.slot_index).taken.store(true, std::memory_order_relaxed);
    }
}

position* stay::find(thread_data& t, const arena& a) noexcept {
    for (stay* s = t.stays; s != nullptr; s = s->m_below) {
        if (s->m_before.place == &a) {
            return &s->m_before;
        }
    }
    return nullptr;
}

// --- task_arena --------------------------------------------------------------------------------------------

/// A call that task_arena::execute() could not make, because the arena had no free slot. It is on the stack
/// of the caller. Either a thread of the arena takes it from the list and runs it, or the caller takes it
/// back when a slot becomes free.
struct delegated_call final : d1::task {
    explicit delegated_call(d1::delegate_base& d) : call(&d) {}
    d1::task* execute(d1::execution_data& ed) override {
        thread_data& t = *static_cast<execution_data_ext&>(ed).thread;
        t.context = nullptr; // as in a direct call: no task
        const bool outermost = t.is_outermost;
        t.is_outermost = true;
        try {
            (void)(*call)();
        } catch (...) {
            error = std::current_exception();
        }
        t.is_outermost = outermost;
        done.release(); // From here on it may be gone.
        return nullptr;
    }
    d1::task* cancel(d1::execution_data& ed) override { return execute(ed); }

    d1::delegate_base* const call;
    d1::wait_context done{1};
    std::exception_ptr error;
    delegated_call* previous = nullptr;
    delegated_call* next = nullptr;
    bool listed = false;
};

void arena::list_call(delegated_call& c) noexcept {
    {
        const guard held(m_calls_lock);
        m_calls.push_back(c);
        c.listed = true;
        m_call_count.fetch_add(1, std::memory_order_seq_cst);
    }
    if (advertise()) {
        sleepers::wake_for_queued(*this);
    }
}

bool arena::unlist_call(delegated_call& c) noexcept {
    const guard held(m_calls_lock);
    if (!c.listed) {
        return false;
    }
    m_calls.remove(c);
    c.listed = false;
    m_call_count.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

d1::task* arena::pop_call() noexcept {
    if (m_call_count.load(std::memory_order_seq_cst) == 0) {
        return nullptr;
    }
    const guard held(m_calls_lock);
    delegated_call* c = m_calls.first();
    if (c != nullptr) {
        m_calls.remove(*c);
        c->listed = false;
        m_call_count.fetch_sub(1, std::memory_order_relaxed);
    }
    return c;
}

namespace {
void prepare(d1::task& t, d1::task_group_context& c, std::intptr_t isolation = 0) noexcept {
    task_accessor::set(t, c, isolation, d1::no_slot, d1::no_slot);
}
} // namespace

/// A call runs with the floating-point settings of its arena.
class settings_of {
public:
    explicit settings_of(arena& a) noexcept : m_before(read_floating_point()) {
        const std::uint64_t wanted = task_group_context_impl::floating_point(a.default_context());
        if (wanted != 0 && wanted != m_before) {
            write_floating_point(wanted);
        }
    }
    settings_of(const settings_of&) = delete;
    settings_of& operator=(const settings_of&) = delete;
    ~settings_of() {
        if (read_floating_point() != m_before) {
            write_floating_point(m_before);
        }
    }

private:
    const std::uint64_t m_before;
};

struct task_arena_impl {
    static arena* of(const d1::task_arena_base& ta) noexcept {
        return ta.my_arena.load(std::memory_order_acquire);
    }

    static void initialize(d1::task_arena_base& ta) {
        // A number that is not positive is automatic.
        const unsigned concurrency =
            ta.my_max_concurrency > 0 ? static_cast<unsigned>(ta.my_max_concurrency) : workers::granted();
        auto* a = new arena(concurrency, ta.my_num_reserved_slots, ta.my_priority);
        ta.my_max_concurrency = static_cast<int>(a->concurrency());
        ta.my_arena.store(a, std::memory_order_release);
        arenas::explicit_ones.fetch_add(1, std::memory_order_relaxed);
    }

    static void terminate(d1::task_arena_base& ta) noexcept {
        arena* a = ta.my_arena.exchange(nullptr, std::memory_order_acq_rel);
        if (a != nullptr) {
            arenas::explicit_ones.fetch_sub(1, std::memory_order_relaxed);
            a->remove_reference();
        }
    }

    static bool attach(d1::task_arena_base& ta) {
        thread_data* t = thread_data::if_there();
        if (t == nullptr || t->place == nullptr) {
            return false;
        }
        arena& a = *t->place;
        a.add_reference();
        arenas::explicit_ones.fetch_add(1, std::memory_order_relaxed);
        ta.my_num_reserved_slots = a.reserved();
        ta.my_max_concurrency = static_cast<int>(a.concurrency());
        ta.my_arena.store(&a, std::memory_order_release);
        return true;
    }

    static void execute(d1::task_arena_base& ta, d1::delegate_base& d) {
        const call inside_tbb;
        thread_data& t = inside_tbb.data();
        arena& a = *of(ta);
        if (t.place == &a) {
            // In its own arena the call has neither the isolation nor the context of the running task. Waits
            // in it take queued tasks: a flow graph that other threads feed waits for such tasks.
            d1::task_group_context* const context = t.context;
            const std::intptr_t isolation = t.isolation;
            t.context = context != nullptr ? &a.default_context() : nullptr;
            t.isolation = 0;
            const bool outermost = t.is_outermost;
            t.is_outermost = true;
            const settings_of own(a);
            const auto back = [&] {
                t.is_outermost = outermost;
                t.context = context;
                t.isolation = isolation;
            };
            try_call([&] { (void)d(); }).on_completion(back);
            return;
        }
        if (position* below = stay::find(t, a)) {
            const stay inside(t, *below);
            const settings_of own(a);
            (void)d();
            return;
        }
        unsigned i = a.take_slot(false);
        if (i == arena::none) {
            i = call_or_wait_for_slot(a, d);
            if (i == arena::none) {
                return;
            }
        }
        const stay inside(t, a, i);
        const settings_of own(a);
        (void)d();
    }

    static int asked(const d1::task_arena_base& ta) noexcept { return ta.my_max_concurrency; }

private:
    /// Returns a slot, or none after a thread of the arena has run `d`. Then it throws what `d` threw.
    static unsigned call_or_wait_for_slot(arena& a, d1::delegate_base& d) {
        delegated_call call(d);
        prepare(call, a.default_context());
        a.list_call(call);
        bool is_taken = false;
        thread_data& t = thread_data::here();
        while (external_waiter::is_running(call.done)) {
            sleeper s;
            s.keeps_slot = !t.waits_without_slot() && !suspended::any();
            s.released = reinterpret_cast<std::uintptr_t>(&call.done);
            s.place = is_taken ? nullptr : &a;
            s.wants_slot = true;
            sleepers::add(s);
            pilfer::detail::heavy_fence();
            const unsigned i = is_taken ? arena::none : a.take_slot(false);
            if (i == arena::none && external_waiter::is_running(call.done)) {
                if (!s.keeps_slot) {
                    t.step_out_until(s.rest);
                } else if (!suspended::any()) {
                    t.sleep_with_slot(s.rest);
                }
            }
            sleepers::remove(s);
            if (i != arena::none) {
                if (a.unlist_call(call)) {
                    call.done.release();
                    return i;
                }
                a.give_slot(i);
                is_taken = true; // A thread of the arena runs it, and this one needs no slot any more.
            }
        }
        // A slot may have woken this thread, which takes none any more.
        sleepers::wake_for_slot(a);
        if (call.error) {
            std::rethrow_exception(call.error);
        }
        return arena::none;
    }
};

void initialize(d1::task_arena_base& ta) { task_arena_impl::initialize(ta); }
void terminate(d1::task_arena_base& ta) { task_arena_impl::terminate(ta); }
bool attach(d1::task_arena_base& ta) { return task_arena_impl::attach(ta); }
void execute(d1::task_arena_base& ta, d1::delegate_base& d) { task_arena_impl::execute(ta, d); }

int max_concurrency(const d1::task_arena_base* ta) {
    const arena* a = ta != nullptr ? task_arena_impl::of(*ta) : nullptr;
    if (a == nullptr && ta == nullptr) {
        const thread_data* t = thread_data::if_there();
        a = t != nullptr ? t->place : nullptr;
    }
    if (a != nullptr) {
        return static_cast<int>(a->concurrency()) + (a->is_lent_a_worker() ? 1 : 0);
    }
    return ta != nullptr && task_arena_impl::asked(*ta) == 1 ? 1 : static_cast<int>(workers::granted());
}

void enqueue(d1::task& t, d1::task_group_context& c, d1::task_arena_base* ta) {
    thread_data& here = thread_data::here();
    arena& a = ta != nullptr ? *task_arena_impl::of(*ta) : *here.place;
    task_group_context_impl::bind(c, here);
    prepare(t, c);
    recording::queued(t, &c, here);
    a.enqueue(t);
}

void enqueue(d1::task& t, d1::task_arena_base* ta) {
    thread_data& here = thread_data::here();
    arena& a = ta != nullptr ? *task_arena_impl::of(*ta) : *here.place;
    prepare(t, a.default_context());
    recording::queued(t, nullptr, here);
    a.enqueue(t);
}

void submit(d1::task& t, d1::task_group_context& c, arena* a, std::uintptr_t as_critical) {
    thread_data& here = thread_data::here();
    task_group_context_impl::bind(c, here);
    const recording::outside pool;
    if (as_critical == 0 && here.place == a && !pool) {
        here.spawn(t, c, d1::no_slot);
        return;
    }
    prepare(t, c, here.isolation);
    recording::queued(t, &c, here);
    a->submit(t, as_critical != 0);
    if (pool) [[unlikely]] {
        a->ask_for_worker(true); // the thread that waits runs no task
    }
}

// Returns when the arena has neither tasks nor workers. For debugging: the thread looks again and again.
void wait(d1::task_arena_base& ta) {
    struct turns final : d1::delegate_base {
        bool operator()() const override {
            thread_data& t = thread_data::here();
            while (t.run_one() || t.place->is_busy()) {
                pilfer::detail::backoff(1);
            }
            return true;
        }
    } all;
    execute(ta, all);
}

} // namespace tbb::detail::r1
