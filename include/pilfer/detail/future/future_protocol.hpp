// The life of a future: one thread claims its task or sets it, any number wait for its end, and the last
// reference destroys it.
//
// States, edges F1..F7 and the argument why every waiter is released: src/future/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/chaos.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/wait/wait_list.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class future_protocol {
public:
    enum stage : std::uint32_t {
        pending, ///< a promise that is not set, or a task that waits for another future
        queued,  ///< announced: a thread that takes it, or waits for it, may claim it
        running, ///< the result is being made
        done,
    };
    using word = std::uintptr_t;

    /// The entry of a waiter, in its frame.
    struct waiter {
        typename Atom::template plain<waiter*> next = nullptr;
        typename Atom::template plain<word> who = 0; // the word that finish() passes to go_on()
    };

    /// A queued task with two references, the handle's and the announcement's.
    future_protocol() noexcept = default;
    future_protocol(stage first, std::uint32_t references) noexcept
        : m_stage(first), m_references(references) {}

    /// Adds a reference. The caller must hold one.
    void retain() noexcept { m_references.fetch_add(1, rlx); }
    /// True: this was the last reference, and every use of the others happened before (future.F5); destroy
    /// the object. False: never touch it again.
    [[nodiscard]] bool release() noexcept {
        if (m_references.load(acq) == 1) { // future.F5: no other thread is left that could add one
            return true;
        }
        const std::uint32_t before = m_references.fetch_sub(1, acq_rel);
        ensure([before] { return before != 0; }, "a future was released once too often");
        return before == 1;
    }

    /// Acquires what the task wrote (future.F2).
    [[nodiscard]] bool is_done() const noexcept { return m_stage.load(acq) == done; }
    [[nodiscard]] stage now() const noexcept { return static_cast<stage>(m_stage.load(acq)); }
    /// True: the caller alone runs the task. The data of the task came with the announcement (future.F1), or
    /// from enqueue() (future.F6).
    [[nodiscard]] bool claim() noexcept {
        PILFER_CHAOS_POINT(future);
        std::uint32_t expected = queued;
        return m_stage.compare_exchange_strong(expected, running, acq_rel, rlx);
    }
    /// Setter of a promise. True: the caller alone writes the result.
    [[nodiscard]] bool begin() noexcept {
        PILFER_CHAOS_POINT(future);
        std::uint32_t expected = pending;
        // One winner is enough. The data for the setter came with the promise, or with the entry through
        // which it was found (future.F4).
        return m_stage.compare_exchange_strong(expected, running, rlx, rlx);
    }
    /// The future that a task waited for is done, and the caller is about to announce the task. From now on
    /// other threads may claim it, and see what the caller has seen (future.F6).
    void enqueue() noexcept {
        PILFER_CHAOS_POINT(future);
        m_stage.store(queued, rel); // future.F6
        PILFER_CHAOS_POINT(future);
    }
    /// Waiter, after it has left its stack. False: the task has ended (future.F3). True: `w` and the frame
    /// around it are the claimer's until the frame is resumed (future.F4).
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
    /// Claimer, after the result is written: closes the list of waiters and calls `go_on(who)` for each.
    template <class GoOn>
    void finish(GoOn go_on) {
        PILFER_CHAOS_POINT(future);
        m_stage.store(done, rel); // future.F2
        PILFER_CHAOS_POINT(future);
        const word all = m_waiters.exchange(closed, acq_rel); // future.F3, future.F4
        for (auto* w = reinterpret_cast<waiter*>(all); w != nullptr;) {
            waiter* const after = w->next; // before its frame may go on
            const word who = w->who;
            go_on(who);
            w = after;
        }
    }

private:
    /// Stored instead of the newest waiter, so that the list is closed in the same instant in which the
    /// waiters are taken.
    static constexpr word closed = 1;

    typename Atom::template atomic<std::uint32_t> m_stage{queued};
    typename Atom::template atomic<std::uint32_t> m_references{2};
    typename Atom::template atomic<word> m_waiters{0};
};

/// The waiters of one future that may leave before its end: those with a time limit, and those that can be
/// cancelled. They wait in a list with removal. The first one makes the list, and the future notifies it once
/// for all of them. `Park`: as for `sleepers`.
template <class Atom, class Park>
class future_waiters {
public:
    using list = wait_list<Atom, Park>;
    using entry = typename list::entry;

    /// False: the future is done (future.F7).
    [[nodiscard]] bool enter(entry& e) noexcept {
        m_list.lock();
        const bool open = !m_closed;
        if (open) {
            m_list.add(e);
        }
        m_list.unlock();
        return open;
    }
    /// The future is done: closes the list. Returns the entries in it, as a chain; the caller completes them.
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

/// The place for what only few futures need. It is empty until one is put, which then stays.
template <class Atom, class Room>
class waiters_cell {
public:
    [[nodiscard]] Room* look() const noexcept { return m_waiters_cell.load(acq); } // future.F7
    /// Null: `mine` is in the place now. Otherwise the one that another thread has put there.
    [[nodiscard]] Room* put(Room* mine) noexcept {
        PILFER_CHAOS_POINT(future);
        Room* there = nullptr;
        return m_waiters_cell.compare_exchange_strong(there, mine, rel, acq) ? nullptr : there; // future.F7
    }

private:
    typename Atom::template atomic<Room*> m_waiters_cell{nullptr};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
