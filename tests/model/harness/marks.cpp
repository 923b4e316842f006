// The mark of a scope that others may reach: set, with those of all enclosing scopes, before the task can be
// stolen; and no look at a scope that may be gone.
#include <pilfer/detail/context/scope_node.hpp>
#include <pilfer/detail/deque/deque.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::acq;
using pilfer::detail::rel;
using pilfer::detail::ring;
using pilfer::detail::rlx;
using pilfer::detail::split_deque;
using pilfer::detail::steal_status;
using pilfer::detail::task_word;
using link = pilfer::detail::basic_scope_node<atom>;

/// A scope in its owner's frame. Other threads end its children.
struct scope {
    explicit scope(link* above) : place(above) {}
    link place;
    model::atomic<unsigned> ended{0};
};

/// The task of an entry: plain memory of its announcer, like a record or a spark.
struct task {
    explicit task(link* s) : parent(s) {}
    plain<link*> parent;
};

struct worker {
    ring<atom>::slot slots[4];
    ring<atom> first{3, nullptr, slots};
    split_deque<atom> deque{&first, false};

    [[nodiscard]] bool dequeue(task_word entry) {
        using owner = split_deque<atom>::owner_end;
        const auto got = deque.owner().pop_if(entry);
        return got == owner::popped::taken ||
               (got == owner::popped::slow && deque.owner().pop_slow(1) == entry);
    }
    [[nodiscard]] task_word steal() {
        const auto got = deque.thief().steal([](task_word) { return true; });
        return got.status == steal_status::success ? got.task : 0;
    }
};

[[nodiscard]] task_word entry_of(box<task>& t) { return reinterpret_cast<task_word>(t.get()); }

/// scope_marker::mark_task().
const auto marking = [](task_word entry) {
    check(entry != 0, "a reach looks at a slot that nobody wrote");
    link::share(reinterpret_cast<task*>(entry)->parent);
};

/// Two nested scopes. The owner announces a task in the inner one, reclaims and runs it, and ends the inner
/// scope. Then it begins another scope without tasks, and repeats all of this. Meanwhile one thread reaches,
/// and both steal.
template <unsigned Threads, unsigned Rounds, bool Exposing>
struct reached {
    static constexpr unsigned threads = Threads;
    worker owner;
    box<scope> outer;
    box<scope> inner[Rounds];
    box<scope> newer[Rounds];
    box<task> tasks[Rounds];
    unsigned ran = 0; // of the checker itself

    void thread(unsigned i) {
        if (i != 0) {
            thief();
            return;
        }
        outer.make(nullptr);
        bool gone = false;
        for (unsigned k = 0; k < Rounds; ++k) {
            box<scope>& s = inner[k];
            s.make(&outer->place);
            tasks[k].make(&s->place);
            (void)owner.deque.owner().push(entry_of(tasks[k]));
            if (Exposing) {
                (void)owner.deque.owner().expose(1, marking);
            }
            newer[k].make(&s->place);
            check(!newer[k]->place.shared(), "a scope is marked that no task is in");
            newer[k].end();
            if (owner.dequeue(entry_of(tasks[k]))) {
                ++ran;
            } else {
                while (s->ended.load(acq) == 0) {
                    here().relax();
                }
                check(s->place.shared(), "a child ran elsewhere, its scope is not marked");
                gone = true;
            }
            check(!gone || outer->place.shared(), "the enclosing scope is not marked");
            tasks[k].end();
            s.end();
        }
        outer.end();
    }
    void thief() {
        for (unsigned tries = 0; tries < Rounds; ++tries) {
            if (!Exposing) {
                (void)owner.deque.thief().force_expose(1, marking);
            }
            const task_word got = owner.steal();
            if (got == 0) {
                continue;
            }
            link* const parent = reinterpret_cast<task*>(got)->parent;
            check(parent->shared(), "stolen before its scope is marked");
            check(parent->parent()->shared(), "stolen before the enclosing scope is marked");
            ++ran;
            for (auto& s : inner) {
                if (s.alive() && &s->place == parent) {
                    s->ended.store(1, rel); // the last access
                    break;
                }
            }
        }
    }
    void finish() { check(ran == Rounds, "a task was lost or ran twice"); }
};

/// A thief reaches a task. Meanwhile a frame inside those scopes, on another worker, makes something
/// reachable. Both mark. Then the thief publishes the task, and the other worker publishes the frame.
struct both_mark {
    static constexpr unsigned threads = 4;
    worker owner;
    box<scope> outermost;
    box<scope> outer;
    box<scope> inner;
    box<task> child;
    model::atomic<unsigned> frame{0};
    model::atomic<unsigned> announced{0};

