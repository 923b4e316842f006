// Cancellation: a scope is cancelled while its descendants start, run, wait and end.
#include "cancelling.hpp"

namespace {

using namespace model;
using namespace model::cancelling;
using link = model::cancelling::link; // not the system's

/// The owner of the outer scope cancels it. A child, on another worker, owns an inner scope, whose child
/// starts on a third one: that one looks as it starts and at each announcement, until it is stopped.
struct starting : process<3> {
    static constexpr unsigned threads = 3;
    box<scope> outer;
    box<scope> inner;
    model::atomic<unsigned> begun{0};
    model::atomic<bool> is_cancelled{false};

    starting() { outer.make(nullptr); }

    /// Until it is stopped.
    void run(unsigned w, link* place) {
        for (;;) {
            const bool must = is_cancelled.load(acq);
            const bool sees = workers[w].trip.has_and_sees(signal_word::stop);
            const bool is = stopped_at(workers[w], place);
            check(is || !must, "a task goes on behind a cancellation");
            check(is || !sees, "the bit is there before the scope's word");
            if (is) {
                return;
            }
            here().relax();
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            cancel(*outer.get());
            is_cancelled.store(true, rel);
            check(!stopped_at(workers[0], link::as_owner(&outer->place)), "the owner itself is stopped");
            end_of_round(*outer.get(), 1);
            outer.end();
            return;
        }
        if (i == 1) {
            inner.make(&outer->place);
            begun.store(1, rel);
            run(1, link::as_owner(&inner->place));
            end_of_round(*inner.get(), 1);
            inner.end();
            outer->ended.fetch_add(1, rel);
            return;
        }
        while (begun.load(acq) == 0) {
            here().relax();
        }
        run(2, &inner->place);
        check((inner->place.head().cancel_state.load(rlx) & cancel_flag::stops) != 0,
              "the scope below has not seen it");
        inner->ended.fetch_add(1, rel);
    }
    void finish() { check_quiet(); }
};

/// A task inside a cancelled scope unwinds, and meanwhile forks into a scope of its own. Only a cancellation
/// of that scope stops the child.
template <bool Cancels>
struct cleanup : process<3> {
    static constexpr unsigned threads = 3;
    box<scope> outer;
    box<scope> own;
    model::atomic<bool> announced{false};
    model::atomic<bool> is_cancelled{false};

    cleanup() { outer.make(nullptr); }

    void child() {
        while (!announced.load(acq)) {
            here().relax();
        }
        for (unsigned looks = 0; Cancels || looks < 3; ++looks) {
            const bool must = is_cancelled.load(acq);
            const bool is = stopped_at(workers[2], &own->place);
            check(is || !must, "a cleanup's child goes on behind its cancellation");
            check(!is || Cancels, "a cleanup's child is stopped from further out");
            if (is) {
                check((own->place.head().cancel_state.load(rlx) & cancel_flag::cancelled) != 0,
                      "a cleanup's child is stopped from further out");
                break;
            }
            here().relax();
        }
        own->ended.fetch_add(1, rel);
    }
    void thread(unsigned i) {
        if (i == 0) {
            cancel(*outer.get());
            end_of_round(*outer.get(), 1);
            outer.end();
            return;
        }
        if (i == 2) {
            child();
            return;
        }
        own.make(&outer->place);
        link* const here_stands = link::as_owner(&own->place);
        (void)stopped_at(workers[1], here_stands, false);
        check(pilfer::detail::begin_cleanup(own->place.head().cancel_state),
              "a cleanup is taken for an older scope");
        announced.store(true, rel);
        (void)stopped_at(workers[1], here_stands, false);
        if (Cancels) {
            cancel(*own.get());
            is_cancelled.store(true, rel);
        }
        end_of_round(*own.get(), 1);
        own.end();
        outer->ended.fetch_add(1, rel);
    }
    void finish() { check_quiet(); }
};

/// Two scopes beside each other are cancelled, and end at different times.
struct beside : process<2> {
    static constexpr unsigned threads = 2;
    box<scope> scopes[2];
    beside() {
        scopes[0].make(nullptr);
        scopes[1].make(nullptr);
    }
    void thread(unsigned i) {
        scope& s = *scopes[i].get();
        cancel(s);
        check(stopped_at(workers[i], &s.place), "the end of another cancellation hides this one");
        s.ended.store(1, rlx);
        end_of_round(s, 1);
    }
    void finish() { check_quiet(); }
};

/// One task waits in an object's list, inside a scope. One cancels, one hands it the awaited value.
template <bool Notified>
struct waiter : process<1> {
    static constexpr unsigned threads = Notified ? 3 : 2;
    struct frame {
        cancellable::waiter l;
        waiters* list;
        waiters::entry e;
    };
    box<scope> outer;
    box<waiters> object;
    box<frame> waiting;
    bool handed_over = false; // of the checker itself, as the next
    bool received = false;

