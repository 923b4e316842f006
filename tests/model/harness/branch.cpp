// A branch of a join that a thief takes, while the frame that joins throws.
#include "cancelling.hpp"

#include <pilfer/detail/cancel/failing.hpp>
#include <pilfer/detail/worker/branch.hpp>

namespace {

using namespace model;
using namespace model::cancelling;
using link = model::cancelling::link; // not the system's

/// What stands in the word of the branch.
using value = const void*;
constexpr char lies_there = 0;
constexpr char given_up = 0;

/// One announces a branch and throws; the other takes it, at any moment, and runs it until it is stopped or,
/// if `Ends`, perhaps a few steps. The frame that joins has ended when it has seen the branch's last access.
template <bool Ends>
struct branch : process<2> {
    static constexpr unsigned threads = 2;
    using process<2>::all;
    using process<2>::workers;
    struct frame { // of whoever runs the branch: stolen_branch
        explicit frame(link* within) : place(within) {}
        link place;
        pilfer::detail::branch_protocol<atom> protocol;
    };
    box<scope> outer;
    box<frame> running;
    model::atomic<value> word{&lies_there};
    model::atomic<bool> done{false};
    model::atomic<bool> is_given_up{false};

    branch() { outer.make(nullptr); }

    void thread(unsigned i) {
        if (i == 0) {
            // stolen_branch::give_up(), stops::request()
            const value was =
                pilfer::detail::branch_protocol<atom>::give_up(word, value{&lies_there}, value{&given_up});
            if (was != nullptr) {
                check(was == running.get(), "what is told is not the branch");
                frame& f = *running.get();
                all.request(f.place.head().disturbed, this->each_trip(), [this] {
                    for (worker& w : workers) {
                        w.stoppable.tell();
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
            if (f.protocol.ends(word, value{&given_up}, [] { return false; })) {
                check((f.place.head().disturbed.load(rlx) & disturb::requested) != 0, "told without a word");
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

/// What the harnesses of a branch that throws beside what the frame that joins runs share. A branch is its
/// address.
template <unsigned Workers, unsigned Most = 2>
struct failing_process : process<Workers> {
    using process<Workers>::all;
    using process<Workers>::workers;
    pilfer::detail::failing_joins<atom, const void*, Most> failing;
    static constexpr char within = 0;

    /// stopped_cold(), rule 1
    [[nodiscard]] bool is_inside(worker& w, const void* branch) {
        return w.trip.has(tripwire::stop) && w.trip.has_and_sees(tripwire::stop) && lies_in(branch);
    }
    [[nodiscard]] bool lies_in(const void* branch) {
        return failing.any([branch](const void* b, const void* place) {
            check(b != branch || place == &within, "a branch and the place of another one");
            return b == branch;
        });
    }
    /// stops::fail()
    template <class Tell>
    [[nodiscard]] bool try_fail(const void* branch, Tell tell) {
        return all.begin([&] { return failing.add(branch, &within, nullptr); }, this->each_trip(), tell);
    }
    template <class Tell>
    void fail(const void* branch, Tell tell) {
        check(try_fail(branch, tell), "no room");
    }
    /// stops::collected()
    void collect(const void* branch) {
        all.end([&] { failing.remove(branch); }, this->each_trip());
    }
};

/// One runs the stolen branch, which throws; the other is the frame that joins: it runs until it is stopped
/// or, if `Ends`, perhaps a few steps, waits for the branch, and collects. Behind that the branch is no more.
template <bool Ends>
struct failing_branch : failing_process<1> {
    static constexpr unsigned threads = 2;
    using process<1>::workers;
    struct spark {
        plain<bool> failed = false;
    };
    box<spark> mine;
    model::atomic<bool> is_failing{false};
    model::atomic<bool> done{false};

    failing_branch() { mine.make(); }

    void thread(unsigned i) {
        if (i == 1) {
            this->fail(mine.get(), [] {});
            is_failing.store(true, rel);
            mine->failed = true;
            done.store(true, rel); // J1
            return;
        }
        for (unsigned step = 0; !Ends || step < 2; ++step) {
            const bool must = is_failing.load(acq);
            const bool is = this->is_inside(workers[0], mine.get());
            check(is || !must, "a frame goes on beside a branch that has failed");
            if (is) {
                break;
            }
            here().relax();
        }
        while (!done.load(acq)) {
            here().relax();
        }
        if (mine->failed) {
            this->collect(mine.get());
        }
        mine.end();
        check(!this->lies_in(mine.get()), "a branch that is no more stops somebody");
    }
    void finish() { this->check_quiet(); }
};

/// Joins that fail one behind the other in one place, and somebody who looks meanwhile, inside of another
/// one, which has failed before: who comes and goes hides that one from nobody.
struct failing_others : failing_process<1> {
    static constexpr unsigned threads = 2;
    char mine = 0;
    char other[2] = {};
    static constexpr char elsewhere[2] = {};

    failing_others() {
        this->fail(&mine, [] {});
    }
    void thread(unsigned i) {
        if (i == 1) {
            for (unsigned k = 0; k < 2; ++k) {
                (void)all.begin([&] { return failing.add(&other[k], &elsewhere[k], nullptr); },
                                this->each_trip(), [] {});
                this->collect(&other[k]);
            }
            return;
        }
        bool found = false;
        (void)failing.any([&](const void* b, const void* place) {
            found = found || b == &mine;
            check((b == &mine && place == &within) || (b == &other[0] && place == &elsewhere[0]) ||
                      (b == &other[1] && place == &elsewhere[1]),
                  "a branch and the place of another one");
            return false;
        });
        check(found, "a failing join is missed");
        check(this->is_inside(workers[0], &mine), "the end of another one hides this one");
    }
    void finish() {
        this->collect(&mine);
        this->check_quiet();
    }
};

/// The frame that joins waits, in the branch that it runs, for another branch, of a join there: in its name
/// that one is given up.
struct failing_waited_for : failing_process<2> {
    static constexpr unsigned threads = 3;
    struct frame {
        explicit frame(link* within) : place(within) {}
        link place;
        pilfer::detail::branch_protocol<atom> protocol;
    };
    struct listener : stop_list::listener {
        failing_waited_for* here;
    };
    box<scope> outer;
    box<frame> running;
    listener waits;
    char outer_branch = 0;
    model::atomic<value> word{&lies_there};
    model::atomic<bool> outer_done{false};
    model::atomic<bool> done{false};
    frame* given_up_to = nullptr; // under the lock of `all`

    failing_waited_for() { outer.make(nullptr); }

    /// tell_those_that_wait()
    void tell() {
        for (worker& w : workers) {
            w.stoppable.tell([this](const stop_list::listener&) { return this->lies_in(&outer_branch); });
        }
        if (frame* const f = std::exchange(given_up_to, nullptr)) {
            all.request_inside(f->place.head().disturbed, this->each_trip());
            f->protocol.is_told();
        }
    }
    void thread(unsigned i) {
        if (i == 0) { // stops::waiting_frame
            waits.here = this;
            waits.stop = [](stop_list::listener& self) noexcept {
                auto& me = *static_cast<listener&>(self).here;
                const value was = pilfer::detail::branch_protocol<atom>::give_up(me.word, value{&lies_there},
                                                                                 value{&given_up});
                if (was != nullptr) {
                    check(was == me.running.get(), "what is told is not the branch");
                    me.given_up_to = me.running.get();
                }
            };
            workers[0].stoppable.add(waits);
            if (this->is_inside(workers[0], &outer_branch)) {
                all.again([this] { tell(); });
            }
            while (!done.load(acq)) {
                here().relax();
            }
            workers[0].stoppable.remove(waits);
            check(this->is_inside(workers[0], &outer_branch),
                  "the end of the branch hides why it was given up");
            while (!outer_done.load(acq)) {
                here().relax();
            }
            this->collect(&outer_branch);
            return;
        }
        if (i == 1) {
            this->fail(&outer_branch, [this] { tell(); });
            outer_done.store(true, rel);
            return;
        }
        frame& f = *running.make(&outer->place);
        if (pilfer::detail::branch_protocol<atom>::begins(word, value{&f}, value{&given_up})) {
            while (!this->stopped_at(workers[1], &f.place)) {
                here().relax();
            }
            check(f.protocol.ends(word, value{&given_up}, [] { return false; }),
                  "it is stopped, and was not given up");
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

/// A scope that is made beside a branch that throws, and outlives the join. Somebody below of it looks, at
/// any moment, and tells it. Behind the join nothing does any more.
struct failing_outlived : failing_process<1> {
    static constexpr unsigned threads = 3;
    box<scope> made;
    char mine = 0;
    model::atomic<bool> done{false};

    failing_outlived() { made.make(nullptr); }

    void thread(unsigned i) {
        worker& looker = workers[0];
        auto& disturbed = made->place.head().disturbed;
        if (i == 1) {
            this->fail(&mine, [] {});
            done.store(true, rel);
            return;
        }
        if (i == 2) {
            for (unsigned look = 0; look < 2; ++look) {
                if (looker.trip.has(tripwire::stop) && looker.trip.has_and_sees(tripwire::stop)) {
                    (void)looker.looks_up.during(
                        false, [&] { return this->lies_in(&mine) && pilfer::detail::tell_scope(disturbed); });
                }
            }
            return;
        }
        while (!done.load(acq)) {
            here().relax();
        }
        this->collect(&mine);
        all.apart([&] {
            atom::heavy_fence();
            looker.looks_up.wait_for_end();
        });
        disturbed.fetch_and(~pilfer::detail::disturb::told, rlx);
    }
    void finish() {
        check((made->place.head().disturbed.load(rlx) & pilfer::detail::disturb::told) == 0,
              "a scope is told because of a join that is over");
        made.end();
        this->check_quiet();
    }
};

/// Two branches fail at once, and there is room for one: the other join hears of its error at its end, and
/// does not count.
struct failing_full : failing_process<1, 1> {
    static constexpr unsigned threads = 2;
    char branches[2] = {};

    void thread(unsigned i) {
        if (this->try_fail(&branches[i], [] {})) {
            check(this->is_inside(workers[0], &branches[i]), "a failing join is missed");
            this->collect(&branches[i]);
        }
        check(!this->lies_in(&branches[i]), "a branch that is no more stops somebody");
    }
    void finish() { this->check_quiet(); }
};

const registered<failing_branch<false>>
    r3("branch_fails", "a stolen branch throws; what the frame that joins runs is stopped");
const registered<failing_branch<true>> r4("branch_fails_late", "the same, and that may end before");
const registered<failing_others> r5("branch_fails_beside", "other joins fail beside one that has failed");
const registered<failing_waited_for> r6("branch_given_up",
                                        "a frame beside a branch that fails waits for another branch");
const registered<failing_outlived> r7("branch_outlived",
                                      "a scope that was made beside a branch that fails outlives the join");
const registered<failing_full> r8("branch_full", "two branches fail, and there is room for one");

const registered<branch<false>> r1("branch_runs",
                                   "the frame that joins throws, and a branch runs until it is stopped");
const registered<branch<true>> r2("branch_ends", "the same, and the branch may end before");

} // namespace
