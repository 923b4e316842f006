// Timers: a heap per worker, and one sleeper that watches over all heaps.
//
// A thread that arms a timer notifies the watching sleeper, if that one sleeps for longer. States, edges
// T1..T9 and the argument: src/timer/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, 1986) under a lock. Arming takes a few instructions,
/// firing and disarming the amortised logarithm of the length. No operation needs memory. `Park`: as for
/// `sleepers`.
template <class Atom, class Park>
class timer_heap {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    static constexpr std::uint64_t never = UINT64_MAX;
    enum state : std::uint32_t { idle, armed, firing };

    /// A timer, in the frame that waits or in the object that it belongs to.
    struct timer {
        // Under the heap's lock while it is armed.
        plain<timer*> child = nullptr;
        plain<timer*> next = nullptr;     // sibling to the right
        plain<timer*> previous = nullptr; // sibling to the left, or the parent of the first child
        plain<std::uint64_t> due = never;
        plain<std::uint64_t> order = 0; // first come, first served among equals
        // Written while it is idle, by the thread that arms it.
        plain<timer_heap*> home = nullptr;
        typename Atom::template atomic<std::uint32_t> now{idle};

        /// Called by the firing function when it will not touch the timer again: the owner may destroy the
        /// timer from now on.
        void over() noexcept { now.store(idle, rel); } // timer.T2
    };

    /// The time of the first timer. A thread that reads it to decide about a sleep must fence: see
    /// timer_watch.
    [[nodiscard]] std::uint64_t earliest() const noexcept { return m_earliest.load(rlx); }

    /// Arms `t`, which is idle. It fires once at `due` or later, unless it is disarmed before.
    void arm(timer& t, std::uint64_t due) noexcept {
        ensure([&t] { return t.now.load(rlx) == idle; }, "a timer was armed twice");
        t.home = this;
        t.due = due;
        t.child = nullptr;
        t.next = nullptr;
        t.previous = nullptr;
        m_lock.lock();
        t.order = m_order;
        m_order = m_order + 1;
        t.now.store(armed, rlx);
        m_root = meld(m_root, &t);
        note_earliest();
        m_lock.unlock();
    }
    /// Disarms `t`, which was armed; by its owner or on the owner's behalf, on any thread. True: it has not
    /// fired and will not. False: it has fired, and the thread that fired it is done with it.
    static bool disarm(timer& t) noexcept {
        timer_heap* const home = t.home;
        home->m_lock.lock();
        const bool mine = t.now.load(rlx) == armed;
        if (mine) {
            home->cut(t);
            t.now.store(idle, rlx);
            home->note_earliest();
        }
        home->m_lock.unlock();
        for (unsigned round = 0; !mine && t.now.load(acq) == firing; ++round) { // timer.T2
            Atom::relax(round);
        }
        return mine;
    }
    /// Takes one timer that is due at `when`; null: none is. The caller fires it, and calls over()
    /// afterwards.
    [[nodiscard]] timer* take_due(std::uint64_t when) noexcept {
        if (earliest() > when) {
            return nullptr;
        }
        m_lock.lock();
        timer* const first = m_root;
        if (first == nullptr || first->due > when) {
            m_lock.unlock();
            return nullptr;
        }
        m_root = pairs(first->child);
        first->now.store(firing, rlx);
        note_earliest();
        m_lock.unlock();
        return first;
    }
    /// Takes the first timer, due or not, for which `wanted(timer&)` is true; null: there is none. Cost: the
    /// whole heap.
    template <class Wanted>
    [[nodiscard]] timer* take_if(Wanted wanted) noexcept {
        m_lock.lock();
        timer* found = nullptr;
        for (timer* t = m_root; t != nullptr; t = after(*t)) {
            if (wanted(*t)) {
                found = t;
                break;
            }
        }
        if (found != nullptr) {
            cut(*found);
            found->now.store(firing, rlx);
            note_earliest();
        }
        m_lock.unlock();
        return found;
    }

private:
    void note_earliest() noexcept {
        timer* const first = m_root;
        m_earliest.store(first == nullptr ? never : static_cast<std::uint64_t>(first->due), rlx); // timer.T1
    }
    [[nodiscard]] static bool sooner(timer& a, timer& b) noexcept {
        const std::uint64_t due_a = a.due;
        const std::uint64_t due_b = b.due;
        return due_a < due_b || (due_a == due_b && static_cast<std::uint64_t>(a.order) < b.order);
    }
    /// Both are roots without siblings, or null.
    [[nodiscard]] static timer* meld(timer* a, timer* b) noexcept {
        if (a == nullptr || b == nullptr) {
            return a == nullptr ? b : a;
        }
        timer* const top = sooner(*b, *a) ? b : a;
        timer* const below = top == a ? b : a;
        timer* const first = top->child;
        below->next = first;
        below->previous = top;
        if (first != nullptr) {
            first->previous = below;
        }
        top->child = below;
        return top;
    }
    /// One heap of a row of siblings: pairs from the left, then one after the other from the right.
    [[nodiscard]] static timer* pairs(timer* row) noexcept {
        timer* done = nullptr; // a stack by `next`
        while (row != nullptr) {
            timer* const a = row;
            timer* const b = a->next;
            row = b != nullptr ? static_cast<timer*>(b->next) : nullptr;
            alone(*a);
            if (b != nullptr) {
                alone(*b);
            }
            timer* const both = meld(a, b);
            both->next = done;
            done = both;
        }
        timer* all = nullptr;
        while (done != nullptr) {
            timer* const rest = done->next;
            alone(*done);
            all = meld(all, done);
            done = rest;
        }
        return all;
    }
    static void alone(timer& t) noexcept {
        t.next = nullptr;
        t.previous = nullptr;
    }
    void cut(timer& t) noexcept {
        if (m_root == &t) {
            m_root = pairs(t.child);
            return;
        }
        timer* const left = t.previous;
        timer* const right = t.next;
        if (left->child == &t) {
            left->child = right;
        } else {
            left->next = right;
        }
        if (right != nullptr) {
            right->previous = left;
        }
        m_root = meld(m_root, pairs(t.child));
    }
    /// The next timer of a walk over all, the root first, without a stack.
    [[nodiscard]] static timer* after(timer& t) noexcept {
        if (t.child != nullptr) {
            return t.child;
        }
        for (timer* at = &t; at != nullptr; at = parent(*at)) {
            if (at->next != nullptr) {
                return at->next;
            }
        }
        return nullptr;
    }
    [[nodiscard]] static timer* parent(timer& t) noexcept {
        timer* at = &t;
        timer* left = at->previous;
        while (left != nullptr && left->child != at) {
            at = left;
            left = at->previous;
        }
        return left;
    }

