// How a thread finds tasks, runs them and waits.
#include "scheduler.hpp"

#include <chrono>

#include <pthread.h>

#include <pilfer/detail/base/ticks.hpp>

namespace tbb::detail::r1 {

thread_local thread_data* thread_data::s_here = nullptr;

namespace {

pthread_key_t thread_end;
std::once_flag key_once;
thread_local thread_part* part_here = nullptr;
short_lock parts_lock;
thread_part* free_parts = nullptr; // under the lock

/// How many fruitless looks a thread makes before it sleeps or leaves its arena: some 50 us.
constexpr unsigned looks = 100;

void pause(unsigned round) noexcept {
    if (round >= 60) {
        pilfer::detail::backoff(round);
        return;
    }
    for (unsigned i = 0; i < 1U + round / 2; ++i) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }
}

std::uint64_t microseconds() noexcept {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                          std::chrono::steady_clock::now().time_since_epoch())
                                          .count());
}

} // namespace

thread_part& thread_part::here() {
    if (part_here == nullptr) {
        std::call_once(key_once, [] {
            (void)pthread_key_create(&thread_end, &thread_data::at_thread_end);
            prepare_for_fork();
        });
        {
            const guard held(parts_lock);
            part_here = free_parts;
            if (part_here != nullptr) {
                free_parts = part_here->next_free;
            }
        }
        if (part_here == nullptr) {
            part_here = new thread_part;
        }
        // If the key is refused, the thread's arena stays until the program ends.
        (void)pthread_setspecific(thread_end, part_here);
    }
    return *part_here;
}

thread_data::thread_data() {
    adopt_pool(*this);
    contexts = &context_list::adopt();
    static std::atomic<std::uint32_t> made{0};
    number = made.fetch_add(1, std::memory_order_relaxed);
    random = number * 2654435761U | 1U;
}

thread_data::~thread_data() {
    leave_own_arena();
    contexts->abandon();
    abandon_pool(*this);
}

void thread_data::at_thread_end(void* p) {
    // An observer may use TBB in its last call, so the thread is known until then.
    delete s_here;
    s_here = nullptr;
    auto& part = *static_cast<thread_part*>(p);
    while (thread_data* t = part.spare) {
        part.spare = t->m_next_spare;
        delete t;
    }
    part_here = nullptr;
    const guard held(parts_lock);
    part.next_free = free_parts;
    free_parts = &part;
}

thread_data& thread_data::make_here() {
    if (s_here == nullptr) {
        s_here = &take();
        if (pthread_attr_t attributes; pthread_getattr_np(pthread_self(), &attributes) == 0) {
            void* lowest = nullptr;
            std::size_t bytes = 0;
            if (pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
                s_here->limit_stack(static_cast<char*>(lowest) + bytes, bytes);
            }
            (void)pthread_attr_destroy(&attributes);
        }
    }
    auto* a = new arena(workers::granted(), 1, d1::task_arena_base::priority::normal);
    s_here->enter(*a, a->take_slot(false));
    a->remove_reference(); // the thread in it keeps it
    a->count();
    s_here->own_arena = a;
    pilfer::detail::san::release(&s_here); // for other stacks of the thread
    return *s_here;
}

thread_data& thread_data::take() {
    thread_part& part = thread_part::here();
    pilfer::detail::san::acquire(&part); // one thread may give and take on several stacks
    thread_data* t = part.spare;
    if (t == nullptr) {
        t = new thread_data;
    } else {
        part.spare = t->m_next_spare;
    }
    pilfer::detail::san::release(&part);
    t->part = &part;
    return *t;
}

void thread_data::give() noexcept {
    leave_own_arena();
    part = &thread_part::here(); // its stack may have begun on another thread
    pilfer::detail::san::acquire(part);
    m_next_spare = std::exchange(part->spare, this);
    pilfer::detail::san::release(part);
}

void thread_data::limit_stack_of_task() noexcept {
    const char* const top = static_cast<const char*>(__builtin_frame_address(0));
    const char* const low = reinterpret_cast<const char*>(
        pilfer::detail::this_worker()->current.load(std::memory_order_relaxed)->ctx->low);
    limit_stack(top, static_cast<std::size_t>(top - low));
}

