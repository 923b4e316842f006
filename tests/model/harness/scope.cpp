// Any number of children, one waiter: the counter of a scope. Continuations are stolen, children are forked
// and announced by descendants, and fail. There is a second round, and the frame ends right after sync.
#include <pilfer/detail/deque/deque.hpp>
#include <pilfer/detail/deque/submissions.hpp>
#include <pilfer/detail/task/completion.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::acq_rel;
using pilfer::detail::child_counter;
using pilfer::detail::ring;
using pilfer::detail::rlx;
using pilfer::detail::split_deque;
using pilfer::detail::steal_status;
using pilfer::detail::submission_queue;
using pilfer::detail::task_word;
using pilfer::detail::thread_latch;

constexpr unsigned most_children = 4;

/// The words of a scope beside its counter, and the frame that contains it.
struct frame {
    static constexpr std::uint32_t from_below = 1U << 31;
    static constexpr std::uint32_t failures = from_below - 1;

    stack on;
    child_counter<atom> children;
    plain<std::uintptr_t> waiter = 0;
    plain<unsigned> rest = 0; // where the frame goes on behind its latest spawn
    model::atomic<std::uint32_t> cancel_state{0};
    plain<unsigned> error = 0;
    plain<unsigned> result[most_children];

    /// scope::fail(): the first one wins the right to write.
    void fail(unsigned what) {
        if ((cancel_state.fetch_add(1, rlx) & failures) == 0) {
            error = what;
        }
    }
    void announce_from_below() {
        cancel_state.fetch_or(from_below, rlx);
        children.announce_from_below();
    }
    [[nodiscard]] bool quiet() { return children.untouched() && cancel_state.load(rlx) == 0; }
};

struct worker {
    ring<atom>::slot slots[4];
    ring<atom> first{3, nullptr, slots};
    split_deque<atom> deque{&first, false};

    /// Some announcements stay private, so that the quick way back is taken too.
    void announce(task_word task) {
        (void)deque.owner().push(task);
        if (here().choose(2) != 0) {
            (void)deque.owner().expose(1);
        }
    }
    [[nodiscard]] bool reclaim(task_word task) {
        using owner = split_deque<atom>::owner_end;
        const auto got = deque.owner().pop_if(task);
        return got == owner::popped::taken ||
               (got == owner::popped::slow && deque.owner().pop_slow(1) == task);
    }
    [[nodiscard]] task_word steal() {
        const auto got = deque.thief().steal([](task_word) { return true; });
        return got.status == steal_status::success ? got.task : 0;
    }
};

/// The sync of all harnesses: parks as scope::wait_for_children() does, and looks at the results.
template <unsigned Threads, unsigned Children>
struct scope_client {
    static constexpr unsigned threads = Threads;
    box<frame> parent;
    worker workers[Threads];
    bool over = false; // of the checker itself
    unsigned failed = 0;

    scope_client() { parent.make(); }

    /// The suspended frame waits no more. True: the caller's worker resumes it.
    [[nodiscard]] bool sync() {
        if (parent->quiet() || parent->children.all_done()) {
            return true;
        }
        parent->waiter = 5;
        parent->on.leave();
        // On the scheduler's stack.
        if (parent->children.publish()) {
            return false;
        }
        parent->on.enter();
        return true;
    }
    /// A child that its owner does not pop has ended. True: it resumes the frame.
    [[nodiscard]] bool finish_one() {
        if (!parent->children.finish_one()) {
            return false;
        }
        check(parent->waiter == 5, "the last child does not find who waits");
        parent->on.enter();
        return true;
    }
    /// Behind sync: true if there were failures.
    void after_sync(unsigned children, unsigned round) {
        if (!parent->quiet()) {
            parent->children.reset();
        }
        parent->on.run();
        const unsigned thrown = parent->cancel_state.exchange(0, rlx) & frame::failures;
        check(thrown == failed, "the number of failures");
        if (thrown != 0) {
            check(parent->error != 0, "a failure without its exception");
            parent->error = 0;
        }
        for (unsigned k = 0; k < children; ++k) {
            check(parent->result[k] == 10 * round + k + 1, "sync ends before a child has");
        }
        failed = 0;
    }
    void end() {
        parent.end();
        over = true;
    }
    void finish() { check(over && !parent.alive(), "the frame was left behind"); }
};

/// spawn: the child runs at once, the rest of the frame can be stolen, again and again.
template <unsigned Threads, unsigned Children, unsigned Rounds, bool Failing>
struct spawning : scope_client<Threads, Children> {
    using base = scope_client<Threads, Children>;
    using base::end;
    using base::failed;
    using base::parent;
    using base::workers;

    [[nodiscard]] task_word entry() { return reinterpret_cast<task_word>(parent.get()) | 1; }

    /// The frame runs on worker `me` from position `at` on.
    void run(unsigned me, unsigned at) {
        for (; at < Rounds * (Children + 1); ++at) {
            const unsigned round = at / (Children + 1);
            const unsigned child = at % (Children + 1);
            parent->on.run();
            if (child < Children) {
                // scope::spawn: the registers, then the child's stack; only there the rest is announced.
                parent->rest = at + 1;
                parent->on.leave();
                workers[me].announce(entry());
                if (Failing) {
                    ++failed;
                    parent->fail(child + 1);
                }
                parent->result[child] = 10 * round + child + 1;
                if (!workers[me].reclaim(entry())) {
                    if (!this->finish_one()) {
                        return;
                    }
                    at = (round + 1) * (Children + 1) - 1; // it waits in sync
                } else {
                    at = parent->rest - 1;
                    parent->on.enter();
                    continue;
                }
            } else if (!this->sync()) {
                return;
            }
            this->after_sync(Children, round);
        }
        end();
    }
    void thread(unsigned i) {
        if (i == 0) {
            run(0, 0);
            return;
        }
        // A thief: two tries at all others.
        for (unsigned tries = 0; tries < 2 * (Threads - 1); ++tries) {
            const unsigned victim = (i + 1 + tries) % Threads;
            if (victim != i && workers[victim].steal() != 0) {
                parent->children.add(); // scope_access::taken()
                parent->on.enter();
                run(i, parent->rest);
                return;
            }
        }
    }
};