    raw_lock<Atom, Park> m_lock;
    plain<timer*> m_root = nullptr;
    plain<std::uint64_t> m_order = 0;
    typename Atom::template atomic<std::uint64_t> m_earliest{never};
};

/// At most one sleeper of a pool, the holder, sleeps no longer than until the first timer of all heaps is
/// due.
template <class Atom>
class timer_watch {
public:
    static constexpr std::uint64_t never = UINT64_MAX;
    static constexpr std::uint32_t nobody = UINT32_MAX;

    /// Worker `self` is in the map of sleepers, has fenced, and has nothing to do. Returns the time until
    /// which it may sleep. never: there are no timers, or another worker watches. `earliest()`: the earliest
    /// time of all heaps.
    template <class Earliest>
    [[nodiscard]] std::uint64_t lie_down(std::uint32_t self, Earliest earliest) noexcept {
        for (;;) {
            const std::uint64_t due = earliest();
            std::uint32_t holder = m_holder.load(rlx);
            if (due == never) {
                // The timer that this holder watched for was disarmed while it was up. It must not stay the
                // holder for a time until which it no longer sleeps.
                if (holder == self && get_up(earliest)) {
                    continue;
                }
                return never; // a thread that arms one now finds this sleeper in the map (timer.T3)
            }
            if (holder != self) {
                holder = nobody;
                if (!m_holder.compare_exchange_strong(holder, self, acq, rlx)) { // timer.T6
                    return never;
                }
            }
            m_until.store(due, rlx);
            Atom::fence_sc(); // timer.T4
            if (earliest() >= due) {
                return due;
            }
        }
    }
    [[nodiscard]] bool held_by(std::uint32_t self) const noexcept { return m_holder.load(rlx) == self; }
    /// The holder is about to run something. True: timers are left, and a sleeper must be woken, if there is
    /// any, to watch instead.
    template <class Earliest>
    [[nodiscard]] bool get_up(Earliest earliest) noexcept {
        m_until.store(never, rlx);
        m_holder.store(nobody, rel); // timer.T6
        Atom::fence_sc();            // timer.T4, timer.T5
        return earliest() != never;
    }
    /// Called after a timer was armed that is due at `due`. True: the holder sleeps for longer. The caller
    /// wakes holder(), if it sleeps; if there is no holder, any sleeper.
    [[nodiscard]] bool is_late_for(std::uint64_t due) noexcept {
        Atom::fence_sc(); // timer.T3, timer.T4
        return due < m_until.load(rlx);
    }
    [[nodiscard]] std::uint32_t holder() const noexcept { return m_holder.load(rlx); }

private:
    typename Atom::template atomic<std::uint64_t> m_until{never};
    typename Atom::template atomic<std::uint32_t> m_holder{nobody};
};

/// One thread, the timekeeper, watches over timers that no sleeper of any pool watches over. It is the only
/// sleeper of its own watch. `Park`: as for `sleepers`.
template <class Atom, class Park>
class time_keeping {
public:
    static constexpr std::uint64_t never = UINT64_MAX;

    /// Anyone, after a look at a pool in which no worker sleeps or watches: a timer is due there at `due`.
    void expect(std::uint64_t due) noexcept {
        if (m_watch.is_late_for(due)) { // timer.T8
            call();
        }
    }
    /// Lets the timekeeper look again.
    void call() noexcept {
        m_calls.fetch_add(1, rel); // timer.T9
        Park::wake(m_calls);
    }
    /// The timekeeper's round. It calls `look()`, which fires what is due. Then it calls `sleep(word,
    /// expected, until)`, which sleeps until then while the word has the expected value. `earliest()`: the
    /// earliest time of all pools that no sleeper watches over.
    template <class Look, class Earliest, class Sleep>
    void look_and_sleep(Look look, Earliest earliest, Sleep sleep) noexcept {
        // timer.T9: before the looks at what a call may be about
        const std::uint32_t seen = m_calls.load(acq);
        look();
        sleep(m_calls, seen, m_watch.lie_down(0, earliest));
    }

private:
    timer_watch<Atom> m_watch;
    typename Atom::template atomic<std::uint32_t> m_calls{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