    waiter() {
        outer.make(nullptr);
        object.make();
    }
    void thread(unsigned i) {
        if (i == 1) {
            cancel(*outer.get());
            end_of_round(*outer.get(), 1);
            return;
        }
        if (i == 2) {
            object->lock();
            waiters::entry* const e = object->first();
            if (e != nullptr) {
                object->take(*e);
            }
            object->unlock();
            if (e != nullptr) {
                handed_over = true;
                go_on(*e);
            }
            return;
        }
        frame& f = *waiting.make();
        f.list = object.get();
        f.l.node = &outer->place;
        // As stop_wait() in src/sync: the waiter is the frame's first member.
        f.l.stop = [](cancellable::waiter& self) noexcept {
            auto& w = reinterpret_cast<frame&>(self);
            waiters::entry& e = w.e;
            if (w.list->withdraw(e)) {
                go_on(e);
            }
        };
        object->lock();
        object->add(f.e);
        object->unlock();
        workers[0].stoppable.add(f.l);
        if (!stopped_at(workers[0], &outer->place) || !object->withdraw(f.e)) {
            wait_in(*object.get(), f.e, false);
        }
        workers[0].stoppable.remove(f.l);
        received = f.e.end == waiters::fate::notified;
        waiting.end();
        outer->ended.store(1, rel);
    }
    void finish() {
        check(received == handed_over, "handed over and stopped, or neither");
        check(object->empty(), "somebody is left in the list");
        object.end();
        outer.end();
    }
};

/// A task looks and notes in its scope that nothing stops it, at any moment of a cancellation further out. A
/// task beside it must not believe an older note, nor what an earlier scope has left at that address.
struct noted : process<2> {
    static constexpr unsigned threads = 3;
    box<scope> elsewhere;
    box<scope> outer;
    box<scope> inner;
    model::atomic<bool> is_cancelled{false};

    noted() {
        elsewhere.make(nullptr);
        outer.make(nullptr);
        inner.make(&outer->place);
        cancel(*elsewhere.get());
    }
    void thread(unsigned i) {
        if (i == 0) {
            cancel(*outer.get());
            is_cancelled.store(true, rel);
            end_of_round(*inner.get(), 2);
            inner.end();
            outer->ended.store(1, rlx);
            end_of_round(*outer.get(), 1);
            outer.end();
            end_of_round(*elsewhere.get(), 0);
            elsewhere.end();
            return;
        }
        for (unsigned looks = 0; looks < 2; ++looks) {
            const bool must = is_cancelled.load(acq);
            check(stopped_at(workers[i - 1], &inner->place) || !must, "a task believes an old note");
        }
        inner->ended.fetch_add(1, rel);
    }
    void finish() { check_quiet(); }
};

/// A task exits a scope from inside a nested one, protected by its shield. Meanwhile another task beside it
/// is stopped and marks the scope that both are in. A scope further out may be cancelled, too.
template <bool Outer>
struct shielded : process<3> {
    static constexpr unsigned threads = 3;
    box<scope> outer;
    box<scope> left;
    box<scope> inner;
    box<scope> shield;
    model::atomic<bool> exited{false};
    model::atomic<bool> over{false};

