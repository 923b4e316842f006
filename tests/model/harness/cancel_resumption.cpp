// Cancellation of a wait without a stack: another thread resumes the coroutine, and its frame ends there.
#include <pilfer/detail/timer/timers.hpp>

#include "cancelling.hpp"

namespace {

using namespace model;
using namespace model::cancelling;

/// A coroutine suspends inside a scope (thread 0), which another thread cancels (1). A worker makes the
/// awaited value ready, and resumes the coroutine if either thread has made it ready (2). As in
/// src/coroutine. `Wait` is the wait: its frame begins with the listener, and has `done` and `taken_out`.
template <class Wait>
struct resumed : process<1> {
    static constexpr unsigned threads = 3;
    using frame = typename Wait::frame;
    enum next_step : unsigned { waits, goes_on, stays };
    static constexpr std::uintptr_t its_word = 4;

    Wait wait;
    box<scope> outer;
    box<frame> waiting;
    model::atomic<unsigned> next{waits};
    plain<unsigned> body = 0; // of the coroutine's frame, used after its resumption
    // Of the checker itself:
    bool brought = false;
    bool received = false;
    bool was_stopped = false;

    resumed() { outer.make(nullptr); }

    /// stoppable_resumption::run_listening() and stay(); then it runs to its end.
    void go_on(frame& f) {
        check(f.l.next != nullptr, "it goes on before it is listed");
        workers[0].stoppable.remove(f.l);
        was_stopped = f.taken_out;
        received = wait.has_come(f);
        body = body + 1;
        waiting.end();
        outer->ended.store(1, rel);
    }
    void thread(unsigned i) {
        if (i == 1) {
            cancel(*outer.get());
            end_of_round(*outer.get(), 1);
            return;
        }
        if (i == 2) {
            if (wait.bring(brought) && waiting->done.complete() == its_word) {
                go_on(*waiting.get());
                return;
            }
            while (next.load(acq) == waits) {
                here().relax();
            }
            if (next.load(rlx) == goes_on) {
                go_on(*waiting.get());
            }
            return;
        }
        body = body + 1;
        frame& f = *waiting.make();
        f.owner = this;
        f.l.node = &outer->place;
        f.l.stop = [](cancellable::waiter& self) noexcept { // take_out()
            auto& r = reinterpret_cast<frame&>(self);
            auto& owner = *static_cast<resumed*>(r.owner);
            if (owner.wait.take_out(r)) {
                r.taken_out = true;
                if (r.done.complete() == its_word) {
                    owner.next.store(goes_on, rel);
                }
            }
        };
        wait.enter(f);
        workers[0].stoppable.add(f.l);
        if (stopped_at(workers[0], &outer->place) && wait.take_out(f)) {
            f.taken_out = true;
        } else if (f.done.publish(its_word)) {
            return;
        }
        go_on(f);
        next.store(stays, rel);
    }
    void finish() {
        check(received != was_stopped, "it came and it was stopped, or neither");
        check(received == brought, "what came was lost");
        check(wait.empty(), "it waits for ever");
        outer.end();
        check_quiet();
    }
};

/// In a list: a channel, an event, a future.
struct in_a_list {
    struct frame {
        cancellable::waiter l;
        void* owner = nullptr;
        plain<bool> taken_out = false;
        waiters::entry e;
        pilfer::detail::completion<hasty_atom>& done = e.done;
    };
    box<waiters> object;
    in_a_list() { object.make(); }
    void enter(frame& f) {
        object->lock();
        object->add(f.e);
        object->unlock();
    }
    [[nodiscard]] bool take_out(frame& f) { return object->withdraw(f.e); }
    [[nodiscard]] bool has_come(frame& f) { return f.e.end == waiters::fate::notified; }
    [[nodiscard]] bool bring(bool& brought) {
        object->lock();
        waiters::entry* const e = object->first();
        if (e != nullptr) {
            object->take(*e);
        }
        object->unlock();
        brought = e != nullptr;
        return brought;
    }
    [[nodiscard]] bool empty() {
        const bool is = object->empty();
        object.end();
        return is;
    }
};

/// In a heap: a time, which is over at any moment.
struct in_a_heap {
    using heap_type = pilfer::detail::timer_heap<hasty_atom, park>;
    struct frame {
        cancellable::waiter l;
        void* owner = nullptr;
        plain<bool> taken_out = false;
        heap_type::timer clock;
        pilfer::detail::completion<hasty_atom> done;
    };
    heap_type heap;
    model::atomic<bool> armed{false};
    void enter(frame& f) {
        heap.arm(f.clock, 10);
        armed.store(true, rlx);
    }
    [[nodiscard]] bool take_out(frame& f) { return heap_type::disarm(f.clock); }
    [[nodiscard]] bool has_come(frame& f) { return !f.taken_out; }
    /// time_has_come_first()
    [[nodiscard]] bool bring(bool& brought) {
        while (!armed.load(rlx)) {
            here().relax();
        }
        heap_type::timer* const t = heap.take_due(100);
        brought = t != nullptr;
        if (t != nullptr) {
            t->over();
        }
        return brought;
    }
    [[nodiscard]] bool empty() { return heap.earliest() == heap_type::never; }
};

const registered<resumed<in_a_list>> r1("cancel_resumption",
                                        "a cancellation takes out what waits without a stack");
const registered<resumed<in_a_heap>> r2("cancel_resumption_time", "the same, of what waits for a time");

} // namespace
