// The life of a future's task: one claims it, any number wait for its end, the last reference ends it.
//
// States, edges F1..F5 and the argument why nobody is left waiting: src/future/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/atom.hpp>
#include <pilfer/detail/chaos.hpp>
#include <pilfer/detail/checked.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class future_protocol {
public:
    enum stage : std::uint32_t { queued, running, done };
    using word = std::uintptr_t;

    /// In the frame of one that waits.
    struct waiter {
        typename Atom::template plain<waiter*> next = nullptr;
        typename Atom::template plain<word> who = 0; // what finish() hands to its caller
    };

    /// Whoever holds a reference makes another one.
    void retain() noexcept { m_references.fetch_add(1, rlx); }
    /// True: it was the last one, and every use of the others happened before (F5); destroy the object.
    /// False: never touch it again.
    [[nodiscard]] bool release() noexcept {
        const std::uint32_t before = m_references.fetch_sub(1, acq_rel);
        ensure([before] { return before != 0; }, "a future was released once too often");
        return before == 1;
    }

    /// Acquires what the task wrote (F2).
    [[nodiscard]] bool is_done() const noexcept { return m_stage.load(acq) == done; }
    [[nodiscard]] stage now() const noexcept { return static_cast<stage>(m_stage.load(acq)); }
    /// True: the caller runs the task, nobody else does. What it needs came with the announcement (F1).
    [[nodiscard]] bool claim() noexcept {
        PILFER_CHAOS_POINT(future);
        std::uint32_t expected = queued;
        return m_stage.compare_exchange_strong(expected, running, acq_rel, rlx);
    }
    /// Waiter, after it has left its stack: false if the task has ended (F3). True: `w` and the frame around
    /// it are the claimer's until it goes on (F4).
    [[nodiscard]] bool add_waiter(waiter& w) noexcept {
        word head = m_waiters.load(acq);
        do {
            if (head == closed) {
                return false;
            }
            w.next = reinterpret_cast<waiter*>(head);
            PILFER_CHAOS_POINT(future);
        } while (!m_waiters.compare_exchange_weak(head, reinterpret_cast<word>(&w), rel, acq));
        return true;
    }
    /// Claimer, the result is written: nobody waits from now on. `go_on(who)` for each that did.
    template <class GoOn>
    void finish(GoOn go_on) {
        PILFER_CHAOS_POINT(future);
        m_stage.store(done, rel); // F2
        PILFER_CHAOS_POINT(future);
        const word all = m_waiters.exchange(closed, acq_rel); // F3, F4
        for (auto* w = reinterpret_cast<waiter*>(all); w != nullptr;) {
            waiter* const after = w->next; // before its frame may go on
            const word who = w->who;
            go_on(who);
            w = after;
        }
    }

private:
    /// Instead of the newest waiter: there is no instant between "done" and "nobody may join the list".
    static constexpr word closed = 1;

    typename Atom::template atomic<std::uint32_t> m_stage{queued};
    typename Atom::template atomic<std::uint32_t> m_references{2}; // the handle's and the announcement's
    typename Atom::template atomic<word> m_waiters{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
