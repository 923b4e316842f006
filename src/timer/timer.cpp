// Tasks that sleep, and functions that run later. Stages and edges: README.md.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/timer.hpp>

#include <algorithm>
#include <exception>

#include "backend/helping.hpp"
#include "base/forks.hpp"
#include "pool/pool_core.hpp"
#include "task/recorded_limit.hpp"
#include "timer/alarm_watch.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind sleep_kind{"a time", [](const suspension&, wait_facts&) noexcept {}};

/// The stage of a timed task, in the low bits of its word. The other bits count the times it was armed, so
/// that the thread that armed it cannot mistake a later round for its own.
enum stage : std::uint64_t {
    arming,    ///< Its alarm is set, or is about to be; the thread that sets it must look again.
    waiting,   ///< Its alarm is set.
    queued,    ///< Its alarm has fired: it is among the submissions.
    running,   ///< A worker runs it.
    stopping,  ///< A worker runs it, and it was cancelled.
    cancelled, ///< Cancelled. From `waiting`: the canceller ends it. From `queued`: the worker ends it.
    forsaken,  ///< Cancelled while it was being armed: the thread that armed it ends it.
    ending,    ///< The canceller or the end of the pool ends it; it is out of the heap for good.
    over,
};
constexpr std::uint64_t stage_bits = 15;
constexpr std::uint64_t one_round = stage_bits + 1;

[[nodiscard]] constexpr stage stage_of(std::uint64_t word) noexcept {
    return static_cast<stage>(word & stage_bits);
}
[[nodiscard]] constexpr std::uint64_t with(std::uint64_t word, stage s) noexcept {
    return (word & ~stage_bits) | s;
}

/// The largest number of missed runs that an `every` makes up for.
constexpr std::uint64_t most_missed = 16;

/// Cancels the function with this word. Returns its stage before; over: it would not begin anyway.
[[nodiscard]] stage cancel_in(std::atomic<std::uint64_t>& word_of, [[maybe_unused]] const void* timer,
                              bool again) noexcept {
    PILFER_TEST_POINT("cancels a timer", timer);
    std::uint64_t word = word_of.load(acq);
    for (;;) {
        const stage now = stage_of(word);
        const bool goes_on = now == arming || now == waiting || now == queued || (now == running && again);
        if (!goes_on) {
            return over;
        }
        const stage then = now == running ? stopping : (now == arming ? forsaken : cancelled);
        if (word_of.compare_exchange_weak(word, with(word, then), acq_rel, acq)) { // timer.M2
            return now;
        }
    }
}

#if defined(PILFER_TEST)
/// test_identity::next() for the first run, as if a task of its own submitted the runs one after the other.
/// The next run has the next number.
[[nodiscard]] std::uint64_t origin_of_runs(const pool_core& p, bool is_prompt) noexcept {
    const worker* const w = this_worker();
    const activation* const a = w != nullptr && w->pool == &p ? w->current.load(rlx) : nullptr;
    if (is_prompt || a == nullptr) {
        PILFER_TEST_CANNOT_REPEAT(is_prompt ? "a deadline" : "a timer that no task of its pool has set");
        return 0;
    }
    return test_identity::name_of(a->ctx->test.next()) + 1;
}
#endif

/// The first point of the grid after `due` that is not hopelessly late at `t`.
[[nodiscard]] instant next_on_grid(instant due, instant period, instant t) noexcept {
    if (due > never - 1 - period) {
        return never - 1;
    }
    instant next = due + period;
    if (next < t && (t - next) / period > most_missed) {
        next += ((t - next) / period - most_missed) * period;
    }
    return next;
}

} // namespace

void sleep_until(instant until) {
    if (until <= now()) {
        give_way();
        leave_if_stopped(); // a cancellation point like any other
        return;
    }
    waiters alone; // no other thread knows it: the alarm or a cancellation ends this wait
    waiters::entry self;
    alone.lock();
    alone.add(self);
    alone.unlock();
    wait_in(alone, self, until, sleep_kind, nullptr, awaited::anything, leaves::when_stopped);
    leave_if_stopped();
}

timed_task::timed_task() noexcept {
    run = &timed_task::run_task;
    m_clock.fire = &timed_task::time_has_come;
    m_clock.drop = &timed_task::pool_ends;
    m_clock.task = this;
}

bool timed_task::is_over() const noexcept { return stage_of(m_stage.load(acq)) == over; }

