// Threads outside that work for a pool while they wait: attach(), run_until(). Protocol: README.md,
// "Guests".
#include "worker/guest.hpp"

#include <cxxabi.h>

#include <bit>
#include <exception>
#include <memory>
#include <optional>

#include <pilfer/attachment.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>

#include "context/overflow.hpp"
#include "context/rounding.hpp"
#include "worker/pool_core.hpp"
#include "worker/visiting.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

struct attached_thread {
    pool_core* pool;
    overflow::thread_stack alternate;
};

namespace {

// Of threads outside only, which never move.
thread_local attached_thread* attached = nullptr;
/// Between its tasks a guest may call code of the user, which may block: plainly.
thread_local bool visiting = false;

struct latch_guest : guest {
    foreign_waiter* latch;
};

struct either_park : futex_park {
    static void wait_either(std::atomic<std::uint32_t>& a, std::uint32_t in_a, std::atomic<std::uint32_t>& b,
                            std::uint32_t in_b, std::uint64_t ns) noexcept {
        os::futex_wait_either(a, in_a, b, in_b, ns);
    }
};

} // namespace

PILFER_NOINLINE void work_while_waiting(foreign_waiter& waiter) noexcept {
    if (attached == nullptr || visiting || waiter.is_released()) {
        return;
    }
    latch_guest v;
    v.over = [](guest& self) noexcept { return static_cast<latch_guest&>(self).latch->is_released(); };
    v.stirred = v.over;
    v.word = &waiter.word();
    v.latch = &waiter;
    (void)attached->pool->receive(v); // no seat is free: it blocks as if it were not attached
}

bool pool_core::receive(guest& v) noexcept {
    if (is_forked_child()) {
        return false; // what lies there is the parent's to run
    }
    std::uint64_t free = m_free_slots.load(rlx);
    unsigned seat = 0;
    do {
        if (free == 0) {
            return false;
        }
        seat = static_cast<unsigned>(std::countr_zero(free));
    } while (
        !m_free_slots.compare_exchange_weak(free, free & ~(std::uint64_t{1} << seat), acq, rlx)); // pool.V1
    const pool_pin here(*this); // a shutdown waits until it has left
    std_atom::fence_sc();       // said before the look whether there is one
    visiting = true;
    at(m_first_spare + seat).work_until(v);
    visiting = false;
    m_free_slots.fetch_or(std::uint64_t{1} << seat, rel); // pool.V1
    return true;
}

void pool_core::notify_guests() noexcept {
    const pool_pin here(*this);
    m_notices.fetch_add(1, rel); // pool.V3: behind what a condition depends on
    std_atom::fence_sc();        // idle.S2: before a look at who sleeps
    for (unsigned i = m_first_spare; i < m_size; ++i) {
        (void)m_idle->wake(i, i);
    }
    if (lacks_guest_slots()) {
        os::futex_wake(&m_notices, UINT32_MAX);
    }
}

bool pool_core::ask_when_notified(bool (*ask)(void*), void* self) noexcept {
    const pool_pin here(*this); // a shutdown waits until it has left
    std_atom::fence_sc();       // said before the look whether there is one
    const blocking_threads::helping asks(*this);
    for (;;) {
        const std::uint32_t seen = m_notices.load(acq); // pool.V3
        visiting = true;
        const bool holds = ask(self);
        visiting = false;
        if (holds) {
            return true;
        }
        if (is_forked_child() || stopping()) {
            return false;
        }
        os::futex_wait(m_notices, seen); // returns at once if notify() was called since: the kernel compares
    }
}

bool pool_core::everybody_rests() noexcept {
    if (m_first_spare == m_size) {
        return m_idle->everybody_asleep();
    }
    for (unsigned i = 0; i < m_size; ++i) {
        if (at(i).is_there() && !m_idle->is_left_asleep(i)) {
            return false;
        }
    }
    return true;
}

