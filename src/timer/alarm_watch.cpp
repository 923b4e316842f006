// Alarms on workers: the thread that fires them, and the sleeping worker that watches for the next one.
// Argument: src/timer/README.md.
#include "timer/alarm_watch.hpp"

#include <algorithm>

#include <pilfer/timer.hpp>

#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// A bound, so that a heap full of due alarms delays neither the fired tasks nor the other heaps.
constexpr unsigned most_at_once = 64;

struct wait_alarm : alarm {
    limited_wait* wait;
};

/// The time of a waiting frame is over. If another thread was faster, the frame may already be running. But
/// it waits for over() before it ends this alarm or its use of the list.
void time_is_over(alarm& self) noexcept {
    auto& a = static_cast<wait_alarm&>(self);
    limited_wait& wait = *a.wait;
    const bool mine = wait.withdraw();
    a.over();
    if (mine) {
        wait.resume();
    }
}

} // namespace

void arm(scheduler& w, alarm& a, instant due, told when) noexcept { w.core().alarms->arm(w, a, due, when); }

void arm(pool_core& p, alarm& a, instant due) noexcept { p.alarms->arm(a, due); }

alarm_watch::alarm_watch(pool_core& p)
    : kept_time(p), m_pool(p), m_desks(std::make_unique<desk[]>(p.schedulers())) {
    p.add(*this);
    p.set_watch(*this);
}

alarm_watch::~alarm_watch() = default;

alarm_watch::desk& alarm_watch::of(const scheduler& w) const noexcept { return m_desks[w.index]; }

// ---- arming -----------------------------------------------------------------------------------

void alarm_watch::arm(scheduler& w, alarm& a, instant due, told when) noexcept {
    m_pool.will_expect();
    of(w).alarms.arm(a, due);
    expect(w, due, when);
}

void alarm_watch::arm(alarm& a, instant due) noexcept {
    m_pool.will_expect();
    of(m_pool.wakes.in_turn()).alarms.arm(a, due);
    expect(due);
}

void alarm_watch::expect(scheduler& w, instant due, told when) noexcept {
    if (when == told::soon && !m_pool.backend().fires_alarms()) {
        of(w).armed = std::min<instant>(of(w).armed, due);
    } else {
        expect(due);
    }
}

void alarm_watch::expect(instant due) noexcept {
    if (m_pool.backend().fires_alarms()) {
        m_pool.backend().alarm_is_armed();
    } else if (m_watch.is_late_for(due)) {
        wake_watch(due);
    }
}

void alarm_watch::watch_over(watched_kernel& k) noexcept {
    m_kernel.store(&k, rel);
    // io.N5. The watching worker may sleep on its word, and no descriptor wakes it there.
    std_atom::fence_sc();
    wake_watch(any_time);
}

void alarm_watch::limit(scheduler& w, instant until, bool leaves, limited_wait& wait) noexcept {
    if (m_pool.is_forked_child()) {
        wait.wait(); // no alarm fires here, and a thread of the parent may hold the heap's lock for ever
        return;
    }
    wait_alarm clock;
    clock.fire = &time_is_over;
    clock.wait = &wait;
    arm(w, clock, until, leaves ? told::soon : told::at_once);
    wait.wait(); // the frame may be on another worker afterwards
    (void)disarm(clock);
}

// ---- when -------------------------------------------------------------------------------------

instant alarm_watch::first_alarm() const noexcept {
    instant first = never;
    for (unsigned i = 0; i < m_pool.schedulers(); ++i) {
        first = std::min(first, m_desks[i].alarms.earliest());
    }
    return first;
}

/// Until when the watching worker may sleep: the first alarm's due time. any_time: there is no alarm, but a
/// task waits for a descriptor.
instant alarm_watch::first_expected() const noexcept {
    const instant first = first_alarm();
    const watched_kernel* const k = m_kernel.load(acq);
    return first == never && k != nullptr && k->is_awaited() ? any_time : first;
}

bool alarm_watch::expects_before(instant limit) const noexcept {
    const watched_kernel* const k = m_kernel.load(acq);
    const instant first = first_alarm();
    return (k != nullptr && k->is_awaited()) || (first != never && first <= limit);
}

bool alarm_watch::is_watched() const noexcept { return m_watch.holder() != timer_watch<std_atom>::nobody; }

