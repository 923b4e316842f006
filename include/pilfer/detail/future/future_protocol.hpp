// The life of a future: one claims its task or sets it, any number wait for its end, the last reference ends
// it.
//
// States, edges F1..F7 and the argument why nobody is left waiting: src/future/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/chaos.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/worker/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class future_protocol {
public:
    enum stage : std::uint32_t {
        pending, ///< a promise that is not set, or a task that waits for another future
        queued,  ///< announced: who takes it, or waits for it, may claim it
        running, ///< the result is being made
        done,
    };
    using word = std::uintptr_t;

    /// In the frame of one that waits.
    struct waiter {
        typename Atom::template plain<waiter*> next = nullptr;
        typename Atom::template plain<word> who = 0; // what finish() hands to its caller
    };

    /// With the handle's reference and the announcement's.
    future_protocol() noexcept = default;
    future_protocol(stage first, std::uint32_t references) noexcept
        : m_stage(first), m_references(references) {}

    /// Whoever holds a reference makes another one.
    void retain() noexcept { m_references.fetch_add(1, rlx); }
    /// True: it was the last one, and every use of the others happened before (F5); destroy the object.
    /// False: never touch it again.
    [[nodiscard]] bool release() noexcept {
        if (m_references.load(acq) == 1) { // F5: nobody is left who could make another one
            return true;
        }
        const std::uint32_t before = m_references.fetch_sub(1, acq_rel);
        ensure([before] { return before != 0; }, "a future was released once too often");
        return before == 1;
    }

    /// Acquires what the task wrote (F2).
    [[nodiscard]] bool is_done() const noexcept { return m_stage.load(acq) == done; }
    [[nodiscard]] stage now() const noexcept { return static_cast<stage>(m_stage.load(acq)); }
    /// True: the caller runs the task, nobody else does. What it needs came with the announcement (F1), or
    /// from enqueue() (F6).
    [[nodiscard]] bool claim() noexcept {
        PILFER_CHAOS_POINT(future);
        std::uint32_t expected = queued;
        return m_stage.compare_exchange_strong(expected, running, acq_rel, rlx);
    }
    /// Setter of a promise. True: the caller writes the result, nobody else does.
    [[nodiscard]] bool begin() noexcept {
        PILFER_CHAOS_POINT(future);
        std::uint32_t expected = pending;
        // One winner is all: what it needs came with the promise, or with the entry that it was found by
        // (F4).
        return m_stage.compare_exchange_strong(expected, running, rlx, rlx);
    }
    /// What a task waited for is there, and the caller is about to announce it: from now on others may claim
    /// it, and see what the caller has seen (F6).
    void enqueue() noexcept {
        PILFER_CHAOS_POINT(future);
        m_stage.store(queued, rel); // F6
        PILFER_CHAOS_POINT(future);
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
    typename Atom::template atomic<std::uint32_t> m_references{2};
    typename Atom::template atomic<word> m_waiters{0};
};

/// Those who wait for a future no longer than until some time: they leave before its end, so they wait in a
/// list with removal. The room of a future is made for its first one, and told of the end once, for all of
/// them. `Park` as for `sleepers`.
template <class Atom, class Park>
class future_room {
public:
    using list = wait_list<Atom, Park>;
    using entry = typename list::entry;

    /// False: the future is done (F7).
    [[nodiscard]] bool enter(entry& e) noexcept {
        m_list.lock();
        const bool open = !m_closed;
        if (open) {
            m_list.add(e);
        }
        m_list.unlock();
        return open;
    }
    /// The future is done: nobody enters from now on. Who was there, as a chain; the caller completes them.
    [[nodiscard]] entry* close() noexcept {
        m_list.lock();
        m_closed = true;
        entry* const all = m_list.take_all();
        m_list.unlock();
        return all;
    }
    [[nodiscard]] list& waiters() noexcept { return m_list; }

private:
    list m_list;
    typename Atom::template plain<bool> m_closed = false;
};

/// Where a future keeps what only few futures need: nothing, then for good what the first one put there.
template <class Atom, class Room>
class room_place {
public:
    [[nodiscard]] Room* look() const noexcept { return m_room.load(acq); } // F7
    /// Null: `mine` is there now. Else what somebody else put there.
    [[nodiscard]] Room* put(Room* mine) noexcept {
        PILFER_CHAOS_POINT(future);
        Room* there = nullptr;
        return m_room.compare_exchange_strong(there, mine, rel, acq) ? nullptr : there; // F7
    }

private:
    typename Atom::template atomic<Room*> m_room{nullptr};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
