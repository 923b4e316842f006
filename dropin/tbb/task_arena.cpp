// A thread's calls into other arenas than its own, and task_arena's entries.
#include "scheduler.hpp"

#include <algorithm>
#include <exception>

#include <pilfer/detail/base/atom.hpp>

namespace tbb::detail::r1 {

// --- the arenas that a thread is in ------------------------------------------------------------------------

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
