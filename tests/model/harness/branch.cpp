// A branch of a join that a thief takes, while the frame that joins throws, or another branch.
#include "cancelling.hpp"

#include <pilfer/detail/task/branch.hpp>

namespace {

using namespace model;
using namespace model::cancelling;
using link = model::cancelling::link; // not the system's

/// Values of the branch's word.
using value = const void*;
constexpr char initial = 0;
constexpr char given_up = 0;

/// One announces a branch and throws; the other takes it, at any moment, and runs it until it is stopped or,
/// if `Ends`, perhaps a few steps. The frame that joins has ended when it has seen the branch's last access.
template <bool Ends>
struct branch : process<2> {
    static constexpr unsigned threads = 2;
    using process<2>::all;
    using process<2>::workers;
    struct frame { // of whoever runs the branch: stolen_branch
        explicit frame(link* parent) : place(parent) {}
        link place;
        pilfer::detail::branch_protocol<atom> protocol;
    };
    box<scope> outer;
    box<frame> running;
    model::atomic<value> word{&initial};
    model::atomic<bool> done{false};
    model::atomic<bool> is_given_up{false};

    branch() { outer.make(nullptr); }

    void thread(unsigned i) {
        if (i == 0) {
            // stolen_branch::give_up(), cancellation::request()
            const value was =
                pilfer::detail::branch_protocol<atom>::give_up(word, value{&initial}, value{&given_up});
            if (was != nullptr) {
                check(was == running.get(), "what is told is not the branch");
                frame& f = *running.get();
                all.request(f.place.head().cancel_state, this->each_trip(), [this, &f] {
                    for (worker& w : workers) {
                        w.stoppable.stop_below(f.place);
                    }
                });
                f.protocol.is_told();
            }
            is_given_up.store(true, rel);
            while (!done.load(acq)) {
                here().relax();
            }
            check(!this->stopped_at(workers[0], &outer->place), "the frame that joins is stopped itself");
            return;
        }
        const bool late = is_given_up.load(acq);
        frame& f = *running.make(&outer->place);
        const bool begins = pilfer::detail::branch_protocol<atom>::begins(word, value{&f}, value{&given_up});
        check(!begins || !late, "a branch begins that was given up");
        if (begins) {
            for (unsigned step = 0; !Ends || step < 2; ++step) {
                const bool must = is_given_up.load(acq);
                const bool is = this->stopped_at(workers[1], &f.place);
                check(is || !must, "a branch goes on behind the exception");
                if (is) {
                    break;
                }
                here().relax();
            }
            const bool told = f.protocol.ends(word, value{&given_up}, [] { return false; });
            const bool cancelled = (f.place.head().cancel_state.load(rlx) & cancel_flag::cancelled) != 0;
            check(cancelled == told, "told without a word");
            if (cancelled) {
                all.over(this->each_trip());
            }
        }
        running.end();
        done.store(true, rel);
    }
    void finish() {
        outer.end();
        this->check_quiet();
    }
};

/// A branch waits for one of its own, which a third one runs and which throws: that cancels the first one,
/// which the frame that joins may give up meanwhile. The cancellation is counted once, and ends once.
struct cancelled_from_below : process<1> {
    static constexpr unsigned threads = 3;
    struct frame {
        explicit frame(link* parent) : place(parent) {}
        link place;
        pilfer::detail::branch_protocol<atom> protocol;
    };
    box<scope> outer;
    box<frame> running;
    model::atomic<value> word{&initial};
    model::atomic<bool> announced{false};
    model::atomic<bool> below_done{false};
    model::atomic<bool> done{false};

    cancelled_from_below() { outer.make(nullptr); }

    void cancel(frame& f) {
        all.request(f.place.head().cancel_state, this->each_trip(), [] {});
    }
    void thread(unsigned i) {
        if (i == 0) {
            const value was =
                pilfer::detail::branch_protocol<atom>::give_up(word, value{&initial}, value{&given_up});
            if (was != nullptr) {
                frame& f = *running.get();
                cancel(f);
                f.protocol.is_told();
            }
            while (!done.load(acq)) {
                here().relax();
            }
            return;
        }
        if (i == 1) { // stolen_branch::fails()
            while (!announced.load(acq)) {
                here().relax();
                if (done.load(acq)) {
                    return; // given up before it began
                }
            }
            cancel(*running.get());
            below_done.store(true, rel); // worker.J1
            return;
        }
        frame& f = *running.make(&outer->place);
        if (pilfer::detail::branch_protocol<atom>::begins(word, value{&f}, value{&given_up})) {
            announced.store(true, rel);
            while (!below_done.load(acq)) {
                here().relax();
            }
            (void)f.protocol.ends(word, value{&given_up}, [] { return false; });
            check((f.place.head().cancel_state.load(rlx) & cancel_flag::cancelled) != 0,
                  "cancelled without a word");
            all.over(this->each_trip());
        }
        running.end();
        done.store(true, rel);
    }
    void finish() {
        outer.end();
        this->check_quiet();
    }
};

const registered<branch<false>> r1("branch_runs",
                                   "the frame that joins throws, and a branch runs until it is stopped");
const registered<branch<true>> r2("branch_ends", "the same, and the branch may end before");
const registered<cancelled_from_below> r3("branch_fails", "a branch of a running branch throws");

} // namespace