void call::begin() {
    thread_data::s_here = nullptr; // other tasks of this thread get data of their own
    pilfer::detail::san::release(&thread_data::s_here);
    m_limit = m_data->stack_limit;
    m_frames.emplace(*m_data);
    m_data->limit_stack_of_task();
    m_data->records = recording::of(*pilfer::detail::this_worker());
}

void call::end() noexcept {
    m_frames.reset();
    m_data->records = nullptr;
    pilfer::detail::san::acquire(&thread_data::s_here);
    if (thread_data::s_here == nullptr) {
        thread_data::s_here = m_data;
        m_data->part = &thread_part::here(); // as in give()
        m_data->stack_limit = m_limit;       // of the thread, which may be a guest
        pilfer::detail::san::release(&thread_data::s_here);
    } else {
        m_data->give();
    }
}

void thread_data::enter(arena& a, unsigned i, bool begins_looking) {
    a.add_reference();
    place = &a;
    slot_index = i;
    is_outermost = true;
    context = nullptr;
    isolation = 0;
    last_observer = 0;
    if (!begins_looking) {
        own().is_looking.store(false, std::memory_order_relaxed);
    }
    if (a.observers.newest() != 0) {
        a.observers.enter(*this);
    }
}

void thread_data::leave() {
    arena& a = *place;
    if (last_observer != 0) {
        a.observers.leave(*this);
    }
    const bool left_tasks = own().tasks.has_tasks();
    a.give_slot(slot_index);
    place = nullptr;
    // A job looks at its end, but not a worker that was here from another arena.
    if (left_tasks && (!is_worker || stays != nullptr)) {
        a.ask_for_worker(true);
    }
    a.remove_reference();
}

void thread_data::leave_own_arena() noexcept {
    if (arena* const a = std::exchange(own_arena, nullptr)) {
        a->add_reference();
        leave();
        a->leave_for_good();
        a->remove_reference();
    }
}

void thread_data::step_out(bool replaced, void (*wait)(void* on), void* on) {
    const position before = *this;
    arena& a = *place;
    // Below on the stack is a frame that expects its slot.
    const bool keeps_slot = stays != nullptr && stays->uses_a_slot_again();
    const std::int64_t first_own = own().tasks.first_own();
    a.add_reference();
    if (!keeps_slot) {
        leave();
    }
    place = nullptr;
    if (is_own) {
        workers::job_pauses();
    }
    (is_worker ? *job : a).begin_absence(is_worker, replaced);
    wait(on);
    (is_worker ? *job : a).end_absence(is_worker, replaced);
    if (is_own) {
        workers::job_goes_on();
    }
    const unsigned i = keeps_slot ? before.slot_index : a.take_slot_again(before.slot_index, is_worker);
    if (keeps_slot) {
        static_cast<position&>(*this) = before;
    } else {
        enter(a, i);
        // Another thread may have had the slot meanwhile.
        if (i == before.slot_index) {
            own().tasks.own_from(first_own);
        } else {
            own().tasks.begin_own();
        }
        is_outermost = before.is_outermost;
        context = before.context;
        isolation = before.isolation;
    }
    a.remove_reference();
}

void thread_data::spawn(d1::task& t, d1::task_group_context& c, d1::slot_id affinity) {
    task_group_context_impl::bind(c, *this);
    task_accessor::set(t, c, isolation, affinity, static_cast<d1::slot_id>(slot_index));
    if (records != nullptr) [[unlikely]] {
        recording::queued(t, &c, *this);
    }
    const std::intptr_t tag = isolation;
    own().tasks.push(t, tag);
    if (place->advertise()) {
        sleepers::wake_for_spawned(*place, tag);
    }
}

void thread_data::execute(d1::task* t, std::uint64_t& floating_point) {
    records == nullptr ? call_task(t, floating_point) : execute_recorded(t, floating_point);
}