/// Only now it is known how many there are.
void scheduler::has_no_thread() noexcept {
    m_chooser = balance::chooser(m_pool.settings().balance.victim, index, m_pool.size());
    m_there.store(false, rlx);
    current_activity.store(activity::resting, rlx);
}

/// On the visiting thread's own stack, on top of the frame that waits. Tasks run on contexts, as ever.
void scheduler::work_until(guest& v) noexcept {
    // What contexts of former guests have looked at here is written anew: those that have ended, and those
    // that have suspended. ThreadSanitizer takes them for strangers to their thread.
    san::acquire(&m_pool);
    san::acquire(&m_view);
    appear();
    thread_id.store(os::thread_id(), rlx);
    exceptions = reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
    const exception_state mine = exceptions->load(); // it may wait in a catch block
    exceptions->store({nullptr, 0});
    const with_rounding modes(m_pool.modes()); // contexts begin with what they find
#if defined(PILFER_TSAN)
    m_view.fiber = __tsan_get_current_fiber();
#endif
#if defined(PILFER_ASAN)
    os::thread_bounds(m_view.low, m_view.size);
#endif
    san::release(static_cast<worker*>(this));
    m_guest = &v;
    current_activity.store(activity::other, rel);
    m_there.store(true, rlx);
    auto* const g = m_pool.governor();
    if (g != nullptr) {
        g->work_begins();
    }
    // The question may fork(): in the child nothing here may be touched.
    while (!v.over(v) && !m_pool.stopping() && !m_pool.is_forked_child()) {
        if (!step() && !m_pool.stopping() && !looks_again()) {
            sleep();
            if (g != nullptr) {
                g->work_begins();
            }
        }
    }
    m_guest = nullptr;
    if (!m_pool.is_forked_child()) {
        // What a token or a search stands for: another one looks in this one's place.
        found_work(index);
        note_missed();
        leave_slot();
    }
    exceptions->store(mine);
    disappear();
}

bool scheduler::is_stirred() noexcept { return m_guest != nullptr && m_guest->stirred(*m_guest); }

/// Descriptors are the watch's to look at. One that is released by a word other than its own leaves that to a
/// worker, where one sleeps; else it looks now and then.
bool scheduler::hands_watch_on() noexcept {
    if (m_pool.watch().held_by(index)) {
        (void)m_pool.watch().get_up([this] { return m_pool.first_expected(); });
    }
    for (unsigned i = 0; i < m_pool.first_spare(); ++i) {
        if (m_pool.idle().wake(i, i)) {
            m_watches = false;
            woke(i);
            return true;
        }
    }
    // Two at the descriptors would take each other's notifier. So this one sleeps there as the watch or not
    // at all.
    return watch_alarms() == never;
}

/// `io`: what it has to watch over, null if it does not.
void scheduler::rest_as_guest(std::atomic<std::uint32_t>& state, std::uint64_t ns, readiness* io) noexcept {
    constexpr std::uint32_t asleep = pool_core::pool_sleepers::asleep;
    std::atomic<std::uint32_t>* const word = m_guest->word;
    if (word == nullptr) {
        if (io != nullptr) {
            sleep_at_descriptors(*io, ns); // whoever wakes it rings
        } else if (ns == 0) {
            os::futex_wait(state, asleep);
        } else {
            os::futex_wait_for(state, asleep, ns);
        }
        return;
    }
    rest_on_two<either_park>(m_pool.idle(), index, state, *word, [&]() -> std::optional<std::uint64_t> {
        constexpr std::uint64_t soon = 1'000'000; // ns: so late its own wait may be seen to be over
        if (io == nullptr) {
            return ns;
        }
        if (!hands_watch_on()) {
            sleep_at_descriptors(*io, ns != 0 && ns < soon ? ns : soon);
            return std::nullopt;
        }
        return 10 * soon; // the other one may find a task that does not end: then this one watches again
    });
}

