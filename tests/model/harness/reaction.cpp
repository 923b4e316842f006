// A function that waits without a stack: each round is brought further by exactly one.
#include <pilfer/detail/sync/repeated_wait.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using wait_type = pilfer::detail::repeated_wait<atom, park>;
using list_type = wait_type::list_type;
constexpr std::uintptr_t its_word = 4;
constexpr auto not_alone = [] { return false; }; // no child of fork()

struct reaction_client {
    box<list_type> list;
    box<wait_type> wait;
    // Written by the thread that has the turn, and by the one that ends it afterwards.
    plain<unsigned> frame = 0;
    plain<unsigned> list_ended = 0; // Written by the thread that ends the list, read by its users.
    unsigned turns = 0;             // Of the checker itself, as the rest.
    unsigned ended = 0;

    reaction_client() {
        list.make();
        wait.make();
    }
    /// reaction::start()
    void begin() { check(wait->begin_round(), "it was cancelled before it began"); }

    /// reaction::next() of a pool that is closed.
    void turn() {
        const auto t = wait->take_turn();
        if (t == wait_type::turn::nothing) {
            return;
        }
        frame = frame + 1;
        ++turns;
        wait->refuse();
    }
    void enter() {
        list->lock();
        list->add(wait->entry);
        list->unlock();
        if (!wait->settle(*list.get(), its_word)) {
            turn();
        }
    }
    void notify() {
        list->lock();
        auto* const e = list->first();
        if (e != nullptr) {
            list->take(*e);
        }
        list->unlock();
        if (e != nullptr && e->done.complete() == its_word) {
            turn();
        }
    }
    auto where() {
        return [this]() -> list_type& {
            check(list.alive() && list_ended == 0, "a canceller looks into a list that is gone");
            return *list.get();
        };
    }
};

/// The wait enters the list, another thread notifies, the end of the pool takes it. All of it ends.
struct swept : reaction_client {
    static constexpr unsigned threads = 3;
    swept() { begin(); }
    void thread(unsigned i) {
        if (i == 0) {
            enter();
        } else if (i == 1) {
            notify();
        } else {
            check(wait->sweep(where()), "nobody cancels it");
            frame = frame + 1;
            wait.end();
            ++ended;
        }
    }
    void finish() { check(ended == 1 && turns <= 1, "it does not end once"); }
};

/// The wait is in the list already, and a third thread cancels it, too. The thread that gets the last turn
/// ends it.
template <bool Waits>
struct cancelled : reaction_client {
    static constexpr unsigned threads = 4;
    pilfer::detail::raw_lock<atom, park, 0> pool;
    plain<bool> removed{false};
    cancelled() {
        begin();
        if (Waits) {
            enter();
        }
    }
    void thread(unsigned i) {
        switch (i) {
        case 0:
            if (!Waits) {
                enter();
            }
            break;
        case 1:
            notify();
            break;
        case 2:
            if (wait->cancel(where(), not_alone) == wait_type::canceller::self) {
                pool.lock();
                removed = true;
                pool.unlock();
                frame = frame + 1;
                ++ended;
                wait->finish();
            }
            break;
        default:
            sweep();
        }
    }
    void sweep() {
        for (unsigned round = 0;; ++round) {
            pool.lock();
            const bool gone = removed;
            const bool mine = !gone && wait->sweep(where());
            pool.unlock();
            if (mine) {
                frame = frame + 1;
                ++ended;
                wait->finish();
            }
            if (gone || mine) {
                return;
            }
            atom::relax(round);
        }
    }
    void finish() { check(ended == 1 && turns <= 1 && wait->is_over(), "it does not end once"); }
};

/// It runs, and will wait once more. One thread cancels it, another notifies. The one that sees the end of
/// the wait ends what it used.
struct between_rounds : reaction_client {
    static constexpr unsigned threads = 4;
    atom::atomic<std::uint32_t> notified{0}; // the notified object must not end meanwhile
    void over() {
        wait->await_canceller(); // reaction::end()
        frame = frame + 1;
        ++ended;
        wait->finish();
    }
    void thread(unsigned i) {
        switch (i) {
        case 0:
            frame = frame + 1;
            if (!wait->begin_round()) {
                over();
                break;
            }
            list->lock();
            list->add(wait->entry);
            list->unlock();
            if (!wait->settle(*list.get(), its_word)) {
                run();
            }
            break;
        case 1: {
            list->lock();
            auto* const e = list->first();
            if (e != nullptr) {
                list->take(*e);
            }
            list->unlock();
            notified.store(1, pilfer::detail::rel);
            if (e != nullptr && e->done.complete() == its_word) {
                run();
            }
            break;
        }
        case 2:
            if (wait->cancel(where(), not_alone) == wait_type::canceller::self) {
                over();
            }
            break;
        default:
            for (unsigned round = 0; !wait->is_over() || notified.load(pilfer::detail::acq) == 0; ++round) {
                atom::relax(round);
            }
            frame = frame + 1;
            list_ended = 1;
            list.end();
        }
    }
    /// As a task: the last round, unless it is cancelled before.
    void run() {
        check(wait->take_turn() != wait_type::turn::nothing, "its pool has not ended");
        (void)wait->is_stopping();
        over();
    }
    void finish() { check(ended == 1, "it does not end once"); }
};

const registered<between_rounds> r4("reaction_between_rounds",
                                    "cancelled and notified from one round to the next");
const registered<swept> r1("reaction_swept", "entered, notified, and taken by the end of its pool");
const registered<cancelled<true>> r2("reaction_cancelled", "it waits: notified, cancelled and swept");
const registered<cancelled<false>> r3("reaction_cancelled_entering", "the same while it enters");

} // namespace