void thread_data::call_task(d1::task* t, std::uint64_t& floating_point) {
    execution_data_ext ed;
    d1::task_group_context& c = task_accessor::context(*t);
    ed.context = &c;
    ed.affinity_slot = task_accessor::affinity(*t);
    ed.original_slot = task_accessor::origin(*t) == d1::no_slot ? static_cast<d1::slot_id>(slot_index)
                                                                : task_accessor::origin(*t);
    ed.thread = this;
    context = &c;
    isolation = task_accessor::isolation(*t);
    const std::uint64_t wanted = task_group_context_impl::floating_point(c);
    if (wanted != floating_point && wanted != 0) {
        write_floating_point(wanted);
        floating_point = wanted;
    }
    while (t != nullptr) {
        if (task_group_context_impl::is_cancelled(c)) {
            // A task that throws while it is dropped cannot be dropped again.
            t = [&]() noexcept { return t->cancel(ed); }();
        } else {
            try {
                do {
                    t = t->execute(ed);
                    // The returned task runs next, with this context and isolation, on this slot.
                    ed.original_slot = static_cast<d1::slot_id>(slot_index);
                    ed.affinity_slot = d1::no_slot;
                    if (t != nullptr && place->has_critical()) [[unlikely]] {
                        spawn(*t, c, d1::no_slot); // a task with priority is first
                        t = nullptr;
                    }
                } while (t != nullptr && !task_group_context_impl::is_cancelled(c));
            } catch (...) {
                if (terminates_on_exception()) {
                    std::terminate();
                }
                // The task that threw is now cancelled like the others, which ends it.
                task_group_context_impl::keep_exception(c);
            }
        }
    }
}

d1::task* thread_data::find(std::intptr_t wanted, bool outermost, look how) {
    d1::task* t = place->pop_critical(wanted);
    if (t == nullptr) {
        // In an infinite recursion of waits that take tasks of others each thread would overflow its stack.
        // Its own tasks it takes.
        const bool deep = is_deep(__builtin_frame_address(0));
        if (!deep || own().tasks.has_own()) [[likely]] {
            t = own().tasks.pop(wanted, is_exact(how));
        }
        if (t != nullptr) {
            return t;
        }
        if (deep) [[unlikely]] {
            return nullptr;
        }
        t = find_elsewhere(wanted, outermost, how);
    }
    if (t != nullptr && place->observers.newest() != last_observer) {
        place->observers.enter(*this);
    }
    return t;
}

d1::task* thread_data::find_elsewhere(std::intptr_t wanted, bool outermost, look how) {
    if (outermost && wanted == 0) {
        if (d1::task* t = place->pop_queued()) {
            return t;
        }
        if (d1::task* t = is_worker && place->workers_only_queued() ? nullptr : place->pop_call()) {
            return t;
        }
    }
    return place->steal(*this, wanted, how);
}

d1::task* thread_data::sleep(std::intptr_t wanted, d1::wait_context& until, bool outermost) {
    sleeper s;
    s.keeps_slot = !waits_without_slot() && !suspended::any();
    s.released = reinterpret_cast<std::uintptr_t>(&until);
    s.place = place;
    s.isolation = wanted;
    s.is_worker = is_worker;
    s.is_outermost = outermost;
    constexpr std::ptrdiff_t below = 1024; // for find()
    s.is_deep = is_deep(static_cast<const char*>(__builtin_frame_address(0)) - below);
    sleepers::add(s);
    // Either this thread sees what was published before, or the publisher sees the sleeper.
    pilfer::detail::heavy_fence();
    d1::task* t = nullptr;
    if (external_waiter::is_running(until)) {
        t = find(wanted, outermost, look::exact);
        if (t == nullptr && !s.keeps_slot) {
            step_out_until(s.rest);
        } else if (t == nullptr && !suspended::any()) {
            sleep_with_slot(s.rest);
        }
    }
    sleepers::remove(s);
    if (records != nullptr) [[unlikely]] {
        records->foreign_awaited();
    }
    if (t == nullptr && !external_waiter::is_running(until)) {
        place->pass_wake_up_on(); // A task may have woken this thread, which runs none any more.
    }
    return t;
}

