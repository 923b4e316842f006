// A future's life: one claim or one write, waiters that suspend, block, listen or leave in time, the last
// reference ends it.
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/future/future_protocol.hpp>
#include <pilfer/detail/task/completion.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::future_protocol;
using pilfer::detail::future_waiters;
using pilfer::detail::submission_queue;
using pilfer::detail::thread_latch;
using pilfer::detail::waiters_cell;

using life_type = future_protocol<atom>;
constexpr std::uintptr_t is_listener = 1;
constexpr std::uintptr_t is_foreign = 2;

/// The state of the handles. The thread that releases the last reference destroys it.
struct task : submission_queue<atom>::node {
    task() = default;
    task(life_type::stage first, std::uint32_t references) : life(first, references) {}
    life_type life;
    plain<unsigned> function = 3;
    plain<unsigned> result = 0;
};
/// A frame on a worker that suspends in get().
struct getter : submission_queue<atom>::node {
    stack on;
    life_type::waiter entry;
};
struct foreign_getter {
    thread_latch<atom> latch;
    life_type::waiter entry;
};

struct future_client {
    box<task> state;
    submission_queue<atom> announced;
    submission_queue<atom> runnable; // contexts that were released
    box<getter> frames[3];
    box<foreign_getter> blocked;
    unsigned claims = 0; // of the checker itself, as the rest
    unsigned ends = 0;
    unsigned got = 0;
    unsigned suspended = 0;

    void release() {
        if (state->life.release()) {
            // The destructor looks at the stage and ends the result.
            if (state->life.is_done()) {
                state->result = 0;
            }
            ++ends;
            state.end();
        }
    }
    void run_claimed() {
        check(++claims == 1, "a task is claimed twice");
        check(state->function == 3, "a task without what was written for it");
        state->result = 7;
        state->function = 0; // the function dies with its execution
        state->life.finish([this](std::uintptr_t who) {
            if ((who & is_foreign) != 0) {
                reinterpret_cast<thread_latch<atom>*>(who & ~is_foreign)->release<park>();
            } else {
                runnable.push(reinterpret_cast<getter*>(who));
            }
        });
    }
    /// future_core::run_task().
    void run_task() {
        if (state->life.claim()) {
            run_claimed();
        }
        release();
    }
    /// The part of get() after wait(): reads the result, and releases its handle.
    void read() {
        (void)state->life.is_done();
        check(state->result == 7, "a waiter goes on without the result");
        check(state->function == 0, "the function outlives its task");
        ++got;
        release();
    }
    /// get() on a worker. `may_claim`: of the task's own pool.
    void get(unsigned frame, bool may_claim) {
        if (state->life.is_done()) {
            read();
            return;
        }
        if (may_claim && state->life.claim()) {
            run_claimed();
            read();
            return;
        }
        auto& f = frames[frame];
        f.make();
        f->entry.who = reinterpret_cast<std::uintptr_t>(f.get());
        f->on.leave();
        ++suspended;
        // On the scheduler's stack.
        if (!state->life.add_waiter(f->entry)) {
            go_on(f.get());
        }
    }
    void go_on(getter* g) {
        --suspended;
        g->on.enter();
        read();
        for (auto& f : frames) {
            if (f.get() == g) {
                f.end();
            }
        }
    }
    void get_foreign() {
        if (!state->life.is_done()) {
            blocked.make();
            blocked->entry.who = reinterpret_cast<std::uintptr_t>(&blocked->latch) | is_foreign;
            if (state->life.add_waiter(blocked->entry)) {
                blocked->latch.wait<park>();
            }
            blocked.end();
        }
        read();
    }
    /// A worker without work: resumes the released frames, until none is suspended any more.
    void serve() {
        while (suspended != 0) {
            if (auto* n = runnable.pop()) {
                go_on(static_cast<getter*>(n));
            } else if (suspended != 0) {
                here().relax();
            }
        }
    }
    void finish(unsigned expected) {
        check(claims <= 1 && ends == 1 && !state.alive(), "the task was not ended once");
        check(got == expected && suspended == 0, "a waiter was left behind");
    }
};

