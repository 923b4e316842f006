// Workers that step aside and are called back: src/pool/threads.cpp over
// include/pilfer/detail/idle/sleep.hpp.
#include <pilfer/detail/task/completion.hpp>

#include "idle/leftovers.hpp"
#include "sleeping.hpp"

namespace {

using namespace model;

/// One worker, which is aside while the limit is set and its inbox is empty, and its callers.
template <class Atom>
struct called {
    using sleepers = pilfer::detail::sleepers<Atom, resting::park>;
    static constexpr unsigned threads = 3;

    void thread(unsigned i) {
        switch (i) {
        case 0:
            for (unsigned k = 0; k < 2; ++k) {
                const auto how = m_idle.park(
                    0, [this] { return is_called(); },
                    [](auto& word) { resting::park::wait(word, sleepers::asleep); });
                if (how == sleepers::outcome::woken) {
                    ++m_received;
                    check(is_called(), "called back without what it is called for");
                    m_idle.settle_token(0);
                }
            }
            break;
        case 1:
            m_limit.store(1, rlx);
            Atom::fence_sc();
            m_given += m_idle.unpark(0) ? 1 : 0;
            break;
        default: // waker::notify(), after a push
            m_inbox.store(1, rel);
            Atom::fence_sc();
            m_given += m_idle.wake(0, 0) || m_idle.unpark(0) ? 1 : 0;
        }
        resting::at_the_end();
    }
    bool at_rest() { return false; } // worker 0 has both calls when it lies down for the second time
    void finish() { check(m_given == m_received, "a call was lost or came twice"); }

private:
    bool is_called() { return m_limit.load(rlx) != 0 || m_inbox.load(acq) != 0; }

    typename sleepers::seat m_seats[1];
    typename sleepers::map_word m_map[1];
    typename sleepers::map_word m_retired[1];
    sleepers m_idle{m_seats, m_map, 1, m_retired};
    typename Atom::template atomic<int> m_limit;
    typename Atom::template atomic<int> m_inbox;
    unsigned m_given = 0; // of the checker itself, as the next one
    unsigned m_received = 0;
    resting m_resting;
};

/// Worker 0, whose task waits beside nothing: enter_alone() in src/wait/list.cpp, sleeper::wait_for_inbox().
/// The others end the wait, resume another frame, and call the worker for nothing.
template <class Atom>
struct beside_nothing {
    using sleepers = pilfer::detail::sleepers<Atom, resting::park>;
    using queue = pilfer::detail::submission_queue<Atom>;
    struct frame : queue::node {};
    static constexpr unsigned threads = 4;

    void thread(unsigned i) {
        switch (i) {
        case 0:
            if (m_end.publish(reinterpret_cast<std::uintptr_t>(&m_waits))) {
                while (resume_one() != &m_waits) {
                }
            }
            check(m_result == 7, "the task goes on without what it waits for");
            break;
        case 1: // go_on(), work_stealing::make_runnable()
            m_result = 7;
            if (m_end.complete() != 0) {
                send(m_waits);
            }
            break;
        case 2:
            send(m_other);
            break;
        default: // follow_limits()
            Atom::fence_sc();
            (void)m_idle.unpark(0);
        }
        resting::at_the_end();
    }
    bool at_rest() { return false; }
    void finish() {}

private:
    typename queue::node* resume_one() {
        while (m_inbox.empty()) {
            found_work();
            const auto how = m_idle.park(
                0, [this] { return !m_inbox.empty(); },
                [](auto& word) { resting::park::wait(word, sleepers::asleep); });
            m_token = m_token || how == sleepers::outcome::woken;
        }
        typename queue::node* const n = m_inbox.pop();
        check(n != nullptr, "the worker begins something else");
        found_work();
        check(!m_idle.is_searching(0), "a token in the seat of a worker that runs a task");
        return n;
    }
    void found_work() {
        if (m_token) {
            m_token = false;
            m_idle.settle_token(0);
        }
    }
    /// waker::send_to()
    void send(frame& f) {
        m_inbox.push(&f);
        Atom::fence_sc();
        (void)(m_idle.wake(0, 0) || m_idle.unpark(0));
    }