    void all_marked(const char* text) {
        check(inner->place.shared() && outer->place.shared() && outermost->place.shared(), text);
    }
    void thread(unsigned i) {
        switch (i) {
        case 0:
            outermost.make(nullptr);
            outer.make(&outermost->place);
            inner.make(&outer->place);
            child.make(&inner->place);
            (void)owner.deque.owner().push(entry_of(child));
            announced.store(1, rel);
            link::share(&inner->place); // share_scopes(), under another worker's lock, without contention
            frame.store(1, rel);        // published
            break;
        case 1:
            (void)owner.deque.thief().force_expose(1, marking);
            break;
        case 2:
            if (owner.steal() != 0) {
                all_marked("a task is stolen whose scopes are not all marked");
            }
            break;
        default:
            if (frame.load(acq) == 1) {
                all_marked("a frame goes on elsewhere whose scopes are not all marked");
            }
            break;
        }
    }
    void finish() {
        all_marked("not all are marked");
        child.end();
        inner.end();
        outer.end();
        outermost.end();
    }
};

/// Scopes of one task end in another order, while a thief reaches a task in the innermost.
struct unlinked {
    static constexpr unsigned threads = 2;
    worker owner;
    box<scope> outer;
    box<scope> middle;
    box<scope> inner;
    box<task> child;
    unsigned ran = 0; // of the checker itself

    void thread(unsigned i) {
        if (i != 0) {
            (void)owner.deque.thief().force_expose(1, marking);
            if (owner.steal() != 0) {
                check(inner->place.shared() && outer->place.shared(), "stolen before its scopes are marked");
                ++ran;
                inner->ended.store(1, rel);
            }
            return;
        }
        outer.make(nullptr);
        middle.make(&outer->place);
        inner.make(&middle->place);
        child.make(&inner->place);
        (void)owner.deque.owner().push(entry_of(child));
        // scope::leave_cold()
        (void)owner.deque.owner().locked([&] {
            inner->place.relink(middle->place);
            return true;
        });
        middle.end();
        if (owner.dequeue(entry_of(child))) {
            ++ran;
        } else {
            while (inner->ended.load(acq) == 0) {
                here().relax();
            }
            check(inner->place.shared() && outer->place.shared(), "the marks were lost");
        }
        child.end();
        inner.end();
        outer.end();
    }
    void finish() { check(ran == 1, "a task was lost or ran twice"); }
};

/// The owner's ring grows while a thief reaches.
struct grown {
    static constexpr unsigned threads = 2;
    worker owner;
    ring<atom>::slot more[8];
    ring<atom> bigger{7, nullptr, more};
    box<scope> only;
    box<task> child;
    unsigned ran = 0; // of the checker itself

    void thread(unsigned i) {
        if (i != 0) {
            (void)owner.deque.thief().force_expose(1, marking);
            if (owner.steal() != 0) {
                check(only->place.shared(), "stolen before its scope is marked");
                ++ran;
                only->ended.store(1, rel);
            }
            return;
        }
        only.make(nullptr);
        child.make(&only->place);
        (void)owner.deque.owner().push(entry_of(child));
        owner.deque.owner().grow(&bigger);
        if (owner.dequeue(entry_of(child))) {
            ++ran;
        } else {
            while (only->ended.load(acq) == 0) {
                here().relax();
            }
        }
        child.end();
        only.end();
    }
    void finish() { check(ran == 1, "a task was lost or ran twice"); }
};

/// One that insists on the oldest task reaches by itself.
struct insisted {
    static constexpr unsigned threads = 2;
    worker owner;
    box<scope> outer;
    box<scope> inner;
    box<task> child;
    unsigned ran = 0; // of the checker itself

    void thread(unsigned i) {
        if (i != 0) {
            const task_word got = owner.deque.thief().steal_until_settled([](task_word) { return true; },
                                                                          [](steal_status) {}, marking);
            if (got != 0) {
                check(inner->place.shared() && outer->place.shared(), "taken before its scopes are marked");
                ++ran;
                inner->ended.store(1, rel);
            }
            return;
        }
        outer.make(nullptr);
        inner.make(&outer->place);
        child.make(&inner->place);
        (void)owner.deque.owner().push(entry_of(child));
        if (owner.dequeue(entry_of(child))) {
            ++ran;
        } else {
            while (inner->ended.load(acq) == 0) {
                here().relax();
            }
        }
        child.end();
        inner.end();
        outer.end();
    }
    void finish() { check(ran == 1, "a task was lost or ran twice"); }
};

/// A frame that suspended unmarked resumes on another worker. Meanwhile an enclosing scope leaves the chain
/// out of turn on the frame's first worker. A third worker reaches a task inside the frame's scope.
struct moved {
    static constexpr unsigned threads = 3;
    worker owner;
    box<scope> outer;
    box<scope> middle;
    box<scope> inner; // encloses the frame's
    box<scope> own;
    box<task> child;
    model::atomic<link*> waits{nullptr}; // the scope that contains the frame
    model::atomic<unsigned> over{0};

