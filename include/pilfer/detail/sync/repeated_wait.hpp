// A wait that is repeated in the list of its object, without a stack: `on`.
//
// Exactly one party advances each round: the notifier, the canceller, or the end of the pool. States, edges
// O1..O6 and the argument: src/io/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park`: as for `sleepers`.
template <class Atom, class Park>
class repeated_wait {
public:
    using list_type = wait_list<Atom, Park>;
    enum stage : std::uint32_t {
        waiting,  ///< Its entry is in the list, or on its way into it or out of it.
        busy,     ///< Queued, or running.
        leaving,  ///< Cancelled while it waited, and the canceller is still at its list.
        stopping, ///< Cancelled: the next party that has it ends it.
        refused,  ///< Its pool was closed when its turn came: the end of the pool ends it.
        ending,   ///< The end of the pool takes it; another thread is still at its entry.
        left,     ///< The other thread has left the entry.
        over,
    };
    enum class turn {
        run,     ///< Queue it.
        end,     ///< Queue it to be ended.
        nothing, ///< Touch it no more.
    };
    enum class canceller {
        no,     ///< It would not have run again.
        others, ///< Another thread ends it.
        self,   ///< The caller ends it.
        alone,  ///< In a child of fork(): only the caller could end it.
    };

    /// Called before it enters the list once more. False: it was cancelled.
    [[nodiscard]] bool begin_round() noexcept {
        entry.done.reset();
        entry.end = list_type::fate::outside;
        std::uint32_t expected = busy;
        return m_stage.compare_exchange_strong(expected, waiting, rel, rlx); // io.O1
    }
    /// Called after it entered the list; the notifier finds `word`. True: it waits, and the caller touches it
    /// no more. False: the caller calls take_turn().
    [[nodiscard]] bool settle(list_type& list, std::uintptr_t word) noexcept {
        // io.O2, by the list's lock: a canceller may have looked into the list before the entry was in it.
        if (m_stage.load(rlx) != waiting && list.withdraw(entry)) {
            return false;
        }
        return entry.done.publish(word);
    }
    /// Called once a round, by the thread that finds its word, or whose settle() failed.
    [[nodiscard]] turn take_turn() noexcept {
        std::uint32_t was = waiting;
        if (m_stage.compare_exchange_strong(was, busy, rlx, rlx)) { // io.O1
            return turn::run;
        }
        if (was == ending) {
            m_stage.store(left, rel); // io.O3
            return turn::nothing;
        }
        return turn::end;
    }
    /// After take_turn(), if the pool does not accept it any more. The caller touches it no more.
    void refuse() noexcept {
        await_canceller();
        m_stage.store(refused, rel); // io.O3
    }
    [[nodiscard]] bool is_stopping() const noexcept {
        const std::uint32_t now = m_stage.load(rlx);
        return now == leaving || now == stopping;
    }
    /// Called by the thread that ends it, before it gives up what a canceller may still use: the list and the
    /// pool.
    void await_canceller() const noexcept {
        for (unsigned round = 0; m_stage.load(acq) == leaving; ++round) { // io.O6
            Atom::relax(round);
        }
    }
    /// Marks its end. No other thread advances it any more.
    void finish() noexcept { m_stage.store(over, rel); }                              // io.O5
    [[nodiscard]] bool is_over() const noexcept { return m_stage.load(acq) == over; } // io.O5

    /// Cancels it. `list()`: the list that it waits in. `is_alone()`: the threads that advance it are in the
    /// parent process, so the lock of the list may never open. Both are called only while it waits.
    template <class List, class IsAlone>
    [[nodiscard]] canceller cancel(List list, IsAlone is_alone) noexcept {
        std::uint32_t was = m_stage.load(rlx);
        do {
            if (was != waiting && was != busy) {
                return canceller::no;
            }
        } while (!m_stage.compare_exchange_weak(was, was == waiting ? leaving : stopping, acq, rlx)); // io.O1
        if (was == busy) {
            return canceller::others;
        }
        if (is_alone()) {
            return canceller::alone;
        }
        const bool mine = take_out(list());
        m_stage.store(stopping, rel); // io.O6: if it is not mine, this is the last touch
        return mine ? canceller::self : canceller::others;
    }
    /// Called at the end of the pool, when nothing runs in it. True: the caller ends it. False: a canceller
    /// ends it, and needs the pool until then.
    template <class List>
    [[nodiscard]] bool sweep(List list) noexcept {
        std::uint32_t was = m_stage.load(acq);
        for (unsigned round = 0; was == waiting || was == busy; ++round) {
            if (was == busy) { // about to be refused
                Atom::relax(round);
                was = m_stage.load(acq);
            } else if (m_stage.compare_exchange_weak(was, ending, acq, acq)) { // io.O1
                if (!take_out(list())) {
                    for (unsigned k = 0; m_stage.load(acq) != left; ++k) { // io.O3
                        Atom::relax(k);
                    }
                }
                return true;
            }
        }
        return was == refused;
    }

    typename list_type::entry entry;

private:
    /// True: the entry was in the list, and the thread that put it there is done with it.
    [[nodiscard]] bool take_out(list_type& list) noexcept {
        return list.withdraw(entry) && entry.done.complete() != 0;
    }
    typename Atom::template atomic<std::uint32_t> m_stage{busy};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