void scheduler::leave_slot() noexcept {
    m_there.store(false, rlx);
    std_atom::fence_sc(); // pool.V2
    forward_inbox();
    give_contexts();
    current_activity.store(activity::resting, rel);
    // What its frames have left in the deque is within reach of everybody, as behind a long task.
    const bool leaves_tasks = deque.thief().has_any();
    if (leaves_tasks) {
        m_pool.left_tasks.leave(); // idle.S9
    }
    if (leaves_tasks || anything_queued()) {
        m_pool.notify_any();
    }
    if (m_pool.stall().is_watched_by(index)) {
        // Whoever lies down next watches over a standstill.
        if (const unsigned other = m_pool.idle().wake_one(index, index);
            other != pool_core::pool_sleepers::nobody) {
            woke(other);
        }
    }
    m_pool.worker_is_idle(); // pool.D2: its last unit has ended
}

/// Of a seat where nobody sits: what has to go on here goes on anywhere.
void scheduler::forward_inbox() noexcept {
    for (unsigned round = 0; !m_inbox.empty(); ++round) {
        if (auto* n = m_inbox.pop()) {
            m_pool.runnable.push(n);
            m_pool.notify_any();
        } else {
            std_atom::relax(round);
        }
    }
}

/// For run_until(): code of the user, as on a thread outside whose end the pool's own would wait for. It may
/// wait for what a wake-up was about that came here: somebody else looks after that. Not for what lies in
/// this seat's deque since an earlier visit: a taken seat is nobody's who has gone.
bool scheduler::ask_outside(bool (*ask)(void*), void* self) noexcept {
    found_work(index);
    disappear();
    const blocking_threads::helping here(m_pool);
    const bool yes = ask(self);
    appear();
    return yes;
}

namespace {

struct asking_guest : guest {
    bool (*ask)(void*) = nullptr;
    void* self = nullptr;
    std::atomic<std::uint32_t>* notices = nullptr;
    std::uint32_t seen = 0; // of them, before it was asked last
    bool done = false;
};

} // namespace

void run_until(pool_core& p, bool (*ask)(void*), void* self) {
    p.check_here();
    if (this_worker() != nullptr || visiting) {
        throw usage_error("pilfer: run_until() was called by a task");
    }
    if (p.lacks_guest_slots()) {
        if (!p.ask_when_notified(ask, self)) {
            p.check_here(); // the condition has forked
        }
        return;
    }
    asking_guest v;
    v.word = nullptr;
    v.ask = ask;
    v.self = self;
    v.over = [](guest& base) noexcept {
        auto& asks = static_cast<asking_guest&>(base);
        asks.seen = asks.notices->load(acq); // pool.V3
        asks.done = static_cast<scheduler*>(this_worker())->ask_outside(asks.ask, asks.self);
        return asks.done;
    };
    v.stirred = [](guest& base) noexcept {
        auto& asks = static_cast<asking_guest&>(base);
        return asks.notices->load(acq) != asks.seen; // pool.V3
    };
    v.notices = &p.notices();
    const overflow::thread_stack alternate;
    if (!p.receive(v)) {
        throw usage_error("pilfer: run_until() needs a free seat: see options.attachable");
    }
    if (!v.done) {
        p.check_here(); // the condition has forked
    }
}

} // namespace detail

attachment pool::attach() {
    m_core->check_here();
    if (detail::this_worker() != nullptr || detail::visiting) {
        throw usage_error("pilfer: attach() was called by a task");
    }
    if (detail::attached != nullptr) {
        throw usage_error("pilfer: this thread is attached already");
    }
    if (m_core->settings().attachable == 0) {
        throw usage_error("pilfer: attach() needs options.attachable");
    }
    detail::attached = new detail::attached_thread{m_core, {}};
    return attachment(detail::attached);
}

attachment::~attachment() {
    if (m_thread == nullptr) {
        return;
    }
    if (m_thread != detail::attached) {
        os::write_error("pilfer: an attachment ended on another thread than it began\n");
        std::terminate();
    }
    detail::attached = nullptr;
    delete m_thread;
}

void pool::notify() noexcept { m_core->notify_guests(); }

} // namespace v0
} // namespace pilfer