    void thread(unsigned i) {
        if (i == 0) {
            outer.make(nullptr);
            middle.make(&outer->place);
            inner.make(&middle->place);
            own.make(&inner->place);
            child.make(&own->place);
            (void)owner.deque.owner().push(entry_of(child));
            waits.store(&own->place, rel); // it suspends
            (void)owner.deque.owner().locked([&] {
                inner->place.relink(middle->place);
                return true;
            });
            middle.end();
        } else if (i == 1) {
            link* from = nullptr;
            while ((from = waits.load(acq)) == nullptr) {
                here().relax();
            }
            // scope_marker::mark_moved()
            (void)owner.deque.thief().locked([&] {
                link::share(from);
                return true;
            });
            check(own->place.shared() && inner->place.shared() && outer->place.shared(),
                  "a frame goes on elsewhere in scopes that are not marked");
            over.store(1, rel);
        } else if (owner.deque.thief().force_expose(1, marking) != 0) {
            check(own->place.shared() && inner->place.shared() && outer->place.shared(),
                  "reached before its scopes are marked");
        }
    }
    void finish() {
        check(over.load(rlx) == 1, "the frame stays where it was");
        for (auto* b : {&own, &inner, &outer}) {
            b->end();
        }
        child.end();
    }
};

/// scope::leave(), while_nobody_walks() there: the locks of all workers of the pool.
template <unsigned N, class Unlink>
void while_nobody_walks(worker (&pool)[N], Unlink unlink) {
    for (worker& w : pool) {
        w.deque.thief().lock();
    }
    unlink();
    for (unsigned i = N; i-- > 0;) {
        pool[i].deque.thief().unlock();
    }
}

/// scope_marker::mark_suspending(), share_scopes(): under the lock of the current worker.
void mark_here(worker& here, link* place) {
    if (!link::is_settled(place)) {
        (void)here.deque.owner().locked([place] {
            link::share(place);
            return true;
        });
    }
}

/// A frame that suspended unmarked resumes on another worker. There an enclosing scope of its own leaves the
/// chain out of turn. Meanwhile a child of the frame suspends on the first worker.
struct standing {
    static constexpr unsigned threads = 2;
    worker pool[2];
    box<scope> outer;
    box<scope> middle;
    box<scope> own;
    model::atomic<link*> waits{nullptr}; // the scope that contains the frame
    model::atomic<unsigned> published{0};

    void all_marked(const char* text) { check(own->place.shared() && outer->place.shared(), text); }
    void thread(unsigned i) {
        if (i == 0) {
            outer.make(nullptr);
            middle.make(&outer->place);
            own.make(&middle->place);
            waits.store(&own->place, rel); // it suspends
            mark_here(pool[0], &own->place);
            all_marked("a child suspends in scopes that are not marked");
            published.store(1, rel);
        } else {
            link* from = nullptr;
            while ((from = waits.load(acq)) == nullptr) {
                here().relax();
            }
            // scope_marker::mark_moved()
            (void)pool[0].deque.thief().locked([&] {
                link::share(from);
                return true;
            });
            all_marked("a frame goes on elsewhere in scopes that are not marked");
            while_nobody_walks(pool, [&] { own->place.relink(middle->place); });
            middle.end();
            while (published.load(acq) == 0) {
                here().relax();
            }
            own.end();
            outer.end();
        }
    }
    void finish() {}
};

/// A call that waits unmarked is served on another worker, and forks from there into its caller's scope.
/// Meanwhile a scope further out leaves the chain out of turn on the caller's worker.
struct below {
    static constexpr unsigned threads = 2;
    worker pool[2];
    box<scope> outer;
    box<scope> middle;
    box<scope> inner; // of the same task as the two above
    box<scope> callers;
    model::atomic<link*> waits{nullptr}; // the scope that contains the waiting call
    model::atomic<unsigned> served{0};

    void thread(unsigned i) {
        if (i == 0) {
            outer.make(nullptr);
            middle.make(&outer->place);
            inner.make(&middle->place);
            callers.make(&inner->place);
            waits.store(&callers->place, rel);
            while_nobody_walks(pool, [&] { inner->place.relink(middle->place); });
            middle.end();
            while (served.load(acq) == 0) {
                here().relax();
            }
            callers.end();
            inner.end();
            outer.end();
        } else {
            link* parent = nullptr;
            while ((parent = waits.load(acq)) == nullptr) {
                here().relax();
            }
            mark_here(pool[1], parent);
            check(callers->place.shared() && inner->place.shared() && outer->place.shared(),
                  "a child is counted atomically in scopes that are not marked");
            served.store(1, rel);
        }
    }
    void finish() {}
};

const registered<reached<2, 2, false>> r1("mark_reach",
                                          "a reach against an owner that takes back and ends its scope");
const registered<reached<3, 1, false>> r2("mark_reach_two", "two that reach and steal");
const registered<reached<2, 2, true>> r3("mark_expose", "the owner exposes, a thief steals");
const registered<both_mark> r4("mark_both", "a reach and somebody on another worker mark the same scopes");
const registered<insisted> r7("mark_insist", "one insists on a task that its owner takes back");
const registered<grown> r6("mark_grow", "the ring grows while a thief reaches");
const registered<moved> r8("mark_moved", "a frame that suspended unmarked goes on elsewhere");
const registered<standing> r9("mark_scope_cursors",
                              "a child suspends where its parent's frame has moved from");
const registered<below> r10("mark_below", "one forks from below while a scope further out ends out of turn");
const registered<unlinked> r5("mark_unlink", "scopes end in another order while a thief walks up");

} // namespace