bool thread_data::job_has_to_leave() const noexcept {
    // A stack that waits for a slot may be on this very worker, so a job that finds nothing leaves at once.
    return place->too_many_jobs() || (is_own && (workers::are_wanted() || workers::have_moved())) ||
           place->m_slot_seekers.load(std::memory_order_relaxed) != 0 ||
           part->resumed_here.load(std::memory_order_relaxed) != 0;
}

d1::task* thread_data::find_or_wait(std::intptr_t wanted, d1::wait_context* until, bool outermost) {
    const look how = until == nullptr ? look::of_job : look::brief;
    bool was_woken = false; // perhaps for a task that it leaves to another slot
    for (unsigned round = 0;; ++round) {
        if (until != nullptr ? !external_waiter::is_running(*until) : job_has_to_leave()) {
            wished = arena::none;
            if (was_woken) {
                place->pass_wake_up_on();
            }
            return nullptr;
        }
        if (wished != arena::none) {
            return nullptr;
        }
        serve_pool();
        if (part->resumed_here.load(std::memory_order_relaxed) != 0) [[unlikely]] {
            let_resumed_go_first();
            continue;
        }
        d1::task* t = nullptr;
        if (round < looks) {
            own().is_looking.store(true, std::memory_order_relaxed);
            pause(round);
            t = find(wanted, outermost, how);
        } else if (until == nullptr) {
            return find(wanted, outermost, look::last_of_job);
        } else {
            own().is_looking.store(false, std::memory_order_relaxed);
            t = sleep(wanted, *until, outermost);
            was_woken = true;
            round = 0;
        }
        if (t != nullptr) {
            return t;
        }
    }
}

void thread_data::let_resumed_go_first() {
    own().is_looking.store(false, std::memory_order_relaxed);
    place->pass_wake_up_on(); // A task may have woken this thread, which takes none meanwhile.
    step_out(
        false, [](void*) { pilfer::detail::give_way(); }, nullptr);
}

void thread_data::serve_pool() noexcept {
    using trip = pilfer::detail::signal_word<pilfer::detail::std_atom>;
    if (pilfer::detail::worker* const w = pilfer::detail::this_worker();
        w != nullptr && !is_own && w->deque.signal().has(trip::expose | trip::yield_request)) [[unlikely]] {
        own().is_looking.store(false, std::memory_order_relaxed); // it may wait for its turn
        pilfer::detail::attend(w);
    }
}

void thread_data::run(d1::task* first, d1::wait_context* until) {
    const std::intptr_t wanted = isolation;
    const bool outermost = is_outermost;
    d1::task_group_context* const outer = context;
    const std::uint64_t before = read_floating_point();
    std::uint64_t floating_point = before;
    const std::uint64_t since = until == nullptr ? microseconds() : 0;
    is_outermost = false;
    if (records != nullptr && until != nullptr) [[unlikely]] {
        records->foreign_awaited();
    }
    for (d1::task* t = first;;) {
        if (t != nullptr) {
            execute(t, floating_point);
            context = outer; // the task's own may be gone
        }
        if (until != nullptr) {
            if (!external_waiter::is_running(*until)) {
                break;
            }
        } else if (place->too_many_jobs() || place->wants_back(slot_index) ||
                   (is_own && workers::are_wanted() && microseconds() - since > 200) ||
                   part->resumed_here.load(std::memory_order_relaxed) != 0) {
            break;
        }
        serve_pool();
        t = find(wanted, outermost, until == nullptr ? look::of_job : look::brief);
        if (t == nullptr) {
            t = find_or_wait(wanted, until, outermost);
            own().is_looking.store(false, std::memory_order_relaxed);
            if (t == nullptr) {
                break;
            }
        } else if (until == nullptr) {
            own().is_looking.store(false, std::memory_order_relaxed); // as it was at the start of the job
        }
    }
    is_outermost = outermost;
    context = outer;
    isolation = wanted;
    if (read_floating_point() != before) {
        write_floating_point(before);
    }
}

bool thread_data::run_one() {
    d1::task* t = find(0, true, look::exact);
    if (t == nullptr) {
        return false;
    }
    d1::task_group_context* const outer = context;
    const std::intptr_t before = isolation;
    const bool outermost = is_outermost;
    is_outermost = false;
    std::uint64_t floating_point = read_floating_point();
    execute(t, floating_point);
    is_outermost = outermost;
    context = outer;
    isolation = before;
    return true;
}

