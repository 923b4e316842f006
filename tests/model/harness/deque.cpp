// The split deque: one owner, two thieves, every way in and out. Bounded programs over the production text.
#include <pilfer/detail/deque/deque.hpp>

#include "../harness.hpp"

namespace {

using namespace model;
using pilfer::detail::ring;
using pilfer::detail::split_deque;
using pilfer::detail::steal_status;
using pilfer::detail::task_word;

constexpr std::int64_t all_of_them = INT64_MAX / 4;

/// A deque, its rings, and the owner's duties as the library does them.
template <class Atom, std::int64_t Slots, bool Pinned = false>
class deque_client {
protected:
    using deque_type = split_deque<Atom>;
    using owner_end = typename deque_type::owner_end;
    using trip = pilfer::detail::signal_word<Atom>;
    using slot = typename ring<Atom>::slot;

    explicit deque_client(std::int64_t start = 0) : m_deque(&m_first, Pinned, start) {}

    /// False: there is no room.
    bool push(unsigned task, bool may_grow = false) {
        m_tasks.announce(task);
        if (!m_deque.owner().push(task + 1)) {
            return true;
        }
        if (!m_deque.owner().make_room()) {
            if (!may_grow) {
                return false;
            }
            m_deque.owner().grow(&m_second);
        }
        if constexpr (Pinned) {
            Atom::fence_sc();
        }
        const auto bits = m_deque.signal().take();
        if ((bits & (trip::expose | trip::wanted)) != 0 && m_deque.owner().shared_size() <= 0) {
            (void)m_deque.owner().expose(1);
        }
        return true;
    }
    void take(task_word t) { m_tasks.run(static_cast<unsigned>(t) - 1); }
    bool pop(std::int64_t unshare) {
        const task_word t = m_deque.owner().pop(unshare);
        if (t != 0) {
            take(t);
        }
        return t != 0;
    }
    /// Takes `task` back as the frame that announced it does.
    bool reclaim(unsigned task, std::int64_t unshare) {
        const auto got = m_deque.owner().pop_if(task + 1);
        if (got == owner_end::popped::taken) {
            take(task + 1);
            return true;
        }
        if (got == owner_end::popped::slow) {
            const task_word t = m_deque.owner().pop_slow(unshare);
            check(t == 0 || t == task + 1, "a stranger's task was taken back");
            if (t != 0) {
                take(t);
            }
            return t != 0;
        }
        return false;
    }
    bool steal() {
        const auto got = m_deque.thief().steal([](task_word) { return true; });
        if (got.status == steal_status::success) {
            take(got.task);
        }
        return got.status == steal_status::success;
    }
    void steal_twice() {
        (void)steal();
        (void)steal();
    }
    /// Takes the remaining tasks. Then all of [0, n) have run once.
    void drain(unsigned n) {
        while (pop(1)) {
        }
        check(!m_deque.thief().has_any(), "an empty deque says that it has something");
        if (!Pinned) {
            // At rest the guard equals split: private tasks are popped without the lock.
            (void)m_deque.owner().push(last + 1);
            check(m_deque.owner().pop_if(last + 1) == owner_end::popped::taken,
                  "a private task takes the slow way");
        }
        m_tasks.finish(n);
    }

    static constexpr unsigned last = 5;

    slot m_slots[Slots];
    slot m_more[2 * Slots];
    ring<Atom> m_first{Slots - 1, nullptr, m_slots};
    ring<Atom> m_second{2 * Slots - 1, nullptr, m_more};
    deque_type m_deque;
    tasks<last + 1> m_tasks;
};

/// Exposes one at a time; thieves steal; the rest is popped.
template <std::int64_t Start>
struct one_by_one : deque_client<atom, 4> {
    static constexpr unsigned threads = 3;
    one_by_one() : deque_client(Start) {}
    void thread(unsigned i) {
        if (i != 0) {
            steal_twice();
            return;
        }
        for (unsigned k = 0; k < 3; ++k) {
            (void)push(k);
            (void)m_deque.owner().expose(1);
        }
        while (pop(1)) {
        }
    }
    void finish() { drain(3); }
};

/// Looks for work in its own empty deque at the very first index, then announces.
struct empty_at_first : deque_client<atom, 4> {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i != 0) {
            steal_twice();
            return;
        }
        check(!pop(1) && m_deque.owner().peek() == 0, "a task out of nothing");
        (void)push(0);
        check(m_deque.owner().private_size() == 1 && m_deque.thief().has_any(),
              "a private task is overlooked");
        (void)m_deque.owner().expose(1);
        (void)pop(1);
        check(!pop(1), "a task out of nothing");
        (void)push(1);
        (void)m_deque.owner().expose(1);
    }
    void finish() { drain(2); }
};