instant alarm_watch::first_unwatched() const noexcept {
    if (is_watched()) {
        return never;
    }
    const watched_kernel* const k = m_kernel.load(acq);
    const bool awaited = k != nullptr && k->is_awaited();
    return std::min(first_alarm(), awaited ? now() + timekeeper::io_interval : never);
}

// ---- firing -----------------------------------------------------------------------------------

/// Returns how many alarms it has fired.
unsigned alarm_watch::fire_some(desk& d, instant t) noexcept {
    unsigned fired = 0;
    for (; fired < most_at_once; ++fired) {
        auto* const due = d.alarms.take_due(t);
        if (due == nullptr) {
            break;
        }
        auto& a = *static_cast<alarm*>(due);
        a.fire(a);
    }
    return fired;
}

/// True if an alarm has fired.
bool alarm_watch::fire_all(scheduler& w, bool of_all) noexcept {
    desk& mine = of(w);
    if ((of_all ? first_alarm() : mine.alarms.earliest()) == never) {
        return false;
    }
    const instant t = now();
    return w.deferring_notices([&] {
        bool any = false;
        for (unsigned k = 0; k < (of_all ? m_pool.size() : 1); ++k) {
            const unsigned fired = fire_some(m_desks[(w.index + k) % m_pool.size()], t);
            any = any || fired != 0;
            mine.looks_at_all = mine.looks_at_all || (of_all && fired == most_at_once);
        }
        return any;
    });
}

void alarm_watch::serve(scheduler& w, bool in_turn) noexcept {
    desk& mine = of(w);
    // A worker that watches over the alarms and was woken still watches until it finds work.
    if (const bool of_all = mine.looks_at_all || mine.watches || in_turn;
        of_all || mine.alarms.earliest() != never) {
        mine.looks_at_all = false;
        if (fire_all(w, of_all)) {
            w.owe_notice();
        }
    }
    if (const watched_kernel* const k = m_kernel.load(acq); k != nullptr && (in_turn || k->is_due())) {
        (void)look_again(w);
    }
}

bool alarm_watch::look_again(scheduler& w) noexcept {
    watched_kernel* const k = m_kernel.load(acq);
    if (k == nullptr || !k->is_awaited()) {
        return false;
    }
    const bool anyone = w.deferring_notices([k] { return k->look(); });
    if (anyone) {
        w.owe_notice();
    }
    return anyone;
}

void alarm_watch::fire_due(instant t) noexcept {
    for (unsigned i = 0; i < m_pool.schedulers(); ++i) {
        while (fire_some(m_desks[i], t) != 0) {
        }
    }
}

void alarm_watch::fire_unwatched(instant t, std::string& /*report*/) noexcept {
    if (is_watched()) {
        return;
    }
    for (unsigned i = 0; i < m_pool.schedulers(); ++i) {
        (void)fire_some(m_desks[i], t);
    }
    if (watched_kernel* const k = m_kernel.load(acq); k != nullptr && k->is_due()) {
        (void)k->look();
    }
}

// ---- the watch --------------------------------------------------------------------------------

/// Called while `w` is in the map of sleepers. Returns until when it may sleep; never: until it is woken.
instant alarm_watch::lie_down(scheduler& w) noexcept {
    desk& mine = of(w);
    const instant until = m_watch.lie_down(w.index, [this] { return first_expected(); });
    mine.watches = until != never; // if there is nothing to watch over, it does not hold the watch
    if (mine.watches) {
        m_pool.will_expect(); // so that this thread calls found_work(), whatever it has seen of the armer's
                              // call
    }
    const instant own = mine.armed;
    mine.armed = never;
    if (until == never && own != never) {
        expect(own); // another worker watches, and may sleep longer
    }
    return until;
}

void alarm_watch::plan_rest(scheduler& w, rest_plan& plan) noexcept {
    if (plan.retires) {
        return;
    }
    const instant due = lie_down(w);
    if (due < any_time) {
        const instant t = now();
        if (due <= t) {
            of(w).looks_at_all = true;
            plan.has_work = true;
            return;
        }
        plan.limit_to(due - t);
    }
    if (due != never && m_kernel.load(acq) != nullptr) {
        plan.place = this;
    }
}

void alarm_watch::sleep(scheduler& w, std::uint64_t ns) noexcept { m_kernel.load(acq)->sleep(w, ns); }

