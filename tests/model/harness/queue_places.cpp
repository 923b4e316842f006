// A bounded queue: never more inside than its bound, and no waiter is forgotten, also not by a close.
#include "pool/queue_places.hpp"

#include "waiting.hpp"

namespace {

using namespace model;
using places = pilfer::detail::queue_places<hasty_atom, park>;

/// Submitters of a queue, which is a count here, and the workers that take from it.
struct places_client {
    explicit places_client(unsigned capacity) : room(capacity), bound(capacity) {}
    places room;
    box<waiters::entry> frames[4];
    unsigned bound;
    // Of the checker itself.
    unsigned queued = 0;
    unsigned beyond = 0; // that did not ask
    unsigned accepted = 0;
    unsigned ran = 0;
    unsigned sent_away = 0;

    void put() {
        ++accepted;
        ++queued;
        check(queued <= bound + beyond, "more is queued than there is room for");
    }
    /// submission_gate::accept_bounded().
    void submit(unsigned i) {
        if (room.try_take()) {
            put();
            return;
        }
        auto& e = frames[i];
        e.make();
        auto got = room.enter(*e.get());
        bool mine = got == places::step::taken;
        if (got == places::step::wait) {
            wait_in(room.waiting(), *e.get(), false);
            mine = e->wants == places::given;
        }
        e.end();
        if (mine) {
            put();
        } else {
            ++sent_away;
        }
    }
    void submit_anyway() {
        ++beyond;
        room.take_anyway();
        put();
    }
    void give_back() {
        if (auto* e = room.give_back()) {
            e->wants = places::given;
            go_on(*e);
        }
    }
    /// A worker, until `all` have run or were refused.
    void work(unsigned all) {
        while (ran + sent_away < all) {
            if (queued == 0) {
                here().relax();
                continue;
            }
            --queued;
            ++ran;
            give_back();
        }
    }
    void close() {
        for (auto* e = room.close(); e != nullptr;) {
            auto* const next = static_cast<waiters::entry*>(e->next);
            go_on(*e);
            e = next;
        }
        room.waiting().lock();
        check(room.waiting().empty(), "somebody waits though it is closed");
        room.waiting().unlock();
    }
    void finish() {
        check(room.waiting().empty(), "somebody waits for ever");
        check(room.taken() == 0, "a place was lost");
        check(ran == accepted, "not everything has run");
    }
};

/// Two submitters of two each, one place, a worker.
struct places_full : places_client {
    static constexpr unsigned threads = 3;
    places_full() : places_client(1) {}
    void thread(unsigned i) {
        if (i == 0) {
            work(4);
            return;
        }
        submit(i);
        submit(i);
    }
};

/// One of them does not ask.
struct places_beyond : places_client {
    static constexpr unsigned threads = 3;
    places_beyond() : places_client(1) {}
    void thread(unsigned i) {
        if (i == 0) {
            work(4);
        } else if (i == 1) {
            submit(i);
            submit(i);
        } else {
            submit_anyway();
            submit_anyway();
        }
    }
};

/// Closed during submissions; the worker also closes.
struct places_closed : places_client {
    static constexpr unsigned threads = 3;
    places_closed() : places_client(1) {}
    void thread(unsigned i) {
        if (i == 0) {
            close();
            work(3);
            return;
        }
        submit(i);
        if (i == 1) {
            submit(i);
        }
    }
};

const registered<places_full> r1("places_full", "two submitters, one place, a worker");
const registered<places_beyond> r2("places_beyond", "one submitter asks, one does not");
const registered<places_closed> r3("places_closed", "closed beside two submitters");

} // namespace