/// fork: children are entries of their own. Thieves run them, and may fork into their scope.
template <unsigned Threads, unsigned Children, unsigned Rounds, bool Below>
struct forking : scope_client<Threads, Children + (Below ? 1 : 0)> {
    using base = scope_client<Threads, Children + (Below ? 1 : 0)>;
    using base::end;
    using base::parent;
    using base::workers;
    static constexpr unsigned all = Children + (Below ? 1 : 0);
    plain<unsigned> round = 0;

    /// The body of child `k` on worker `me`. Away from the owner it ends with the counter.
    void child(unsigned me, unsigned k, bool away) {
        const unsigned r = round;
        if (Below && k == 0) {
            if (away) {
                parent->announce_from_below();
                workers[me].announce(8 * (all + 1));
            } else {
                parent->children.add(); // fork_below() on the owner's own stack
                workers[me].announce(8 * (all + 1));
            }
        }
        parent->result[k] = 10 * r + k + 1;
        if (away && this->finish_one()) {
            go_on(me);
        }
    }
    void child_of(unsigned me, task_word task, bool away) {
        const auto k = static_cast<unsigned>(task / 8 - 1);
        child(me, k == all ? all - 1 : k, away);
    }
    void go_on(unsigned me) {
        for (;;) {
            this->after_sync(all, round);
            round = round + 1;
            if (round == Rounds) {
                end();
                return;
            }
            if (!one_round(me)) {
                return;
            }
        }
    }
    /// True: sync has ended on this worker.
    [[nodiscard]] bool one_round(unsigned me) {
        for (unsigned k = 0; k < Children; ++k) {
            parent->children.add();
            workers[me].announce(8 * (k + 1));
        }
        // scope::wait_for_children(): its own children first, newest first.
        while (parent->children.pending() > 0) {
            const task_word task = workers[me].deque.owner().pop(1);
            if (task == 0) {
                break;
            }
            child_of(me, task, false);
            parent->children.complete();
        }
        return this->sync();
    }
    void thread(unsigned i) {
        if (i == 0) {
            if (one_round(0)) {
                go_on(0);
            }
            return;
        }
        for (unsigned tries = 0; tries < 2 * (Threads - 1); ++tries) {
            const unsigned victim = (i + 1 + tries) % Threads;
            if (victim == i) {
                continue;
            }
            const task_word task = workers[victim].steal();
            if (task == 0) {
                continue;
            }
            child_of(i, task, true);
            // Its own deque, as a scheduler would: it runs the tasks that were not stolen.
            while (const task_word own = workers[i].deque.owner().pop(1)) {
                child_of(i, own, true);
            }
        }
    }
};

/// The owner is a thread outside the pool: children are submissions, one of them begins another.
struct foreign_scope : scope_client<3, 3> {
    struct item : submission_queue<atom>::node {
        plain<unsigned> child;
    };
    submission_queue<atom> queue;
    item items[3];
    box<thread_latch<atom>> latch;
    unsigned left = 3; // of the checker itself

    void submit(unsigned k) {
        items[k].child = k;
        queue.push(&items[k]);
    }
    void thread(unsigned i) {
        if (i != 0) {
            while (left != 0) {
                auto* n = queue.pop();
                if (n == nullptr) {
                    if (left != 0) {
                        here().relax();
                    }
                    continue;
                }
                --left;
                const unsigned k = static_cast<item*>(n)->child;
                parent->result[k] = k + 1;
                if (k == 1) {
                    parent->announce_from_below();
                    submit(2);
                }
                if (parent->children.finish_one()) {
                    const std::uintptr_t who = parent->waiter;
                    reinterpret_cast<thread_latch<atom>*>(who)->release<park>();
                }
            }
            return;
        }
        for (unsigned k = 0; k < 2; ++k) {
            parent->children.add();
            submit(k);
        }
        // scope::block_for_children().
        if (!parent->children.all_done()) {
            latch.make();
            parent->waiter = reinterpret_cast<std::uintptr_t>(latch.get());
            if (parent->children.publish()) {
                latch->wait<park>();
            }
            latch.end();
        }
        after_sync(3, 0);
        end();
    }
};

const registered<spawning<2, 2, 2, false>> r1("scope_spawn", "two spawns, two rounds, one thief");
const registered<spawning<3, 3, 1, false>> r2("scope_spawn_three", "three spawns, two thieves");
const registered<spawning<3, 2, 1, true>> r3("scope_spawn_fail", "two spawns, both fail, two thieves");
const registered<forking<2, 2, 2, false>> r4("scope_fork", "two forked, two rounds, one thief");
const registered<forking<3, 2, 1, true>> r5("scope_below",
                                            "a child forks into its parent's scope, two thieves");
const registered<foreign_scope> r6("scope_foreign",
                                   "a scope of a foreign thread, its children are submissions");

} // namespace
