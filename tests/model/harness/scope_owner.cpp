// Whose a scope is, while its owner takes and gives locks and tasks below ask.
#include "../harness.hpp"

#include <pilfer/detail/scope/scope_owner.hpp>

#include "../atom.hpp"
#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::acq;
using pilfer::detail::rel;
using pilfer::detail::rlx;

struct standing {
    model::atomic<const char*> innermost{nullptr};
};
struct activation : standing {};
using scope_owner = pilfer::detail::scope_owner<atom, standing, activation>;

/// The owner takes locks and gives them back, in its scope that is there already, and offers its rest in
/// between; whoever takes that goes on with it and does the same. `Below` tasks ask whose it is meanwhile.
template <unsigned Below>
struct diversion {
    static constexpr unsigned threads = 2 + Below;
    activation owner;
    box<scope_owner> scope;
    model::atomic<unsigned> offered{0};
    model::atomic<unsigned> ended{0};

    diversion() { scope.make(&owner); }

    void under_lock(bool once) {
        scope->divert(&owner, once);
        for (bool again : {true, false}) {
            check(!scope->is(&owner) && scope->word() != &owner, "the owner goes the short way under a lock");
            check(scope->word()->innermost.load(rlx) == nullptr, "the end of a scope takes the short way");
            check(scope->is_diverted() && scope->get() == &owner, "the owner does not find itself");
            scope->end_diversion();
            check(scope->is(&owner) && scope->word() == &owner, "the owner goes the long way without a lock");
            if (again) {
                scope->divert_again(); // as behind a spawn
            }
        }
    }
    void thread(unsigned i) {
        if (i == 0) {
            under_lock(true);
            offered.store(1, rel);
            return;
        }
        if (i == 1) {
            while (offered.load(acq) == 0) {
                here().relax();
            }
            check(scope->of_offered() == &owner, "the rest is not the owner's");
            under_lock(false);
            while (ended.load(acq) != Below) {
                here().relax();
            }
            scope.end();
            return;
        }
        check(scope->get() == &owner, "somebody else's scope");
        ended.fetch_add(1, rel);
    }
    void finish() {}
};

/// The owner goes on as somebody else before there are children, as a coroutine does, and takes a lock again.
struct diversion_handed_on {
    static constexpr unsigned threads = 2;
    activation first;
    activation next;
    box<scope_owner> scope;
    bool was_diverted = false; // of the owner's, as in scope_head
    model::atomic<unsigned> announced{0};
    model::atomic<unsigned> ended{0};

    diversion_handed_on() { scope.make(&first); }

    void lock(activation& owner) {
        scope->divert(&owner, !was_diverted);
        was_diverted = true;
    }
    void hand_to(activation& owner) { // as scope_access::hand_to()
        scope->hand_to(&owner);
        was_diverted = false;
    }
    void thread(unsigned i) {
        if (i == 1) {
            while (announced.load(acq) == 0) {
                here().relax();
            }
            check(scope->get() == &next, "the scope of a task that has ended");
            ended.store(1, rel);
            return;
        }
        lock(first);
        scope->end_diversion();
        hand_to(next);
        check(scope->is(&next), "whoever goes on is no owner");
        announced.store(1, rel);
        lock(next);
        check(scope->get() == &next, "the owner does not find itself");
        scope->end_diversion();
        check(scope->is(&next), "the end of a diversion brings a task back that has ended");
        while (ended.load(acq) == 0) {
            here().relax();
        }
        scope.end();
    }
    void finish() {}
};

const registered<diversion<1>> r1("diversion_one",
                                  "a task asks whose a scope is while its owner takes a lock");
const registered<diversion<2>> r2("diversion_two", "two tasks ask");
const registered<diversion_handed_on> r3("diversion_handed_on",
                                         "a coroutine goes on as another task between two locks");

} // namespace