/// All tasks at once are reclaimed, then exposed again at the same indices.
struct taken_back : deque_client<atom, 4> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i != 0) {
            steal_twice();
            return;
        }
        for (unsigned k = 0; k < 3; ++k) {
            (void)push(k);
        }
        (void)m_deque.owner().expose(3);
        (void)pop(all_of_them);
        (void)push(3);
        (void)m_deque.owner().expose(2);
        while (pop(1)) {
        }
    }
    void finish() { drain(4); }
};

/// A ring of two whose slots are used again.
struct small_ring : deque_client<atom, 2> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i != 0) {
            steal_twice();
            return;
        }
        for (unsigned k = 0; k < 4; ++k) {
            if (!push(k)) {
                // Full: reclaimed and run as a call, or a thief has made room.
                if (!reclaim(k, 1)) {
                    (void)m_deque.owner().make_room();
                }
            }
            (void)m_deque.owner().expose(1);
        }
        while (pop(1)) {
        }
    }
    void finish() { drain(4); }
};

/// Growth under thieves.
struct growing : deque_client<atom, 2> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i != 0) {
            steal_twice();
            return;
        }
        for (unsigned k = 0; k < 4; ++k) {
            (void)push(k, true);
            (void)m_deque.owner().expose(1);
        }
        while (pop(1)) {
        }
    }
    void finish() { drain(4); }
};

/// A frame that announces, calls and pops, as join does; thieves ask by the signal word.
template <std::int64_t Start>
struct joining : deque_client<atom, 4> {
    static constexpr unsigned threads = 3;
    joining() : deque_client(Start) {}
    void thread(unsigned i) {
        if (i != 0) {
            m_deque.signal().set(trip::expose);
            steal_twice();
            return;
        }
        (void)push(0);
        (void)push(1);
        const bool second = reclaim(1, 1);
        if (second) {
            m_pushed = 3;
            (void)push(2);
            (void)reclaim(2, 1);
        }
        (void)reclaim(0, 1);
    }
    void finish() { this->drain(m_pushed); }
    unsigned m_pushed = 2; // read in finish() only
};

/// Private tasks made stealable by a thief, against an owner that pops.
template <class Atom, std::int64_t Count, bool Pinned>
struct reaching : deque_client<Atom, 4, Pinned> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 1) {
            (void)this->m_deque.thief().force_expose(Count);
            (void)this->steal();
        } else if (i == 2) {
            // Both, so that only the reach's store of split publishes the last task that it saw.
            this->steal_twice();
        } else {
            (void)this->push(0);
            (void)this->push(1);
            (void)this->pop(1);
            (void)this->push(2);
            (void)this->pop(1);
            (void)this->pop(1);
        }
    }
    void finish() { this->drain(3); }
};

/// Two that reach, and an owner that exposes too.
struct reached_twice : deque_client<atom, 4> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i != 0) {
            (void)m_deque.thief().force_expose(1);
            (void)steal();
            return;
        }
        (void)push(0);
        (void)push(1);
        (void)m_deque.owner().expose(1);
        (void)reclaim(1, all_of_them);
        (void)push(2);
        (void)pop(1);
    }
    void finish() { drain(3); }
};

/// A theft of two: the first in hand, the second on the thief's own deque. A third worker steals it from
/// there. The thief marks the slot after it and announces a task of its own there.
struct hauled : deque_client<atom, 4> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            for (unsigned k = 0; k < 3; ++k) {
                (void)push(k);
            }
            (void)m_deque.owner().expose(1);
            while (pop(1)) {
            }
        } else if (i == 1) {
            rob();
        } else {
            for (unsigned k = 0; k < 2; ++k) {
                const auto got = m_theirs.thief().steal([](task_word) { return true; });
                if (got.status == steal_status::success) {
                    take(got.task);
                }
            }
        }
    }
    void finish() {
        while (const task_word t = m_theirs.owner().pop(1)) {
            take(t);
        }
        drain(m_announced);
    }

