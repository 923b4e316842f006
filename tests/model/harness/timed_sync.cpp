// A scope's wait with a time limit: the last child and the end of the time, then a wait without one.
#include <pilfer/detail/scope/timed_sync.hpp>

#include "waiting.hpp"

namespace {

using namespace model;
using parent_wait = pilfer::detail::timed_parent<hasty_atom, park>;

/// Children on other threads; the parent waits again and again with a time limit that may be over at any
/// moment.
template <unsigned Children, bool Below>
struct timed_scope {
    static constexpr unsigned threads = Children + 1;
    static constexpr unsigned all = Children + (Below ? 1 : 0);
    struct frame {
        pilfer::detail::child_counter<hasty_atom> children;
        plain<std::uintptr_t> waiter = 0;
        plain<unsigned> result[all];
    };
    box<frame> scope;
    box<parent_wait> waits[3];
    model::atomic<unsigned> begun{0};

    timed_scope() { scope.make(); }

    void child_ended() {
        if (!scope->children.finish_one()) {
            return;
        }
        const std::uintptr_t who = scope->waiter;
        if (auto* e = reinterpret_cast<parent_wait*>(who)->last_has_ended()) {
            go_on(*e);
        }
    }
    /// scope::wait_until().
    [[nodiscard]] bool sync_for(unsigned round, bool timed) {
        if (scope->children.all_done()) {
            return true;
        }
        auto& w = waits[round];
        w.make();
        scope->waiter = reinterpret_cast<std::uintptr_t>(w.get());
        bool ended = true;
        if (scope->children.publish()) {
            wait_in(w->list(), w->place(), timed);
            ended = w->all_ended(scope->children);
        }
        w.end();
        return ended;
    }
    void thread(unsigned i) {
        if (i != 0) {
            while (begun.load(pilfer::detail::acq) == 0) {
                here().relax();
            }
            if (Below && i == 1) {
                scope->children.announce_from_below();
                scope->result[Children] = Children + 1;
                child_ended();
            }
            scope->result[i - 1] = i;
            child_ended();
            return;
        }
        for (unsigned k = 0; k < Children; ++k) {
            scope->children.add();
        }
        begun.store(1, pilfer::detail::rel);
        if (!sync_for(0, true) && !sync_for(1, true)) {
            check(sync_for(2, false), "a wait without a limit was given up");
        }
        scope->children.reset();
        for (unsigned k = 0; k < all; ++k) {
            check(scope->result[k] == k + 1, "sync ends before a child has");
        }
        scope.end();
    }
    void finish() { check(!scope.alive(), "the frame was left behind"); }
};

const registered<timed_scope<1, false>> r1("timed_sync", "one child, and a time that may be over");
const registered<timed_scope<2, false>> r2("timed_sync_two", "two children");
const registered<timed_scope<1, true>> r3("timed_sync_below",
                                          "a child that announces another one from below");

} // namespace
