// A mutex: it has one holder, and no waiter is forgotten. A waiter that was overtaken too often gets it
// directly. Its last user ends it.
#include <pilfer/detail/sync/mutex_protocol.hpp>

#include "waiting.hpp"

namespace {

using namespace model;

template <unsigned Patience>
struct mutex_client {
    using protocol = pilfer::detail::mutex_protocol<hasty_atom, park, Patience>;
    using step = typename protocol::step;

    box<protocol> mutex;
    box<waiters::entry> frames[3];
    plain<unsigned> guarded = 0;
    // Of the checker itself.
    unsigned inside = 0;
    unsigned taken = 0; // how often it was locked
    unsigned most_passed = 0;

    mutex_client() { mutex.make(); }

    void entered() {
        check(++inside == 1, "two hold the mutex");
        ++taken;
        guarded = guarded + 1;
    }
    /// mutex::lock() and lock_slow().
    bool lock(unsigned i, bool timed) {
        if (mutex->lock_fast()) {
            entered();
            return true;
        }
        auto& e = frames[i];
        e.make();
        step s = mutex->enter(*e.get());
        const unsigned before = taken;
        bool waited = false;
        while (s == step::wait) {
            waited = true;
            wait_in(mutex->waiting(), *e.get(), timed);
            s = mutex->look(*e.get(), [timed] { return timed && here().choose(2) != 0; });
        }
        e.end();
        if (s == step::owned) {
            if (waited && taken - before > most_passed) {
                most_passed = taken - before;
            }
            entered();
        }
        return s == step::owned;
    }
    bool try_lock() {
        if (!mutex->try_lock()) {
            return false;
        }
        entered();
        return true;
    }
    void leave() {
        guarded = guarded + 1;
        --inside;
    }
    void unlock() {
        leave();
        if (!mutex->unlock_fast()) {
            if (auto* next = mutex->unlock_slow()) {
                go_on(*next);
            }
        }
    }
    void finish(unsigned expected) {
        check(taken == expected && inside == 0, "somebody did not get the mutex");
        check(mutex->at_rest(), "the mutex does not come to rest");
        check(guarded == 2 * expected, "what one holder wrote was not seen by the next");
        mutex.end();
    }
};

/// Three lock, and hand over at once or after one pass.
template <unsigned Patience>
struct mutex_lockers : mutex_client<Patience> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        this->lock(i, false);
        this->unlock();
    }
    void finish() { mutex_client<Patience>::finish(3); }
};

/// One locks again and again; the other must get it in between.
struct mutex_fair : mutex_client<2> {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        for (unsigned round = 0; round < (i == 0 ? 5 : 1); ++round) {
            lock(i, false);
            unlock();
        }
    }
    void finish() {
        check(most_passed <= 2, "a waiter was passed over too often");
        mutex_client<2>::finish(6);
    }
};

/// A waiter with a time limit, one that only tries, and one that waits without a limit.
struct mutex_timed : mutex_client<1> {
    static constexpr unsigned threads = 3;
    unsigned wanted = 0; // of the checker itself
    void thread(unsigned i) {
        const bool got = i == 0 ? lock(i, true) : (i == 1 ? try_lock() : lock(i, false));
        if (got) {
            ++wanted;
            unlock();
        }
    }
    void finish() { mutex_client<1>::finish(wanted); }
};

/// The last user ends it as soon as it has unlocked: the others may still be on their way out.
struct mutex_ended : mutex_client<1> {
    static constexpr unsigned threads = 3;
    plain<unsigned> users = 3;
    bool gone = false; // of the checker itself
    void thread(unsigned i) {
        if (!lock(i, i == 0)) {
            lock(i, false);
        }
        users = users - 1;
        const bool last = users == 0;
        unlock();
        if (last) {
            mutex.end();
            gone = true;
        }
    }
    void finish() { check(gone && inside == 0 && taken == 3, "the mutex was not ended"); }
};

const registered<mutex_lockers<1>> r1("mutex_handed_over", "three lockers, handed over from the first on");
const registered<mutex_lockers<2>> r2("mutex_passed_over", "three lockers, one may pass");
const registered<mutex_fair> r3("mutex_fair",
                                "one locks five times, the other one waits no longer than for two");
const registered<mutex_timed> r4("mutex_timed", "a time limit, a try and a locker");
const registered<mutex_ended> r5("mutex_ended", "the last user ends it, a time limit among them");

} // namespace
