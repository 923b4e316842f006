// Queued calls: one inside at a time, and the oldest that can go is the next. No change, time limit or end of
// a row leaves a call waiting that could go. The object ends with its last call.
#include <pilfer/detail/objects/objects_queue.hpp>

#include "waiting.hpp"

namespace {

using namespace model;
using queue = pilfer::detail::call_queue<hasty_atom, park>;

/// How long a call waits.
enum class limit { none, any_moment, over };

/// `Row`: one caller serves so many calls, then the next caller runs its own.
template <unsigned Row>
struct calls_client {
    struct object {
        pilfer::detail::raw_lock<hasty_atom, park> lock;
        queue calls;
        plain<unsigned> value = 0;
    };
    struct frame : waiters::entry {
        plain<unsigned> caller = 0;
        plain<unsigned> want = 0;
    };
    box<object> o;
    box<frame> frames[3];
    bool exactly =
        false; // a condition is value == want, and a call adds one; else value >= want, and it takes
    // Of the checker itself.
    struct waits {
        unsigned since = 0; // 0: it does not
        unsigned want = 0;
        bool has_limit = false;
    } waiting[3];
    unsigned inside = 0;
    unsigned clock = 0;
    unsigned run = 0;

    calls_client() { o.make(); }

    bool holds(unsigned want) { return exactly ? o->value == want : o->value >= want; }
    void entered() { check(++inside == 1, "two are inside of the object"); }
    /// Call i enters: its condition holds, and no earlier call could go as well.
    void take_place(unsigned i, unsigned want) {
        const unsigned value = o->value;
        for (unsigned k = 0; k < 3; ++k) {
            const waits& w = waiting[k];
            const bool could_go = exactly ? value == w.want : value >= w.want;
            check(k == i || w.since == 0 || w.has_limit || !could_go ||
                      (waiting[i].since != 0 && waiting[i].since < w.since),
                  "a call was passed that could have gone");
        }
        waiting[i].since = 0;
        o->value = exactly ? value + 1 : value - want;
        ++run;
    }
    /// monitor_core::leave(), leave_and_serve() and look().
    void leave() {
        unsigned left = Row;
        const auto rest = o->calls.nobody() ? queue::rest{false, nullptr}
                                            : o->calls.serve(
                                                  [&](waiters::entry& e) {
                                                      auto& f = static_cast<frame&>(e);
                                                      if (!holds(f.want)) {
                                                          return queue::verdict::waits;
                                                      }
                                                      if (left == 0) {
                                                          --inside;
                                                          return queue::verdict::given;
                                                      }
                                                      --left;
                                                      take_place(f.caller, f.want);
                                                      return queue::verdict::served;
                                                  },
                                                  [](waiters::entry& e) { go_on(e); });
        if (!rest.is_given) {
            --inside;
            o->lock.unlock();
            if (rest.last != nullptr) {
                go_on(*rest.last);
            }
        }
    }
    void call(unsigned add) {
        o->lock.lock();
        entered();
        o->value = o->value + add;
        leave();
    }
    bool call_when(unsigned i, unsigned want, limit until = limit::none) {
        o->lock.lock();
        entered();
        if (holds(want)) {
            take_place(i, want);
            leave();
            return true;
        }
        auto& f = frames[i];
        f.make();
        f->caller = i;
        f->want = want;
        o->calls.enter(*f.get());
        waiting[i] = {++clock, want, until != limit::none};
        --inside;
        o->lock.unlock();
        if (until == limit::over && o->calls.list().withdraw(*f.get())) {
            f.end();
            waiting[i].since = 0;
            return false;
        }
        wait_in(o->calls.list(), *f.get(), until == limit::any_moment);
        const auto e = queue::ended(*f.get());
        f.end();
        if (e == queue::ending::given) {
            entered();
            check(holds(want), "a call was given the lock whose condition does not hold");
            take_place(i, want);
            leave();
        }
        waiting[i].since = 0;
        return e != queue::ending::over;
    }
    void finish(unsigned expected, unsigned value) {
        check(run == expected && inside == 0, "a call did not take place");
        check(o->calls.list().empty(), "somebody waits for ever");
        check(o->value == value, "what one call wrote was not seen by the next");
        o.end();
    }
};

/// Two wait for one each, and a third one brings them one after the other.
template <unsigned Row>
struct calls_one_each : calls_client<Row> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 2) {
            this->call(1);
            this->call(1);
        } else {
            check(this->call_when(i, 1), "a call was sent away");
        }
    }
    void finish() { calls_client<Row>::finish(2, 0); }
};

/// Each makes the next one possible, whatever the order in which they have come.
template <unsigned Row>
struct calls_chain : calls_client<Row> {
    static constexpr unsigned threads = 3;
    calls_chain() { this->exactly = true; }
    void thread(unsigned i) {
        if (i == 2) {
            this->call(1);
        } else {
            check(this->call_when(i, 2 - i), "a call was sent away");
        }
    }
    void finish() { calls_client<Row>::finish(2, 3); }
};

/// A call with a time limit beside one that waits without a limit.
template <unsigned Row>
struct calls_timed : calls_client<Row> {
    static constexpr unsigned threads = 3;
    unsigned served = 0; // of the checker itself
    void thread(unsigned i) {
        if (i == 2) {
            this->call(2);
        } else {
            const bool was = this->call_when(i, 1, i == 0 ? limit::any_moment : limit::none);
            check(was || i == 0, "a call was sent away");
            served += was ? 1 : 0;
        }
    }
    void finish() { calls_client<Row>::finish(served, 2 - served); }
};

/// A call's time is over, while others change the object and look at it. Its condition never holds.
struct calls_over : calls_client<1> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            check(!call_when(0, 9, limit::over), "a call took place whose condition does not hold");
        } else if (i == 1) {
            call(1);
        } else {
            check(call_when(2, 1), "a call was sent away");
        }
    }
    void finish() { calls_client<1>::finish(1, 0); }
};

/// A call that waited for the last change ends the object at once. The call that made the change may still be
/// on its way out.
template <unsigned Row>
struct calls_ended : calls_client<Row> {
    static constexpr unsigned threads = 3;
    bool gone = false; // of the checker itself
    void thread(unsigned i) {
        if (i == 0) {
            check(this->call_when(0, 2), "a call was sent away");
            this->o.end();
            gone = true;
        } else {
            this->call(1);
        }
    }
    void finish() { check(gone && this->inside == 0, "the object was not ended"); }
};

const registered<calls_one_each<0>> r1("calls_given", "two wait for one each, and are given the lock");
const registered<calls_one_each<1>> r2("calls_served", "two wait for one each, and are served");
const registered<calls_chain<0>> r3("calls_chain_given", "each makes the next one possible, by itself");
const registered<calls_chain<1>> r4("calls_chain_mixed", "each makes the next one possible, one in a row");
const registered<calls_chain<2>> r5("calls_chain", "each makes the next one possible, served by one");
const registered<calls_timed<0>> r6("calls_timed_given", "a time limit beside a call, given the lock");
const registered<calls_timed<2>> r7("calls_timed", "a time limit beside a call, served");
const registered<calls_over> r8("calls_over", "the time is over while others look");
const registered<calls_ended<0>> r9("calls_ended_given", "ends with its last call, which ran itself");
const registered<calls_ended<1>> r10("calls_ended", "ends with its last call, which was served");

} // namespace