/// Called by the thread that has brought the task into a stage that no other thread changes.
void timed_task::end() noexcept {
#if defined(PILFER_TEST)
    // The canceller ends the function, so that its destructor is part of the canceller in any repetition.
    const stage was = stage_of(m_stage.load(acq));
    if (was != cancelled && was != forsaken) {
        end_function();
    }
    if (m_period != 0) {
        periodic_timer_ends(m_pool);
    }
#else
    end_function();
#endif
    m_stage.store(with(m_stage.load(rlx), over), rel); // timer.M3
}

void timed_task::start(pool_core& p, instant first, instant period) {
#if defined(PILFER_TEST)
    set_test_origin(origin_of_runs(p, m_prompt));
#endif
    m_pool = &p;
    m_due = std::min(first, never - 1);
    m_period = period;
    m_clock.counts = period == 0;
#if defined(PILFER_TEST)
    if (period != 0) {
        periodic_timer_begins(&p);
    }
#endif
    if (p.is_forked_child()) {
        end();
        release();
        throw pool_forked();
    }
    if (m_clock.counts ? !p.gate.expect() : p.gate.is_closed()) {
        end();
        release(); // the reference of the alarm
        throw pool_closed();
    }
    worker* w = this_worker();
    retain(); // it may run and end at once, and the pool with it
    const team::pin_guard visit(p);
    if (w != nullptr && w->pool == &p) {
        arm(static_cast<scheduler&>(*w), m_clock, m_due, told::at_once);
    } else {
        arm(p, m_clock, m_due);
    }
    settle_arming(arming);
    // Armed first, then a look whether a shutdown has searched the heaps meanwhile (timer.M4).
    std_atom::fence_sc();
    const bool missed = period != 0 ? p.gate.is_closed() : p.dropping();
    if (missed && cancel() && period == 0) {
        p.outside.dropped.fetch_add(1, rlx);
    }
    release(); // while the pin_guard exists; runs no user code, because the handle has a reference, too
}

void timed_task::settle_arming(std::uint64_t word) noexcept {
    const std::uint64_t armed_as = word;
    if (m_stage.compare_exchange_strong(word, with(word, waiting), acq_rel, acq)) { // timer.M1
        return;
    }
    // Only of this round: by now it may have fired, run, and been armed once more.
    if (word == with(armed_as, forsaken)) {
        (void)disarm(m_clock);
        end();
        release();
    }
    // Otherwise it has fired, whatever followed, or a shutdown has ended it.
}

void timed_task::time_has_come(alarm& self) noexcept {
    timed_task& t = *static_cast<clock&>(self).task;
    std::uint64_t word = t.m_stage.load(acq);
    while (stage_of(word) == arming || stage_of(word) == waiting) {
        if (!t.m_stage.compare_exchange_weak(word, with(word, queued), acq_rel, acq)) {
            continue;
        }
        self.over();
        pool_core& p = *t.m_pool;
        if (t.m_prompt) {
            p.alarms->run_prompt(t);
        } else if (t.m_period == 0 || p.gate.expect_again()) {
            p.queue_counted(&t, priority::normal);
        } else {
            p.alarms->leave_ended(&t);
        }
        return;
    }
    // Cancelled. The canceller is on its way to the heap, and nothing else keeps the pool for it. (An `after`
    // is counted until then.) So the end of the pool has to know.
    if (stage_of(word) == cancelled && t.m_period != 0) {
        t.retain();
        t.m_pool->alarms->leave_cancelled(&t);
    }
    self.over();
}

void timed_task::pool_ends(alarm& self) noexcept {
    timed_task& t = *static_cast<clock&>(self).task;
    std::uint64_t word = t.m_stage.load(acq);
    while (stage_of(word) == arming || stage_of(word) == waiting) {
        if (!t.m_stage.compare_exchange_weak(word, with(word, ending), acq_rel, acq)) {
            continue;
        }
        self.over();
        t.m_pool->alarms->leave_ended(&t); // no lock must be held while user code runs
        return;
    }
    t.retain(); // the canceller still needs the heap
    t.m_pool->alarms->leave_cancelled(&t);
    self.over();
}

void timed_task::wait_for_canceller() const noexcept {
    for (unsigned round = 0;; ++round) {
        const stage now = stage_of(m_stage.load(acq)); // timer.M3
        if (now == ending || now == over) {
            return;
        }
        std_atom::relax(round);
    }
}

