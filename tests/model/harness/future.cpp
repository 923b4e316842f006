// A future's life: one claim, waiters that suspend or block, the last reference ends it.
#include <pilfer/detail/future_protocol.hpp>
#include <pilfer/detail/handover.hpp>
#include <pilfer/detail/submissions.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::future_protocol;
using pilfer::detail::submission_queue;
using pilfer::detail::thread_latch;

using life_type = future_protocol<atom>;
constexpr std::uintptr_t is_foreign = 2;

/// The state behind the handles. It is destroyed by whoever gives the last reference back.
struct task : submission_queue<atom>::node {
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
    /// What get() does behind wait(): reads, and gives its handle back.
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
    /// A worker without work: goes on with what was released, until nobody is suspended any more.
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

const registered<waited_for<true>> r1("future_claim",
                                      "workers that may claim, a foreign thread, the scheduler");
const registered<waited_for<false>> r2("future_wait", "workers of another pool and a foreign thread wait");
const registered<handed_on> r3("future_handed_on", "made, announced, handed on, got or dropped");
const registered<dropped> r4("future_drop", "the last reference ends it");

} // namespace
