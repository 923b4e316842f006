// A wait in a list: frames suspend, threads block, and the watcher ends the waits whose time is over.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/wait/wait.hpp>

#include <pilfer/detail/cancel/points.hpp>

#include "cancel/cancellation.hpp"
#include "task/recorded_limit.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct list_wait : suspension {
    waiters::entry* entry;
};

[[nodiscard]] bool enter(suspension& self) noexcept {
    return static_cast<list_wait&>(self).entry->done.publish(reinterpret_cast<std::uintptr_t>(&self));
}

/// awaited::beside_nothing, on the stack of the scheduler, where the frame can be resumed.
[[nodiscard]] bool enter_alone(suspension& self) noexcept {
    scheduler& home = scheduler::of(self.home);
    if (!enter(self)) {
        return false;
    }
    home.wait_for_inbox();
    return true;
}

/// True if all frames that `w` has to resume come to its inbox.
[[nodiscard]] bool has_an_inbox(const scheduler& w) noexcept {
    const options& o = w.crew().settings();
    return o.resume == resume::own_thread && o.backend != pilfer::backend::one_lock && w.guest == nullptr;
}

/// True if other tasks may run on the frame or thread that waits.
[[nodiscard]] constexpr bool may_help(awaited what) noexcept {
    return what != awaited::a_holder && what != awaited::beside_nothing;
}

struct wait_stop : decltype(cancel_seat::stoppable)::waiter {
    waiters* list;
    waiters::entry* entry;
};

/// The waiting task is cancelled. Its frame may be resumed at once. But it waits for the lock of its listener
/// before it ends the entry or its use of the list.
void stop_wait(decltype(cancel_seat::stoppable)::waiter& self) noexcept {
    auto& l = static_cast<wait_stop&>(self);
    waiters::entry& e = *l.entry;
    if (l.list->withdraw(e)) {
        go_on(e);
    }
}

/// A task that holds a lock is never stopped, nor is a task in no scope. A task that unwinds is not stopped a
/// second time.
[[nodiscard]] bool may_be_stopped(worker* w) noexcept { return can_be_stopped(w) && !unwinds(w); }

/// Blocks a thread outside. If it is attached to a pool it works for that pool meanwhile. It does not while
/// it may be handed what others wait for (see awaited::a_holder), nor with a time limit.
void block_in(waiters& list, waiters::entry& e, instant until, awaited what) noexcept {
    foreign_waiter self;
    if (!e.done.publish(reinterpret_cast<std::uintptr_t>(&self) | waiter_is_foreign)) {
        return;
    }
    if (until == never) {
        may_help(what) ? block_on(self) : self.wait<futex_park>();
        return;
    }
    const auto left = [until]() noexcept -> std::uint64_t {
        const instant t = now();
        return t < until ? until - t : 0;
    };
    if (!self.wait_while<futex_park>(left) && !list.withdraw(e)) {
        self.wait<futex_park>(); // the thread that took it out is about to release it
    }
}

void suspend_in(waiters::entry& e, const wait_kind& why, const void* object, awaited what,
                bool timed) noexcept {
    list_wait s;
    s.share_deferred = what == awaited::anything_at_home;
    s.timed = timed;
    s.entry = &e;
    s.why = &why;
    s.object = object;
    worker* const w = this_worker();
    s.publish = what == awaited::beside_nothing && has_an_inbox(scheduler::of(w)) ? &enter_alone : &enter;
    suspend(w, s);
}

void wait_for_end(waiters::entry& e, const wait_kind& why, const void* object, awaited what,
                  bool timed) noexcept {
    // A task on top of one that waits for a lock may want that lock, too. It would wait for a frame below it,
    // which cannot be resumed before it. The holder of the lock needs no help: it runs, or helps in its own
    // wait.
    while (!e.done.is_done()) {
        if (!may_help(what) || !help_on_top(this_worker())) {
            suspend_in(e, why, object, what, timed);
        }
    }
}

