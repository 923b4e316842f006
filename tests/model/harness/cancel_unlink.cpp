// Cancellation: a scope ends before scopes that are inside of it, while a task looks up through it or waits.
#include <type_traits>

#include "cancelling.hpp"

namespace {

using namespace model;
using namespace model::cancelling;
using link = model::cancelling::link; // not the system's

/// Three nested scopes. The middle one ends first, while a task inside the innermost walks up the chain.
/// `First`: it follows the first cancellation of the process; before that, an ending scope does not wait for
/// such walks. `Told`: another thread cancels, and the walk starts because of its notification.
template <bool First, bool Pinned, bool Told = false>
struct out_of_turn : process<2> {
    static constexpr unsigned threads = Told ? 3 : 2;
    using process<2>::all;
    using process<2>::workers;
    box<scope> elsewhere;
    box<scope> outer;
    box<scope> middle;
    box<scope> inner;
    plain<unsigned> alive = 1; // the memory of `middle`

    out_of_turn() {
        outer.make(nullptr);
        middle.make(link::as_owner(&outer->place));
        inner.make(link::as_owner(&middle->place));
        elsewhere.make(nullptr);
        if (!First) {
            this->cancel(*elsewhere.get());
        }
    }
    void thread(unsigned i) {
        if (i == 2) {
            this->cancel(*elsewhere.get());
            return;
        }
        if (i == 1) {
            if (First && !Told) {
                this->cancel(*elsewhere.get());
            }
            while (Told && !workers[1].trip.has_and_sees(signal_word::stop)) {
                here().relax();
            }
            const bool is = workers[1].looks_up.during(Pinned, [this] {
                if (link::strip(inner->place.parent()) == &middle->place) {
                    check(alive == 1, "stands on a scope that has ended");
                }
                return pilfer::detail::is_stopped(&inner->place);
            });
            check(!is, "stopped by nobody");
            inner->ended.store(1, rel);
            return;
        }
        // scope::leave() and cancellation::forget()
        inner->place.relink(middle->place);
        if (all.ever()) {
            all.apart([this] {
                std::conditional_t<Pinned, symmetric_atom, atom>::heavy_fence();
                workers[1].looks_up.wait_for_end();
            });
        }
        alive = 0;
        middle.end();
        this->end_of_round(*inner.get(), 1);
        inner.end();
        outer.end();
    }
    void finish() { elsewhere.end(); }
};

/// Three nested scopes inside a cancelled one. The scope that ends has been marked already, so the walk ends
/// there. It may be gone when its descendants are marked. The scope around the cancelled one must not be
/// marked.
struct out_of_turn_seen : process<2> {
    static constexpr unsigned threads = 2;
    box<scope> further;
    box<scope> outer;
    box<scope> middle;
    box<scope> inner;
    plain<unsigned> alive = 1; // the memory of `middle`

    out_of_turn_seen() {
        further.make(nullptr);
        outer.make(&further->place);
        middle.make(&outer->place);
        inner.make(link::as_owner(&middle->place));
        cancel(*outer.get());
        middle->place.head().cancel_state.fetch_or(cancel_flag::cancel_seen, rlx); // by another look
    }
    void thread(unsigned i) {
        if (i == 1) {
            const bool is = workers[1].looks_up.during(false, [this] {
                if (link::strip(inner->place.parent()) == &middle->place) {
                    check(alive == 1, "stands on a scope that has ended");
                }
                return pilfer::detail::is_stopped(&inner->place);
            });
            check(is, "goes on below of a cancelled scope");
            check((inner->place.head().cancel_state.load(rlx) & cancel_flag::cancel_seen) != 0,
                  "the scope below has not seen it");
            inner->ended.store(1, rel);
            return;
        }
        inner->place.relink(middle->place);
        all.apart([this] {
            atom::heavy_fence();
            workers[1].looks_up.wait_for_end();
        });
        alive = 0;
        middle.end();
        end_of_round(*inner.get(), 1);
        inner.end();
        end_of_round(*outer.get(), 0);
        outer.end();
        check((further->place.head().cancel_state.load(rlx) & cancel_flag::cancel_seen) == 0,
              "a scope further out has seen it");
        further.end();
    }
    void finish() {}
};

/// Below a cancelled scope, scopes of two tasks end out of turn at once while a third task looks up through
/// both. The outer one has `cancel_seen` already, so the look ends there. The cancelled scope must not be
/// marked. `Twice`: the task of the outer one has ended another scope so before, right above.
template <bool Twice>
struct out_of_turn_both : process<3> {
    static constexpr unsigned threads = 3;
    box<scope> cancelled;
    box<scope> top;
    box<scope> upper;
    box<scope> between;
    box<scope> lower;
    box<scope> inner;

