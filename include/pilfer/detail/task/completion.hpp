// The handshake between a waiter and the end of what it waits for: the two counters of every join, and the
// word on which a thread waits.
//
// All follow one rule. The last party to arrive resumes the waiting frame. For every other party the arrival
// is the last access to the frame. States, edges J1..J6 and the argument: src/scope/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// One child, one waiter. State: 0 (running, no waiter), done, or the word of the waiter.
template <class Atom>
class completion {
public:
    using word = std::uintptr_t;
    static constexpr word done = 1;

    /// Acquires what the child wrote (worker.J1).
    [[nodiscard]] bool is_done() const noexcept { return m_state.load(acq) == done; }
    /// Waiter, after it has left its stack: false if the child was faster (worker.J1); otherwise the waiter's
    /// saved registers are released to the child (worker.J2).
    [[nodiscard]] bool publish(word waiter) noexcept {
        word expected = 0;
        return m_state.compare_exchange_strong(expected, waiter, acq_rel, acq);
    }
    /// Child: releases the result (worker.J1), acquires the waiter (worker.J2). The caller must resume the
    /// returned waiter; 0: never touch the frame again.
    [[nodiscard]] word complete() noexcept {
        PILFER_CHAOS_POINT(complete);
        return m_state.exchange(done, acq_rel);
    }
    /// Waiter, after its wait: prepares for one more child, which is notified of this by other means.
    void reset() noexcept { m_state.store(0, rlx); }

private:
    typename Atom::template atomic<word> m_state{0};
};

/// The wait of a thread outside the pool: one word on its own stack, which ends with the wait.
template <class Atom>
class thread_latch {
public:
    /// Acquires what the releasing thread wrote (worker.J5). `Park`: as for `sleepers`.
    template <class Park>
    void wait() noexcept {
        while (m_word.load(acq) == 0) {
            Park::wait(m_word, 0);
        }
    }
    /// As wait(), but returns false once `left()` is 0 nanoseconds; the latch may be released nevertheless.
    template <class Park, class Left>
    [[nodiscard]] bool wait_while(Left left) noexcept {
        while (m_word.load(acq) == 0) {
            const std::uint64_t ns = left();
            if (ns == 0) {
                return false;
            }
            Park::wait_for(m_word, 0, ns);
        }
        return true;
    }
    /// After the store only the address is used: the waiter may be gone. The wake-up may reach another object
    /// at that address, which every futex user has to expect anyway.
    template <class Park>
    void release() noexcept {
        auto& word = m_word;
        word.store(1, rel); // worker.J5
        Park::wake(word);
    }

    /// True if released. A relaxed look: only wait() acquires.
    [[nodiscard]] bool is_released() const noexcept { return m_word.load(rlx) != 0; }
    /// The word, 0 until the release, for a thread that also sleeps on another word.
    [[nodiscard]] auto& word() noexcept { return m_word; }

private:
    typename Atom::template atomic<std::uint32_t> m_word{0};
};

/// Any number of children, one waiter. `pending` is plain: it belongs to the executor of the parent, and
/// counts what other threads will subtract. The waiter adds it once, together with `waiting`.
template <class Atom>
class child_counter {
public:
    using count = std::int64_t;
    static constexpr count waiting = count{1} << 48;

#if defined(PILFER_CHAOS)
    // Chaos: children that do not exist. Both halves begin far from zero and cancel out.
    child_counter() noexcept {
        const count start = chaos::start_children();
        m_count.store(-start, rlx);
        m_pending = start;
    }
#endif

    /// Parent's executor: one more child is finished by a subtraction.
    void add() noexcept { m_pending = m_pending + 1; }
    /// Parent's executor: it ran such a child itself.
    void complete() noexcept { m_pending = m_pending - 1; }
    [[nodiscard]] count pending() const noexcept { return m_pending; }
    /// An unfinished task below the parent adds a child. The task itself need not be counted here.
    void announce_from_below() noexcept { m_count.fetch_add(1, rlx); }
    /// The end of a child elsewhere: releases what the child wrote (worker.J3), acquires the waiter's
    /// registers (worker.J4). True: it was the last and the parent waits; resume it. False: never touch the
    /// scope again.
    [[nodiscard]] bool finish_one() noexcept {
        PILFER_CHAOS_POINT(complete);
        return m_count.fetch_sub(1, acq_rel) == waiting + 1;
    }
    /// Parent's executor: true if all children have ended (worker.J3).
    [[nodiscard]] bool all_done() const noexcept { return m_count.load(acq) == -pending(); }
    /// Parent's executor: true if no other thread ever took one of its own announcements. One load.
    [[nodiscard]] bool untouched() const noexcept { return m_pending == 0; }
    /// True if nothing is owed and nothing counted, as after construction.
    [[nodiscard]] bool at_rest() const noexcept { return m_pending == 0 && m_count.load(rlx) == 0; }
    /// Parent, after it has left its stack: true if it now waits.
    [[nodiscard]] bool publish() noexcept {
        const count add = pending() + waiting;
        return m_count.fetch_add(add, acq_rel) + add != waiting;
    }
    /// Parent, published and not resumed by a child: undoes publish(). False: all children have ended, and
    /// the last one is about to resume the parent.
    [[nodiscard]] bool withdraw() noexcept {
        count seen = m_count.load(rlx);
        while (seen != waiting) {
            if (m_count.compare_exchange_weak(seen, seen - waiting - pending(), rlx, rlx)) { // worker.J6
                return true;
            }
        }
        return false;
    }
    /// For reports, while the parent waits: the number of children that have not ended.
    [[nodiscard]] count left() const noexcept { return m_count.load(rlx) - waiting; }
    /// Parent, after it was resumed or found all children ended: prepares the scope for its next use.
    void reset() noexcept {
        (void)m_count.load(acq); // worker.J3 for a parent that was resumed without reading the counter
        m_count.store(0, rlx);
        m_pending = 0;
    }

private:
    typename Atom::template atomic<count> m_count{0};
    typename Atom::template plain<count> m_pending{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