private:
    void rob() {
        auto own = m_theirs.owner();
        const auto any = [](task_word) { return true; };
        const auto first = m_deque.thief().steal(any);
        if (first.status != steal_status::success) {
            return;
        }
        (void)m_deque.thief().force_expose(1);
        const auto second = m_deque.thief().steal(any);
        if (second.status == steal_status::success) {
            check(own.has_room(), "an empty ring of four is full");
            (void)own.push(second.task);
            (void)own.expose(1);
        }
        check(own.has_room(), "one task fills a ring of four");
        const std::int64_t mark = own.mark();
        check(!own.pushed_since(mark), "pushed by nobody");
        take(first.task);
        m_tasks.announce(3);
        (void)own.push(4);
        m_announced = 4;
        check(own.pushed_since(mark), "a push is not seen");
        (void)own.expose(2);
        if (const task_word t = own.pop(1)) {
            take(t);
        }
    }
    slot m_their_slots[4];
    ring<atom> m_their_ring{3, nullptr, m_their_slots};
    deque_type m_theirs{&m_their_ring, false};
    unsigned m_announced = 3; // read in finish() only
};

/// Two sparks that their worker has no stack for. A second worker, also without a stack, reaches for them;
/// then, with a stack, it takes one. Their worker announces a continuation in the slot of the taken one.
/// Meanwhile a frame insists on a spark. There always is one, so the answer must not be that there is none.
struct insisted : deque_client<atom, 2> {
    static constexpr unsigned threads = 3;
    insisted() {
        (void)push(0);
        (void)push(1);
    }
    void thread(unsigned i) {
        auto thief = m_deque.thief();
        if (i == 0) {
            if (m_deque.owner().make_room()) {
                m_announced = continuation + 1;
                (void)push(continuation);
            }
            (void)m_deque.owner().expose(1);
        } else if (i == 1) {
            (void)thief.force_expose(1);
            (void)thief.steal([](task_word t) { return t == continuation + 1; });
            (void)steal();
        } else {
            const task_word got = thief.steal_until_settled([](task_word t) { return t != continuation + 1; },
                                                            [](steal_status) {});
            check(got != 0, "a spark in the deque was denied");
            take(got);
        }
    }
    void finish() { drain(m_announced); }

private:
    static constexpr unsigned continuation = 2;
    unsigned m_announced = continuation; // read in finish() only
};

const registered<one_by_one<0>> r1("deque_expose", "exposure one by one, two thieves");
const registered<taken_back> r2("deque_take_back", "take-back of all, exposed again at the same indices");
const registered<small_ring> r3("deque_small_ring", "a ring of two, slots used again, full");
const registered<growing> r4("deque_grow", "growth under two thieves");
const registered<joining<0>> r5("deque_join", "announce, call, take back; thieves ask by the signal_word");
// The last index that a limit can name: the sign and the bits above it are wishes.
const registered<joining<pilfer::detail::signal_word<atom>::limit_mask - 5>>
    r6("deque_join_last_indices", "the same where positions end");
const registered<reaching<atom, 1, false>> r7("deque_reach",
                                              "a thief reaches for one, another steals, the owner pops");
const registered<reaching<atom, 2, false>> r8("deque_reach_two", "a thief reaches for two");
const registered<reaching<symmetric_atom, 1, true>> r9("deque_reach_pinned",
                                                       "the same without membarrier: pinned");
const registered<reached_twice> r10("deque_reach_expose", "two reaches against exposure and take-back");
const registered<empty_at_first> r11("deque_empty", "pops from an empty deque at the first index");
const registered<one_by_one<254>> r12("deque_expose_byte", "exposure across the end of a byte");
const registered<hauled> r14("deque_haul", "a theft of two, the second of which is stolen on");
const registered<insisted> r15("deque_insist", "a frame without a stack insists, others reach and steal");
const registered<one_by_one<(std::int64_t{1} << 32) - 2>> r13("deque_expose_word",
                                                              "exposure across the end of 32 bits");

} // namespace