    shielded() {
        outer.make(nullptr);
        left.make(&outer->place);
        inner.make(&left->place);
    }
    void thread(unsigned i) {
        if (i == 0) {
            shield.make(&inner->place); // exit_shield: the task is its owner
            shield->place.head().against = &left->place;
            shield->place.head().cancel_state.store(cancel_flag::shielded, rlx);
            cancel(*left.get());
            exited.store(true, rel);
            link* const here_it_stands = link::as_owner(&shield->place);
            for (;;) {
                const bool must = over.load(acq);
                const bool is = stopped_at(workers[0], here_it_stands);
                check(Outer || !is, "the exit stops what is excepted from it");
                check(!Outer || is || !must, "the shield is one against an outer scope, too");
                if (Outer ? is : inner->ended.load(acq) == 1) {
                    break;
                }
                here().relax();
            }
            shield.end();
            inner->ended.fetch_add(1, rel);
            return;
        }
        if (i == 1) {
            for (;;) {
                const bool must = exited.load(acq);
                const bool is = stopped_at(workers[1], &inner->place);
                check(is || !must, "a task goes on behind an exit");
                if (is) {
                    break;
                }
                here().relax();
            }
            inner->ended.fetch_add(1, rel);
            return;
        }
        if (Outer) {
            cancel(*outer.get());
            over.store(true, rel);
        }
        end_of_round(*inner.get(), 2);
        inner.end();
        left->ended.store(1, rlx);
        end_of_round(*left.get(), 1);
        left.end();
        outer->ended.store(1, rlx);
        end_of_round(*outer.get(), 1);
        outer.end();
    }
    void finish() { check_quiet(); }
};

/// Two children of a scope: one fails; the other one fails, too, or goes on until it is stopped.
template <bool Both>
struct failing : process<3> {
    static constexpr unsigned threads = 3;
    box<scope> outer;
    plain<unsigned> error = 0;
    model::atomic<bool> thrown{false};

    failing() { outer.make(nullptr); }

    /// scope::fail()
    void fail(unsigned what) {
        const std::uint32_t was = outer->place.head().cancel_state.fetch_add(1, rlx);
        if ((was & cancel_flag::failures) == 0) {
            error = what;
        }
        if ((was & cancel_flag::cancelled) == 0) {
            cancel(*outer.get());
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            while (outer->ended.load(acq) != 2) {
                here().relax();
            }
            const std::uint32_t was = outer->place.head().cancel_state.exchange(0, rlx);
            check((was & cancel_flag::failures) == (Both ? 2 : 1), "the number of failures");
            check((was & cancel_flag::cancelled) != 0, "the scope was not cancelled");
            check(error != 0, "a failure without its exception");
            all.over(each_trip());
            outer.end();
            return;
        }
        if (Both || i == 1) {
            fail(i);
            thrown.store(true, rel);
        } else {
            for (;;) {
                const bool must = thrown.load(acq);
                const bool is = stopped_at(workers[i], &outer->place);
                check(is || !must, "a sibling goes on behind an exception");
                if (is) {
                    break;
                }
                here().relax();
            }
        }
        outer->ended.fetch_add(1, rel);
    }
    void finish() { check_quiet(); }
};

/// A task inside an outer scope holds a lock, under which it has begun an inner scope with a waiting child.
/// The outer one is cancelled at any moment; the lock is free before the inner one ends. The child must not
/// be stopped before that, and must not stay waiting after it. `Before`: there was another cancellation in
/// this process, and its scope has not ended.
template <bool Before>
struct outlived : process<2> {
    static constexpr unsigned threads = 3;
    struct frame {
        cancellable::waiter l;
        waiters* list;
        waiters::entry e;
    };
    box<scope> elsewhere;
    box<scope> outer;
    box<scope> inner;
    box<waiters> object;
    box<frame> waiting;
    model::atomic<bool> is_cancelled{false};
    bool is_free = false; // of the checker itself