    typename sleepers::seat m_seats[1];
    typename sleepers::map_word m_map[1];
    typename sleepers::map_word m_retired[1];
    sleepers m_idle{m_seats, m_map, 1, m_retired};
    queue m_inbox;
    frame m_waits;
    frame m_other;
    pilfer::detail::completion<Atom> m_end;
    typename Atom::template plain<int> m_result = 0;
    bool m_token = false;
    resting m_resting;
};

/// Workers, and one of them may be told to step aside.
template <class Atom, unsigned Workers, unsigned Tasks, unsigned Who>
class shrinking : public workers<Atom, Workers, Tasks> {
protected:
    using base = workers<Atom, Workers, Tasks>;
    using typename base::outcome;
    using typename base::sleepers;

    /// worker_threads::follow_limits()
    void send_away(unsigned who) {
        m_limit.store(1, rlx);
        Atom::fence_sc();
        (void)this->m_idle.wake(who, who); // else it is busy
    }
    void call_back(unsigned who) {
        m_limit.store(0, rlx);
        Atom::fence_sc();
        (void)this->m_idle.unpark(who);
    }
    /// Only the harness's own worker is asked: it is the one that may be sent away.
    bool retires(unsigned self) final { return self == Who && m_limit.load(rlx) != 0; }
    /// sleeper::retire()
    void retire(unsigned self) {
        this->found_work(self);
        auto own = this->m_worker[self].deque.owner();
        (void)own.expose(own.private_size());
        const auto how = this->m_idle.park(
            self, [this, self] { return !retires(self); },
            [](auto& word) { resting::park::wait(word, sleepers::asleep); });
        this->m_worker[self].token = this->m_worker[self].token || how == outcome::woken;
    }
    /// scheduler::work() of the one that may be sent away.
    void work_or_not(unsigned self) {
        for (;;) {
            if (retires(self)) {
                retire(self);
                continue;
            }
            if (this->step(self)) {
                continue;
            }
            m_lies_down = true;
            const auto how = this->sleep(self);
            m_lies_down = false;
            if (how == outcome::found && !retires(self) && !this->step(self)) {
                Atom::relax(0);
            }
        }
    }
    typename Atom::template atomic<int> m_limit;
    bool m_lies_down = false; // of the checker itself: worker `Who` sleeps and may be woken for work
};

/// The leaving worker has announced tasks; two others sleep or are about to.
template <class Atom>
struct leaves final : shrinking<Atom, 3, 2, 0> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i != 0) {
            this->work(i);
            return;
        }
        this->push(0, 0);
        this->push(0, 1);
        this->m_limit.store(1, rlx); // by a task of its own
        this->retire(0);
    }
    bool at_rest() { return this->nothing_beside_a_sleeper(threads, 2); }
    void finish() {}

private:
    void body(unsigned, unsigned) final { resting::in_endless_task(); }
};

/// A publisher that never looks again, a sleeper, and a worker that is sent away, perhaps just when it was
/// woken. In the end that worker is aside, or has the task.
struct owes final : shrinking<atom, 3, 1, 1> {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        switch (i) {
        case 0:
            push(0, 0);
            resting::in_endless_task();
        case 1:
            work_or_not(1);
            return;
        case 2:
            work(2);
            return;
        default:
            send_away(1);
            resting::at_the_end();
        }
    }
    bool at_rest() { return nothing_beside_a_sleeper(threads, 1) && !m_lies_down; }
    void finish() {}

private:
    void body(unsigned, unsigned) final { resting::in_endless_task(); }
};

/// The only other worker is sent away and called back, while a task waits for it.
struct back_again final : shrinking<atom, 2, 1, 1> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        switch (i) {
        case 0:
            push(0, 0);
            resting::in_endless_task();
        case 1:
            work_or_not(1);
            return;
        default:
            send_away(1);
            call_back(1);
            resting::at_the_end();
        }
    }
    bool at_rest() { return nothing_beside_a_sleeper(threads, 1); }
    void finish() {}