/// The announcement is run by one worker, two others and a foreign thread wait, all in one.
template <bool MayClaim>
struct waited_for : future_client {
    static constexpr unsigned threads = 4;
    waited_for() {
        state.make();
        state->life.retain();
        state->life.retain();
    }
    void thread(unsigned i) {
        switch (i) {
        case 0:
            run_task();
            serve();
            break;
        case 1:
            get_foreign();
            break;
        default:
            get(i - 2, MayClaim);
            serve();
        }
    }
    void finish() { future_client::finish(3); }
};

/// Made by a worker, announced in a queue; the handle is copied, handed on and dropped.
struct handed_on : future_client {
    static constexpr unsigned threads = 3;
    model::atomic<unsigned> handed{0};
    void thread(unsigned i) {
        if (i == 0) {
            task* t = state.make();
            announced.push(t);
            state->life.retain();
            handed.store(1, std::memory_order_release);
            if (here().choose(2) != 0) {
                get(0, true);
            } else {
                ++got;
                release(); // dropped without a look
            }
            serve();
        } else if (i == 1) {
            for (;;) {
                if (auto* n = announced.pop()) {
                    check(n == state.get(), "a strange task");
                    run_task();
                    break;
                }
                here().relax();
            }
            serve();
        } else {
            while (handed.load(std::memory_order_acquire) == 0) {
                here().relax();
            }
            get_foreign();
        }
    }
    void finish() {
        check(claims == 1, "the task was never run");
        future_client::finish(2);
    }
};

/// Only references: three drop theirs, each of the others having read.
struct dropped : future_client {
    static constexpr unsigned threads = 3;
    dropped() {
        state.make();
        state->life.retain();
    }
    void thread(unsigned i) {
        if (i == 0) {
            run_task();
            return;
        }
        state->life.retain();
        if (state->life.is_done()) {
            check(state->result == 7, "done without the result");
        }
        release();
        release();
    }
    void finish() { future_client::finish(0); }
};

/// A promise in the frame of a task that waits for it. Two others set it; one of them writes. The frame ends
/// together with the promise's reference, while the writer may still be using it.
struct promised : future_client {
    static constexpr unsigned threads = 4;
    // A handle of each, the setters' too: the promise itself is used no more once one has begun.
    promised() { state.make(life_type::pending, 4U); }
    void set() {
        if (state->life.begin()) {
            run_claimed();
        }
        release();
    }
    void thread(unsigned i) {
        switch (i) {
        case 0:
        case 1:
            set();
            break;
        case 2:
            get_foreign();
            break;
        default:
            get(0, true);
            serve();
        }
    }
    void finish() {
        check(claims == 1, "a promise was not written once");
        future_client::finish(2);
    }
};

/// A task that follows another future. It is attached while that future's task ends, and announced by the
/// thread that finds both. It runs from the queue, or a waiting thread claims it.
struct followed {
    static constexpr unsigned threads = 4;
    struct follower : submission_queue<atom>::node {
        life_type life{life_type::pending, 2};
        life_type::waiter told;
        plain<unsigned> function = 0;
    };
    life_type source;
    plain<unsigned> value = 0;
    box<follower> task;
    submission_queue<atom> announced;
    unsigned runs = 0; // of the checker itself, as the rest
    bool queued = false;

    void fire() {
        task->life.enqueue();
        queued = true;
        announced.push(task.get());
    }
    void run() {
        check(++runs == 1, "a task behind another ran twice");
        check(task->function == 5, "a task without its function");
        check(value == 9, "a task ran before what it waited for");
        task->life.finish([](std::uintptr_t) { check(false, "nobody waits"); });
    }
    void release() {
        if (task->life.release()) {
            task.end();
        }
    }
    followed() { task.make(); }
    void thread(unsigned i) {
        switch (i) {
        case 0: // ends the source
            if (source.claim()) {
                value = 9;
                source.finish([this](std::uintptr_t who) {
                    check(who == is_listener, "a strange waiter");
                    fire();
                });
            }
            break;
        case 1: // then()
            task->function = 5;
            task->told.who = is_listener;
            if (!source.add_waiter(task->told)) {
                fire();
            }
            break;
        case 2: // a worker
            for (;;) {
                if (auto* n = announced.pop()) {
                    check(n == task.get(), "a strange task");
                    if (task->life.claim()) {
                        run();
                    }
                    release();
                    break;
                }
                here().relax();
            }
            break;
        default: // get() in the same pool, by a task that was given the handle; otherwise it would suspend
            if (task->life.claim()) {
                run();
            }
            release();
        }
    }
    void finish() { check(runs == 1 && queued && !task.alive(), "the task behind did not run"); }
};