    outlived() {
        outer.make(nullptr);
        inner.make(link::as_holder(&outer->place));
        object.make();
        elsewhere.make(nullptr);
        if (Before) {
            this->cancel(*elsewhere.get());
        }
    }
    using process<2>::all;
    using process<2>::workers;
    void thread(unsigned i) {
        if (i == 0) {
            this->cancel(*outer.get());
            is_cancelled.store(true, rel);
            this->end_of_round(*outer.get(), 1);
            return;
        }
        if (i == 1) {
            link* const here_it_stands = link::as_owner(&inner->place);
            check(!this->stopped_at(workers[0], here_it_stands), "a holder is stopped");
            // gives_lock(), scope_outlives_lock()
            is_free = true;
            inner->place.outlives_lock();
            all.renew();
            atom::fence_sc();
            if (this->stopped_at(workers[0], &inner->place)) {
                all.again([this] {
                    for (worker& w : workers) {
                        w.stoppable.stop_below(inner->place);
                    }
                });
            }
            const bool must = is_cancelled.load(acq);
            check(this->stopped_at(workers[0], here_it_stands) || !must, "a task goes on behind its lock");
            this->end_of_round(*inner.get(), 1);
            inner.end();
            outer->ended.store(1, rel);
            return;
        }
        frame& f = *waiting.make();
        f.list = object.get();
        f.l.node = &inner->place;
        f.l.stop = [](cancellable::waiter& self) noexcept {
            auto& w = reinterpret_cast<frame&>(self);
            waiters::entry& e = w.e;
            if (w.list->withdraw(e)) {
                go_on(e);
            }
        };
        object->lock();
        object->add(f.e);
        object->unlock();
        workers[1].stoppable.add(f.l);
        if (!this->stopped_at(workers[1], &inner->place) || !object->withdraw(f.e)) {
            wait_in(*object.get(), f.e, false);
        }
        check(is_free, "stopped under the lock");
        workers[1].stoppable.remove(f.l);
        waiting.end();
        inner->ended.store(1, rel);
    }
    void finish() {
        check(object->empty(), "somebody is left in the list");
        object.end();
        outer.end();
        this->end_of_round(*elsewhere.get(), 0);
        elsewhere.end();
        this->check_quiet();
    }
};

const registered<starting> r1("cancel_start", "a scope is cancelled while tasks below start and run");
const registered<cleanup<false>> r17("cancel_cleanup", "a task that unwinds forks");
const registered<cleanup<true>> r18("cancel_cleanup_itself", "the same, and what it has forked is cancelled");
const registered<beside> r2("cancel_beside", "two cancellations, one of which ends earlier");
const registered<waiter<false>> r3("cancel_wait", "a cancellation takes a task out of its wait");
const registered<waiter<true>> r4("cancel_handed", "the same, while it is handed what it waits for");
const registered<shielded<false>> r6("cancel_exit", "an exit stops all but the task that exits");
const registered<shielded<true>> r7("cancel_exit_outer", "the same, and an outer scope is cancelled");
const registered<noted> r20("cancel_noted",
                            "looks note that nothing stops a task while a scope is cancelled");
const registered<failing<false>> r10("cancel_fail", "an exception of a child stops its sibling");
const registered<failing<true>> r11("cancel_fail_both", "two exceptions at the same time");
const registered<outlived<false>> r12("cancel_holder",
                                      "a lock is free before a scope ends that began under it");
const registered<outlived<true>> r15("cancel_holder_beside", "the same beside another cancellation");

} // namespace
