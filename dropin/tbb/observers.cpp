// Observers of threads that enter and leave arenas.
#include "scheduler.hpp"

namespace tbb::detail::r1 {

/// Stands for an observer in the list of its arena.
class observer_proxy {
public:
    explicit observer_proxy(d1::task_scheduler_observer& o, arena& a) noexcept : observed(&o), place(&a) {}
    d1::task_scheduler_observer* const observed;
    arena* const place;
    std::uint64_t number = 0; // rising: a thread has seen all up to one
    observer_proxy* previous = nullptr;
    observer_proxy* next = nullptr;

    static std::atomic<std::intptr_t>& busy(d1::task_scheduler_observer& o) noexcept {
        return o.my_busy_count;
    }
    static std::atomic<observer_proxy*>& proxy(d1::task_scheduler_observer& o) noexcept { return o.my_proxy; }
};

void observer_list::add(observer_proxy& p) noexcept {
    const guard held(m_lock);
    p.number = m_newest.load(std::memory_order_relaxed) + 1;
    m_proxies.push_back(p);
    m_newest.store(p.number, std::memory_order_release);
}

void observer_list::remove(observer_proxy& p) noexcept {
    const guard held(m_lock);
    m_proxies.remove(p);
}

void observer_list::call_each(thread_data& t, std::uint64_t after, std::uint64_t upto, bool entry) noexcept {
    for (;;) {
        d1::task_scheduler_observer* o = nullptr;
        {
            const guard held(m_lock);
            for (observer_proxy* p = m_proxies.first(); p != nullptr; p = p->next) {
                if (p->number > after && p->number <= upto) {
                    after = p->number;
                    o = p->observed;
                    // observe(false) waits for the end of the call.
                    observer_proxy::busy(*o).fetch_add(1, std::memory_order_relaxed);
                    break;
                }
            }
        }
        if (o == nullptr) {
            return;
        }
        if (entry) {
            t.last_observer = after;
            o->on_scheduler_entry(t.is_worker);
        } else {
            o->on_scheduler_exit(t.is_worker);
        }
        observer_proxy::busy(*o).fetch_sub(1, std::memory_order_release);
    }
}

void observer_list::enter(thread_data& t) {
    const std::uint64_t upto = newest();
    if (t.last_observer < upto) {
        call_each(t, t.last_observer, upto, true);
        t.last_observer = upto;
    }
}

void observer_list::leave(thread_data& t) { call_each(t, 0, t.last_observer, false); }

void observe(d1::task_scheduler_observer& o, bool state) {
    auto& proxy = observer_proxy::proxy(o);
    if (state) {
        if (proxy.load(std::memory_order_relaxed) != nullptr) {
            return;
        }
        thread_data& t = thread_data::here();
        arena* a = t.place;
        if (o.my_task_arena != nullptr) {
            o.my_task_arena->initialize();
            a = static_cast<d1::task_arena_base*>(o.my_task_arena)->my_arena.load(std::memory_order_acquire);
        }
        auto* p = new observer_proxy(o, *a);
        a->add_reference();
        a->observers.add(*p);
        proxy.store(p, std::memory_order_release);
        if (t.place == a) {
            a->observers.enter(t);
        }
    } else if (observer_proxy* p = proxy.exchange(nullptr, std::memory_order_acq_rel)) {
        p->place->observers.remove(*p);
        for (unsigned round = 0; observer_proxy::busy(o).load(std::memory_order_acquire) != 0; ++round) {
            pilfer::detail::backoff(round);
        }
        p->place->remove_reference();
        delete p;
    }
}

} // namespace tbb::detail::r1