/// Two that wait for a limited time make the room while the task ends; the last of the three ends all.
struct timed {
    static constexpr unsigned threads = 3;
    using room_type = future_waiters<atom, park>;
    struct told_room {
        life_type::waiter told;
        room_type room;
    };
    struct future {
        life_type life{life_type::queued, 3};
        plain<unsigned> result = 0;
        waiters_cell<atom, told_room> place;
    };
    struct waiting {
        thread_latch<atom> latch;
        room_type::entry entry;
    };
    box<future> state;
    box<told_room> rooms[2];
    box<waiting> frames[2];
    unsigned ready = 0; // of the checker itself, as the rest
    unsigned late = 0;

    timed() { state.make(); }
    void release() {
        if (state->life.release()) {
            auto* const there = state->place.look();
            for (auto& r : rooms) {
                if (there != nullptr && r.get() == there) {
                    r.end();
                }
            }
            state.end();
        }
    }
    static void fire(told_room& r) {
        for (auto* e = r.room.close(); e != nullptr;) {
            auto* const next = static_cast<room_type::entry*>(e->next);
            const auto who = e->done.complete();
            if (who != 0) {
                reinterpret_cast<thread_latch<atom>*>(who)->release<park>();
            }
            e = next;
        }
    }
    told_room& room(unsigned i) {
        told_room* there = state->place.look();
        if (there == nullptr) {
            told_room* const mine = rooms[i].make();
            there = state->place.put(mine);
            if (there == nullptr) {
                there = mine;
                mine->told.who = reinterpret_cast<std::uintptr_t>(mine) | is_listener;
                if (!state->life.add_waiter(mine->told)) {
                    fire(*mine);
                }
            } else {
                rooms[i].end();
            }
        }
        return *there;
    }
    /// future_core::wait_until() of a thread.
    void wait(unsigned i) {
        bool seen = state->life.is_done();
        if (!seen) {
            auto& r = room(i).room;
            auto* const f = frames[i].make();
            bool withdrawn = false;
            if (r.enter(f->entry)) {
                if (f->entry.done.publish(reinterpret_cast<std::uintptr_t>(&f->latch))) {
                    withdrawn = here().choose(2) != 0 && r.waiters().withdraw(f->entry); // its time is over
                    if (!withdrawn) {
                        f->latch.wait<park>();
                    }
                }
                check((f->entry.end == room_type::list::fate::withdrawn) == withdrawn, "two ended one wait");
            }
            frames[i].end();
            seen = state->life.is_done();
            check(seen || withdrawn, "a wait ended by nothing");
        }
        if (seen) {
            check(state->result == 7, "ready without the result");
            ++ready;
        } else {
            ++late;
        }
        release();
    }
    void thread(unsigned i) {
        if (i != 0) {
            wait(i - 1);
            return;
        }
        if (state->life.claim()) {
            state->result = 7;
            state->life.finish([](std::uintptr_t who) {
                check((who & is_listener) != 0, "a strange waiter");
                fire(*reinterpret_cast<told_room*>(who & ~is_listener));
            });
        }
        release();
    }
    void finish() {
        check(ready + late == 2 && !state.alive(), "a wait did not end");
        check(!rooms[0].alive() && !rooms[1].alive(), "a room was left");
    }
};

const registered<waited_for<true>> r1("future_claim",
                                      "workers that may claim, a foreign thread, the scheduler");
const registered<waited_for<false>> r2("future_wait", "workers of another pool and a foreign thread wait");
const registered<handed_on> r3("future_handed_on", "made, announced, handed on, got or dropped");
const registered<dropped> r4("future_drop", "the last reference ends it");
const registered<promised> r5("future_promise", "two set it, the frame that waits ends with it");
const registered<followed> r6("future_then", "a task is attached while what it waits for ends");
const registered<timed> r7("future_waiters", "two wait for a limited time, one makes the room");

} // namespace