class timed_wait final : public limited_wait {
public:
    timed_wait(waiters& list, waiters::entry& e, const wait_kind& why, const void* object,
               awaited what) noexcept
        : m_list(list), m_entry(e), m_why(why), m_object(object), m_what(what) {}
#if defined(PILFER_TEST)
    void wait() noexcept override {
        wait_for_end(m_entry, m_why, m_object, m_what, true);
        m_has_left.store(true, rel);
    }
    [[nodiscard]] bool withdraw() noexcept override {
        const auto withdraw = [this] { return m_list.withdraw(m_entry); };
        return m_task != nullptr ? withdraw_in_order(*m_task, m_has_left, withdraw) : withdraw();
    }
#else
    void wait() noexcept override { wait_for_end(m_entry, m_why, m_object, m_what, true); }
    [[nodiscard]] bool withdraw() noexcept override { return m_list.withdraw(m_entry); }
#endif
    void resume() noexcept override { go_on(m_entry); }

private:
    waiters& m_list;
    waiters::entry& m_entry;
    const wait_kind& m_why;
    const void* const m_object;
    const awaited m_what;
#if defined(PILFER_TEST)
    const test_identity* const m_task =
        m_object != nullptr ? recorded_in_operation() : nullptr; // not a sleep
    std::atomic<bool> m_has_left{false};
#endif
};

} // namespace

void wait_in(waiters& list, waiters::entry& e, instant until, const wait_kind& why, const void* object,
             awaited what, leaves when) noexcept {
    worker* w = this_worker();
#if defined(PILFER_TEST)
    if (until != never && object != nullptr && recorded_in_operation() == nullptr) { // not a sleep
        PILFER_TEST_CANNOT_REPEAT("a wait with a time limit");
    }
#endif
    if (w == nullptr || (what == awaited::beside_nothing && scheduler::of(w).crew().is_forked_child())) {
        block_in(list, e, until, what);
        return;
    }
    if (when == leaves::when_stopped && may_be_stopped(w)) {
        wait_stop l;
        l.list = &list;
        l.entry = &e;
        l.node = w->current.load(rlx)->node.load(rlx);
        l.stop = &stop_wait;
        auto& where = cancel_seat::of(w).stoppable;
        PILFER_CHAOS_POINT(publish);
        where.add(l);
        PILFER_CHAOS_POINT(publish);
        if (!stopped_here(w) || !list.withdraw(e)) { // cancel.C2
            wait_in(list, e, until, why, object, what);
        }
        where.remove(l);
        return;
    }
    if (until != never && time_is_over_as_recorded(until <= now())) {
        if (list.withdraw(e)) {
            if (what != awaited::a_holder) { // the caller may have to serve the waiters after it
                give_way(what);
            }
            return;
        }
        until = never; // the thread that took it out is about to complete it
    }
    if (until == never) {
        wait_for_end(e, why, object, what, false);
        return;
    }
    auto& here = *static_cast<scheduler*>(w);
    const bool leaves = what == awaited::a_holder || here.reserve.has_context();
    timed_wait timed(list, e, why, object, what);
#if defined(PILFER_TEST)
    if (object != nullptr && waits_as_recorded(timed)) {
        return;
    }
#endif
    here.crew().watch().limit(here, until, leaves, timed);
}

void give_way(awaited what) noexcept {
    if (worker* w = this_worker()) {
        // Under a lock this task only yields. A task on top might want the lock too, and would wait forever;
        // a poll that runs no task reaches the unlock. See also the end of wait_in().
        if (what == awaited::a_holder || w->current.load(rlx)->holds_lock() || !help_on_top(w)) {
            backend_of(this_worker()).yield(*static_cast<scheduler*>(this_worker()));
        }
    }
}

void go_on(waiters::entry& e) noexcept {
    const std::uintptr_t who = e.done.complete();
    if ((who & waiter_is_foreign) != 0) {
        (void)release_waiter(who, nullptr);
    } else if (auto* told = reinterpret_cast<callback_waiter*>(who & ~waiter_is_callback);
               (who & waiter_is_callback) != 0) {
        told->tell(*told);
    } else if (who != 0) {
        make_runnable(reinterpret_cast<suspension*>(who));
    }
}

void go_on_all(waiters::entry* chain) noexcept {
    while (chain != nullptr) {
        waiters::entry& e = *chain;
        chain = e.next; // before its frame may resume
        go_on(e);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