    out_of_turn_both() {
        cancelled.make(nullptr);
        top.make(&cancelled->place);
        upper.make(link::as_owner(&top->place));
        between.make(link::as_owner(&upper->place));
        lower.make(&between->place);
        inner.make(link::as_owner(&lower->place));
        this->cancel(*cancelled.get());
        upper->place.head().cancel_state.fetch_or(cancel_flag::cancel_seen, rlx); // by another look
        if (!Twice) {
            upper->place.relink(top->place);
            top.end();
        }
    }
    /// scope::leave() and cancellation::forget()
    void leave(box<scope>& gone, scope& below) {
        below.place.relink(gone->place);
        this->all.apart([this] {
            atom::heavy_fence();
            this->workers[2].looks_up.wait_for_end();
        });
        gone.end();
    }
    void thread(unsigned i) {
        if (i == 2) {
            check(this->stopped_at(this->workers[2], &inner->place), "goes on below a cancelled scope");
            inner->ended.store(1, rel);
            return;
        }
        if (i == 1) {
            leave(lower, *inner.get());
            this->end_of_round(*inner.get(), 1);
            inner.end();
            between->ended.store(1, rel);
            return;
        }
        if (Twice) {
            leave(top, *upper.get());
        }
        leave(upper, *between.get());
        this->end_of_round(*between.get(), 1);
        between.end();
        check((cancelled->place.head().cancel_state.load(rlx) & cancel_flag::cancel_seen) == 0,
              "the owner of the cancelled scope is stopped");
        this->end_of_round(*cancelled.get(), 0);
        cancelled.end();
    }
    void finish() { this->check_quiet(); }
};

/// The scope in the middle of three ends out of turn while a task below the innermost begins to wait.
/// Another scope begins at its address, elsewhere, and a task waits below that one. Each is stopped by its
/// own cancellation.
struct out_of_turn_waits : process<1> {
    static constexpr unsigned threads = 2;
    box<scope> outer;
    box<scope> elsewhere;
    box<scope> middle;
    box<scope> inner;
    cancellable::waiter first;
    cancellable::waiter second;
    plain<unsigned> alive = 1; // the memory of `middle`

    out_of_turn_waits() {
        outer.make(nullptr);
        elsewhere.make(nullptr);
        middle.make(&outer->place);
        inner.make(link::as_owner(&middle->place));
        first.stop = second.stop = [](cancellable::waiter& /*self*/) noexcept {};
    }
    void thread(unsigned i) {
        if (i == 1) {
            first.node = &inner->place;
            workers[0].stoppable.add(first);
            inner->ended.store(1, rel);
            return;
        }
        // scope::leave() and cancellation::forget()
        inner->place.relink(middle->place);
        all.apart([this] { workers[0].stoppable.unlink(middle->place); });
        alive = 0;
        middle.end();
        while (inner->ended.load(acq) == 0) {
            here().relax();
        }
        middle.make(&elsewhere->place);
        second.node = &middle->place;
        workers[0].stoppable.add(second);
        cancel(*elsewhere.get());
        check(second.stopped && !first.stopped, "a wait is at a scope that has ended");
        cancel(*outer.get());
        check(first.stopped, "a wait below a cancelled scope is not found");
        workers[0].stoppable.remove(second);
        workers[0].stoppable.remove(first);
        middle.end();
        inner.end();
        end_of_round(*outer.get(), 0);
        end_of_round(*elsewhere.get(), 0);
        outer.end();
        elsewhere.end();
    }
    void finish() { check_quiet(); }
};

/// A shield ends out of turn, after the exit that it is against: the scope below goes on. A task below that
/// scope begins to wait at any moment. It must be stopped, but not before the end of the shield.
struct out_of_turn_shield : process<2> {
    static constexpr unsigned threads = 2;
    struct frame {
        cancellable::waiter l;
        waiters* list;
        waiters::entry e;
    };
    box<scope> left;
    box<scope> shield;
    box<scope> inner;
    box<waiters> object;
    box<frame> waiting;
    bool has_ended = false; // the shield; of the checker itself

    out_of_turn_shield() {
        left.make(nullptr);
        shield.make(&left->place);
        shield->place.head().against = &left->place;
        shield->place.head().cancel_state.store(cancel_flag::shielded, rlx);
        inner.make(link::as_owner(&shield->place));
        object.make();
        cancel(*left.get());
    }
    void thread(unsigned i) {
        if (i == 0) {
            // ~exit_shield(), scope::leave() and cancellation::forget()
            has_ended = true;
            shield->place.head().cancel_state.fetch_and(~cancel_flag::shielded, rlx);
            inner->place.relink(shield->place);
            all.apart([this] {
                all.renew();
                atom::heavy_fence();
                for (worker& w : workers) {
                    w.looks_up.wait_for_end();
                    w.stoppable.unlink(shield->place);
                }
            });
            shield.end();
            all.again([this] {
                for (worker& w : workers) {
                    w.stoppable.stop_below(inner->place);
                }
            });
            end_of_round(*inner.get(), 1);
            inner.end();
            end_of_round(*left.get(), 0);
            left.end();
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
        if (!stopped_at(workers[1], &inner->place) || !object->withdraw(f.e)) {
            wait_in(*object.get(), f.e, false);
        }
        check(has_ended, "stopped below a shield");
        workers[1].stoppable.remove(f.l);
        waiting.end();
        inner->ended.store(1, rel);
    }
    void finish() {
        check(object->empty(), "a task is left in the list");
        object.end();
        check_quiet();
    }
};

const registered<out_of_turn<false, false>> r5("cancel_unlink",
                                               "a scope ends out of turn while a task looks up");
const registered<out_of_turn<false, true>> r8("cancel_unlink_pinned", "the same without membarrier");
const registered<out_of_turn<true, false>> r9("cancel_unlink_first",
                                              "the same behind the first cancellation");
const registered<out_of_turn<true, false, true>> r16("cancel_unlink_first_told",
                                                     "the same where another one cancels");
const registered<out_of_turn_seen> r13("cancel_unlink_told",
                                       "a scope ends out of turn below of a cancelled one");
const registered<out_of_turn_both<false>> r21("cancel_unlink_both",
                                              "scopes of two tasks end out of turn on one way up");
const registered<out_of_turn_both<true>> r22("cancel_unlink_both_twice",
                                             "the same, one task ends two scopes");
const registered<out_of_turn_waits> r19("cancel_unlink_waits",
                                        "a scope ends out of turn while a task begins to wait");
const registered<out_of_turn_shield> r23("cancel_unlink_shield",
                                         "a shield ends out of turn while a task below begins to wait");

} // namespace
