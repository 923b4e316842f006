// Arenas: their slots, their queues, and the list of all.
#include "scheduler.hpp"

#include <algorithm>

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
    m_slots[i].is_looking.store(true, std::memory_order_relaxed); // for the next one
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

slot_deque::choice arena::choose(const d1::task& x, thread_data& t, look how) noexcept {
    using enum slot_deque::choice;
    const unsigned named = task_accessor::affinity(x);
    if (named == t.slot_index || named >= m_slot_count) {
        return take;
    }
    const slot& other = m_slots[named];
    if (other.taken.load(std::memory_order_relaxed)) {
        const bool is_left = !is_exact(how) && other.is_looking.load(std::memory_order_relaxed);
        return is_left ? leave : take_if_no_other;
    }
    const bool is_of_job = how == look::of_job || how == look::last_of_job;
    if (is_of_job && named >= first_of_workers() && named < m_concurrency) {
        t.wished = named;
        return leave;
    }
    return take_if_no_other;
}

d1::task* arena::steal(thread_data& t, std::intptr_t isolation, look how) {
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
        const auto choose_one = [&](const d1::task& x) {
            return only_left ? slot_deque::choice::take : choose(x, t, how);
        };
        if (d1::task* stolen = m_slots[i].tasks.steal(isolation, is_exact(how), choose_one)) {
            t.wished = none;
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
        m_slots[i].is_looking.store(true, std::memory_order_relaxed);
        m_slots[i].tasks.forget_threads();
    }
}

} // namespace tbb::detail::r1