void thread_data::forget_others() noexcept {
    // A task of a pool has data of its own, and other tasks of the same thread have those that it keeps.
    thread_data* const t = if_there();
    if (t != nullptr) {
        t->forget_threads();
    }
    if (s_here != nullptr && s_here != t) {
        s_here->forget_threads();
    }
}

void thread_data::forget_threads() noexcept {
    if (own_arena != nullptr) {
        own_arena->count();
    }
    if (place != nullptr) {
        own().taken.store(true, std::memory_order_relaxed);
    }
    stay::take_slots_again(*this);
}

// --- the entries of tasks ----------------------------------------------------------------------------------

void spawn(d1::task& t, d1::task_group_context& c) { r1::spawn(t, c, d1::no_slot); }

void spawn(d1::task& t, d1::task_group_context& c, d1::slot_id id) {
    const pilfer::detail::worker* const w = pilfer::detail::this_worker();
    if (w == nullptr) {
        if (const recording::outside pool; pool) [[unlikely]] {
            r1::enqueue(t, c, nullptr);
        } else {
            thread_data::base().spawn(t, c, id);
        }
    } else if (thread_data* const here = thread_data::bound_on(*w)) {
        here->spawn(t, c, id);
    } else {
        // The task of a pool may wait for it on another thread, whose slot is another.
        r1::enqueue(t, c, nullptr);
    }
}

void execute_and_wait(d1::task& t, d1::task_group_context& t_ctx, d1::wait_context& w,
                      d1::task_group_context& w_ctx) {
    const call inside;
    thread_data& here = inside.data();
    task_group_context_impl::bind(t_ctx, here);
    task_accessor::set(t, t_ctx, here.isolation, d1::no_slot, d1::no_slot);
    if (const recording::outside pool; pool) [[unlikely]] {
        recording::queued(t, &t_ctx, here);
        here.place->enqueue(t);
        here.wait_for_others(w);
        pool->synced_outside(&t_ctx);
        task_group_context_impl::rethrow(w_ctx);
        return;
    }
    // The caller runs `t` itself, which is a part of what calls.
    task_accessor::set_awaited_by(t, &w);
    here.run(&t, &w);
    if (here.records != nullptr) [[unlikely]] {
        here.records->synced(&w);
        if (&t_ctx != here.context) {
            here.records->synced(&t_ctx); // what was spawned before
        }
    }
    task_group_context_impl::rethrow(w_ctx);
}

void wait(d1::wait_context& w, d1::task_group_context& c) {
    const call inside;
    thread_data& here = inside.data();
    if (const recording::outside pool; pool) [[unlikely]] {
        here.wait_for_others(w);
        pool->synced_outside(&c);
    } else {
        here.run(nullptr, &w);
    }
    if (here.records != nullptr) [[unlikely]] {
        here.records->synced(&c);
    }
    task_group_context_impl::rethrow(c);
}

d1::slot_id execution_slot(const d1::execution_data* ed) {
    const thread_data* t =
        ed != nullptr ? static_cast<const execution_data_ext*>(ed)->thread : thread_data::if_there();
    return t != nullptr && t->place != nullptr ? static_cast<d1::slot_id>(t->slot_index) : d1::no_slot;
}

d1::task_group_context* current_context() {
    const thread_data* t = thread_data::if_there();
    return t != nullptr ? t->context : nullptr;
}

void isolate_within_arena(d1::delegate_base& d, std::intptr_t isolation) {
    const call inside;
    thread_data& t = inside.data();
    const std::intptr_t before = t.isolation;
    // Odd, so it is no address that a caller passes. A thread uses a number again after 2^32 regions.
    const auto own =
        static_cast<std::intptr_t>(std::uint64_t{t.number} << 33 | std::uint64_t{++t.isolations} << 1 | 1);
    t.isolation = isolation != 0 ? isolation : own;
    try {
        (void)d();
    } catch (...) {
        t.isolation = before;
        throw;
    }
    t.isolation = before;
}

} // namespace tbb::detail::r1