/// Hands the watch over descriptors to a sleeping worker, if there is one. For a guest with a word of its
/// own, which cannot sleep in the kernel's poll for long. False: this guest holds the watch, and polls at
/// times.
bool alarm_watch::hand_on(scheduler& w) noexcept {
    if (m_watch.held_by(w.index)) {
        (void)m_watch.get_up([this] { return first_expected(); });
    }
    for (unsigned i = 0; i < m_pool.first_spare(); ++i) {
        if (m_pool.idle().wake(i, i)) {
            of(w).watches = false;
            w.woke(i);
            return true;
        }
    }
    // Two threads in the poll would consume each other's notification. So this guest polls only as the watch.
    return lie_down(w) == never;
}

void alarm_watch::stays_awake(scheduler& w) noexcept {
    // This worker stays awake and so watches over no alarms; perhaps no other worker does.
    of(w).looks_at_all = true;
}

/// Other workers take over the watch and the new alarms of `w`.
void alarm_watch::found_work(scheduler& w) noexcept {
    desk& mine = of(w);
    if (mine.watches) [[unlikely]] {
        mine.watches = false;
        if (m_watch.held_by(w.index) && m_watch.get_up([this] { return first_expected(); })) {
            find_watch();
        }
    }
    if (mine.armed != never) [[unlikely]] {
        const instant own = mine.armed;
        mine.armed = never;
        expect(own);
    }
}

/// Makes the watching worker look again, because an alarm is due at `due`. If no worker watches, wakes any
/// sleeping worker. If all workers are busy, the timekeeper watches.
void alarm_watch::wake_watch(instant due) noexcept {
    const std::uint32_t who = m_watch.holder();
    if (who == timer_watch<std_atom>::nobody) {
        if (!m_pool.wakes.wake_any()) {
            timekeeper::expect(*this, due);
        }
    } else if (m_pool.idle().wake(who, who)) {
        if (scheduler* const own = m_pool.here()) {
            own->woke(who);
        }
    }
    // Otherwise the watching worker is awake, and looks again before it sleeps or runs a task.
}

/// The watching worker begins to run a task, while alarms or descriptors still have to be watched.
void alarm_watch::find_watch() noexcept {
    if (!m_pool.wakes.wake_any()) {
        timekeeper::expect(*this, first_unwatched());
    }
}

/// Called after the fence of settle_token() (timer.T7). The worker may have been woken to watch.
void alarm_watch::settled_token(scheduler& /*w*/) noexcept {
    if (first_unwatched() != never) {
        find_watch();
    }
}

// ---- tasks that an alarm queues ---------------------------------------------------------------

void alarm_watch::run_prompt(timed_task& t) noexcept {
    if (timekeeper::is_here()) {
        timekeeper::run_soon(t);
    } else if (scheduler* const own = m_pool.here();
               own == nullptr || !m_pool.backend().run_prompt(*own, t)) {
        m_pool.queue_counted(&t, priority::high);
    }
}

void alarm_watch::leave_ended(timed_task* t) noexcept { m_ended.push(t); }

void alarm_watch::leave_cancelled(timed_task* t) noexcept {
    // Each call also removes one finished entry. So only entries that are being cancelled right now stay.
    if (auto* n = m_cancelled.pop()) {
        auto* before = static_cast<timed_task*>(static_cast<submission*>(n));
        if (before->is_over()) {
            before->release(); // its function has ended: this runs no user code
        } else {
            m_cancelled.push(before);
        }
    }
    m_cancelled.push(t);
}

void alarm_watch::end_dropped() noexcept {
    while (!m_ended.empty()) {
        if (auto* n = m_ended.pop()) {
            static_cast<timed_task*>(static_cast<submission*>(n))->pool_has_ended();
        }
    }
}

void alarm_watch::wait_for_cancellers() noexcept {
    while (!m_cancelled.empty()) {
        if (auto* n = m_cancelled.pop()) {
            auto* t = static_cast<timed_task*>(static_cast<submission*>(n));
            t->wait_for_canceller();
            t->release();
        }
    }
}

void alarm_watch::drop_alarms(bool counted) noexcept {
    for (unsigned i = 0; i < m_pool.schedulers(); ++i) {
        const auto ends = [counted](const auto& t) {
            const auto& a = static_cast<const alarm&>(t);
            return a.drop != nullptr && (counted || !a.counts);
        };
        while (auto* t = m_desks[i].alarms.take_if(ends)) {
            auto& a = *static_cast<alarm*>(t);
            a.drop(a);
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