private:
    void body(unsigned, unsigned) final { resting::in_endless_task(); }
};

/// `Leavers` leave a task each; the first of them leaves two more in a second turn. Beside them `Busy`
/// workers make way when they are summoned: scheduler::anything_left(), steal_from_retired(), remind(). If a
/// deque with tasks has lost its owner, the leftovers say so, and each busy worker will be summoned.
template <unsigned Leavers, unsigned Turns, unsigned Busy>
struct left final : workers<atom, Leavers + Busy, Leavers + 2 * (Turns - 1)> {
    static constexpr unsigned threads = Leavers + Busy;
    void thread(unsigned i) {
        if (i >= Leavers) {
            for (unsigned k = 0; k < 3 && m_summons[i - Leavers].exchange(0, acq) != 0; ++k) {
                atom::fence_sc(); // announcer::yield_to_queued()
                yield_after_announcing(i);
            }
            return;
        }
        for (unsigned turn = 0; turn < (i == 0 ? Turns : 1); ++turn) {
            m_gone[i].store(false, rlx);
            this->push(i, turn == 0 ? i : Leavers);
            if (turn != 0) {
                this->push(i, Leavers + 1);
            }
            m_gone[i].store(true, rlx);
            m_left.leave();
            summon_all();
        }
    }
    void finish() {
        for (unsigned i = 0; i < Leavers; ++i) {
            for (unsigned k = 0; k < Busy && this->m_worker[i].deque.thief().has_any(); ++k) {
                check(m_left.any() && m_summons[k].load(rlx) != 0,
                      "tasks lie where nobody will look for them");
            }
        }
    }

private:
    void yield_after_announcing(unsigned self) {
        const auto look = [this] {
            for (unsigned i = 0; i < Leavers; ++i) {
                if (m_gone[i].load(rlx) && this->m_worker[i].deque.thief().has_any()) {
                    return true;
                }
            }
            return false;
        };
        if (!m_left.look_for(look, [this] { summon_all(); })) {
            return;
        }
        for (unsigned i = 0; i < Leavers; ++i) {
            if (m_gone[i].load(rlx) && this->try_steal(self, i, true)) {
                break;
            }
        }
        if (m_left.any()) {
            (void)m_summons[self - Leavers].exchange(1, rel);
        }
    }
    /// waker::notify_any() if no worker sleeps.
    void summon_all() {
        atom::fence_sc();
        for (auto& s : m_summons) {
            if (s.load(rlx) == 0) { // after the fence: a worker with this flag looks after a fence of its own
                (void)s.exchange(1, rel);
            }
        }
    }
    void body(unsigned, unsigned) final {}

    pilfer::detail::leftovers<atom> m_left;
    atomic<bool> m_gone[Leavers];
    atomic<int> m_summons[Busy];
};

const registered<called<atom>> r1("aside_called", "one worker aside, called by its limit and by its inbox");
const registered<beside_nothing<atom>> r9("aside_beside_nothing",
                                          "a worker whose task waits beside nothing, and three callers");
const registered<leaves<atom>> r2("aside_leaves", "a worker leaves two tasks behind, two others");
const registered<leaves<symmetric_atom>> r3("aside_leaves_pinned", "aside_leaves without membarrier");
const registered<owes> r4("aside_owes", "a worker is sent away when it may just have been woken");
const registered<back_again> r5("aside_back", "the only other worker is sent away and called back");
const registered<left<1, 2, 1>> r6("aside_left",
                                   "a worker leaves tasks, twice, and a busy one looks for them");
const registered<left<2, 1, 1>> r7("aside_left_two", "two workers leave a task each");
const registered<left<1, 2, 2>> r8("aside_left_looked_for", "aside_left with two busy workers");

} // namespace