void timed_task::pool_has_ended() noexcept {
    pool_core* const p = m_pool;
    const bool counted = m_period == 0;
#if defined(PILFER_TEST)
    std::uint64_t word = with(m_stage.load(acq), queued);
    (void)m_stage.compare_exchange_strong(word, with(word, ending), acq_rel, acq); // or the canceller ends it
#endif
    end();
    release();
    if (counted) {
        p->outside.dropped.fetch_add(1, rlx);
        p->gate.forget_expected();
    }
}

bool timed_task::cancel() noexcept {
    const stage was = cancel_in(m_stage, this, m_period != 0);
    if (was == waiting) {
        pool_core* const p = m_pool;
        if (p->is_forked_child()) {
            // No alarm fires here, and a thread of the parent may hold the heap's lock for ever. The heap
            // keeps the alarm and its reference.
            m_stage.store(with(m_stage.load(rlx), ending), rel);
            end();
            return true;
        }
        (void)disarm(m_clock);
        // timer.M3: the end of the pool need not wait for the user code that end() runs.
        m_stage.store(with(m_stage.load(rlx), ending), rel);
        const bool counted = m_period == 0;
        end();
        if (counted) {
            p->gate.forget_expected();
        }
        release(); // the reference of the alarm; the caller has one, too
    }
#if defined(PILFER_TEST)
    else if (was == queued || was == arming) {
        end_function(); // see end()
    }
#endif
    return was != over;
}

void timed_task::run_by_timekeeper() noexcept {
    pool_core* const p = m_pool;
    {
        // Callbacks of the user may run, on a thread that this pool's end waits for.
        const helping here(*p);
        std::uint64_t word = with(m_stage.load(acq), queued);
        if (m_stage.compare_exchange_strong(word, with(word, running), acq_rel, acq)) {
            (void)execute();
        }
        if (p->is_forked_child()) {
            forks::no_way_back();
        }
        end();
        release();
    }
    p->gate.forget_expected();
}

suspension* timed_task::run_task(spark* self, worker* w) noexcept {
    auto* t = static_cast<timed_task*>(static_cast<submission*>(self));
    std::uint64_t word = t->m_stage.load(acq);
    const auto begin = [&] {
        return t->m_stage.compare_exchange_strong(word, with(word, running), acq_rel, acq);
    };
    if (stage_of(word) == queued && begins_as_recorded(begin)) {
        word = with(word, running);
        const bool again = t->execute_once(w);
        if (t->m_pool->is_forked_child()) {
            forks::no_way_back();
        }
        w = this_worker();
        bool goes_on = false;
        if (t->m_period != 0) {
            PILFER_TEST_ORDER("ends a run of a timer", t);
            const std::uint64_t then = again ? with(word + one_round, arming) : with(word, ending);
            goes_on = t->m_stage.compare_exchange_strong(word, then, acq_rel, acq) && again;
        }
        if (goes_on) {
            t->arm_again(w, with(word + one_round, arming));
            end_outstanding(this_worker());
            return nullptr;
        }
        // It ends: it does not run again, or was cancelled meanwhile. A canceller that comes now finds it
        // running, and is heard.
    }
    t->end();
    t->release();
    end_outstanding(this_worker());
    return nullptr;
}

void timed_task::arm_again(worker* w, std::uint64_t word) noexcept {
    m_due = next_on_grid(m_due, m_period, now());
#if defined(PILFER_TEST)
    set_test_origin(test_origin() + 1);
#endif
    retain(); // once it is armed it may run and end elsewhere
    auto& here = static_cast<scheduler&>(*w);
    // A run on top of another frame returns to that frame, which may run for long, and not to the scheduler.
    const activation* const now_running = w->current.load(rlx);
    const bool is_alone = now_running->ctx != nullptr && now_running == &now_running->ctx->self;
    arm(here, m_clock, m_due, is_alone ? told::soon : told::at_once);
    settle_arming(word);
    release();
}

bool timed_task::execute_once(worker* w) noexcept {
    if (dropping(w)) {
        count_dropped(w);
        return false;
    }
    note_suppressed(0); // of an earlier task on this thread
    try {
        return execute() && m_period != 0;
    } catch (...) {
        nobody_waits_for(this_worker(), caught_error());
        return m_period != 0;
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
