// One child, one waiter: the last to arrive resumes the waiting frame and frees it at once.
#include <pilfer/detail/task/completion.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::completion;
using pilfer::detail::thread_latch;

constexpr std::uintptr_t is_foreign = 2;

/// A join whose second branch was stolen: thread 0 is the parent's worker, thread 1 the thief.
struct stalled_join {
    static constexpr unsigned threads = 2;
    struct frame {
        stack on;
        plain<unsigned> result = 0;
        completion<atom> end;
    };
    box<frame> parent;

    stalled_join() { parent.make(); }

    void go_on() {
        parent->on.enter();
        check(parent->result == 7, "the waiter goes on without the result");
        parent->on.run();
        parent.end();
    }
    void thread(unsigned i) {
        if (i == 1) {
            parent->result = 7;
            const auto waiter = parent->end.complete();
            if (waiter != 0) {
                check(waiter == reinterpret_cast<std::uintptr_t>(parent.get()), "a strange waiter");
                go_on();
            }
            return;
        }
        parent->on.run();
        if (parent->end.is_done()) {
            go_on();
            return;
        }
        const auto self = reinterpret_cast<std::uintptr_t>(parent.get());
        // suspend_here() leaves the stack; publish() runs on the scheduler's, in after_switch().
        parent->on.leave();
        if (!parent->end.publish(self)) {
            go_on();
        }
    }
    void finish() { check(!parent.alive(), "the waiter was left behind"); }
};

/// pool::run: the waiter is a thread outside the pool, and everything is in its frame.
struct foreign_join {
    static constexpr unsigned threads = 3;
    struct frame {
        plain<unsigned> result = 0;
        completion<atom> end;
    };
    struct waiter {
        stack on;
        thread_latch<atom> latch;
    };
    box<frame> call[2];
    box<waiter> blocked;

    foreign_join() {
        call[0].make();
        call[1].make();
    }
    /// wait_for() on a thread that is no worker, twice. The word of the second wait has the address of the
    /// first one.
    void thread(unsigned i) {
        if (i != 0) {
            auto& c = call[i - 1];
            c->result = 7;
            const auto who = c->end.complete();
            if ((who & is_foreign) != 0) {
                reinterpret_cast<thread_latch<atom>*>(who & ~is_foreign)->release<park>();
            }
            return;
        }
        for (auto& c : call) {
            blocked.make();
            blocked->on.run();
            if (c->end.publish(reinterpret_cast<std::uintptr_t>(&blocked->latch) | is_foreign)) {
                blocked->latch.wait<park>();
            }
            blocked->on.run();
            blocked.end();
            check(c->result == 7, "the waiter goes on without the result");
            c.end();
        }
    }
    void finish() { check(!call[0].alive() && !call[1].alive(), "the waiter was left behind"); }
};

const registered<stalled_join> r1("handover_join", "a suspended frame against the end of its child");
const registered<foreign_join> r2("handover_foreign", "a foreign thread against the end of its task, twice");

} // namespace
