// Waits in a list: notified, or withdrawn when their time is over, by exactly one.
#include <pilfer/detail/task/completion.hpp>
#include <pilfer/detail/timer/timers.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using list_type = pilfer::detail::wait_list<atom, park>;
using heap_type = pilfer::detail::timer_heap<atom, park>;
// In the checker a spin ends only when something changes. With spins before it, no thread would ever sleep.
using lock_type = pilfer::detail::raw_lock<atom, park, 0>;
using fate = list_type::fate;

/// The part of a waiting frame that ends the moment the wait does.
struct waiting {
    stack on;
    list_type::entry entry;
    heap_type::timer clock;
};

struct wait_client {
    box<list_type> list;
    heap_type heap;
    box<waiting> frames[2];
    unsigned notified = 0; // of the checker itself, as the rest
    unsigned withdrawn = 0;
    unsigned gone = 0;
    bool timed[2] = {};

    wait_client() { list.make(); }

    void go_on(unsigned i) {
        waiting& f = *frames[i].get();
        f.on.enter();
        if (timed[i]) {
            (void)heap_type::disarm(f.clock);
        }
        const fate how = f.entry.end;
        check(how == fate::notified || how == fate::withdrawn, "a waiter goes on that nobody took out");
        (how == fate::notified ? notified : withdrawn) += 1;
        frames[i].end();
        ++gone;
    }
    void complete(list_type::entry& e) {
        const std::uintptr_t who = e.done.complete();
        check(who != pilfer::detail::completion<atom>::done, "a waiter is completed twice");
        if (who != 0) {
            go_on(static_cast<unsigned>(who) - 2);
        }
    }
    /// wait_in() on a worker.
    void wait(unsigned i, std::uint64_t until) {
        waiting& f = *frames[i].make();
        timed[i] = until != heap_type::never;
        list->lock();
        list->add(f.entry);
        list->unlock();
        if (timed[i]) {
            heap.arm(f.clock, until);
        }
        f.on.leave();
        if (!f.entry.done.publish(i + 2)) { // on the scheduler's stack
            go_on(i);
        }
    }
    /// A scheduler's work when a timer is due.
    void fire() {
        auto* const t = heap.take_due(100);
        if (t == nullptr) {
            return;
        }
        waiting* f = nullptr;
        for (auto& frame : frames) {
            f = frame.alive() && &frame->clock == t ? frame.get() : f;
        }
        check(f != nullptr, "an alarm of nobody");
        list_type::entry& e = f->entry;
        const bool mine = list->withdraw(e);
        t->over();
        if (mine) {
            complete(e);
        }
    }
    void notify() {
        list->lock();
        list_type::entry* const e = list->first();
        if (e != nullptr) {
            list->take(*e);
        }
        list->unlock();
        if (e != nullptr) {
            complete(*e);
        }
    }
};

/// One waits with a time limit, one notifies, one fires.
struct time_limit : wait_client {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        switch (i) {
        case 0:
            wait(0, 5);
            break;
        case 1:
            notify();
            break;
        default:
            fire();
        }
    }
    void finish() {
        if (gone == 0) { // both came before it
            heap_type::disarm(frames[0]->clock);
            frames[0].end();
        }
        check(notified + withdrawn == gone && gone <= 1, "a waiter was not taken out once");
        list.end();
    }
    [[nodiscard]] bool at_rest() { return true; }
};

/// A task sleeps: its frame contains the list, too, which ends with it.
struct sleeping : wait_client {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            wait(0, 5);
        } else {
            while (gone == 0 && heap.earliest() > 100) {
                here().relax();
            }
            fire();
        }
        if (gone == 1 && list.alive()) {
            list.end();
        }
    }
    void finish() { check(withdrawn == 1 && !list.alive(), "a sleeper sleeps on"); }
};

/// All waiters are notified at once, while one withdraws.
struct everybody : wait_client {
    static constexpr unsigned threads = 3;
    model::atomic<unsigned> entered{0};
    void thread(unsigned i) {
        if (i < 2) {
            waiting& f = *frames[i].make();
            list->lock();
            list->add(f.entry);
            list->unlock();
            entered.fetch_add(1, std::memory_order_acq_rel);
            if (i == 1 && list->withdraw(f.entry)) { // a foreign thread whose time is over
                go_on(i);
                return;
            }
            f.on.leave();
            if (!f.entry.done.publish(i + 2)) {
                go_on(i);
            }
            return;
        }
        while (entered.load(std::memory_order_acquire) != 2) {
            here().relax();
        }
        list->lock();
        auto* chain = list->take_all();
        list->unlock();
        while (chain != nullptr) {
            list_type::entry& e = *chain;
            chain = e.next;
            complete(e);
        }
    }
    void finish() {
        check(gone == 2 && notified >= 1, "a waiter was left behind");
        check(list->empty(), "somebody is left in the list");
        list.end();
    }
};

/// Three threads use the data of the lock, and the last one ends both.
struct locking {
    static constexpr unsigned threads = 3;
    struct guarded {
        lock_type lock;
        plain<unsigned> value = 0;
    };
    box<guarded> object;
    locking() { object.make(); }
    void thread(unsigned) {
        object->lock.lock();
        const unsigned n = object->value + 1;
        object->value = n;
        object->lock.unlock();
        if (n == threads) {
            object.end(); // the others are inside unlock() at most, after their exchange
        }
    }
    void finish() { check(!object.alive(), "an update was lost"); }
};

const registered<locking> r1("wait_lock", "a lock for a few instructions, and its end");
const registered<time_limit> r2("wait_time_limit", "notified or over");
const registered<sleeping> r3("wait_sleep", "only an alarm ends it, and the list with it");
const registered<everybody> r4("wait_all", "all are told while one withdraws");

} // namespace
