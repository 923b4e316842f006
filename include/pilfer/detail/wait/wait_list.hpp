// The waiters of an object: a list under a lock, from which exactly one thread takes each waiter.
//
// A waiter enters while it still runs, and only then leaves its stack or blocks. The thread that takes it out
// decides why its wait ends: notified, or withdrawn because its time was over. States, edges P1..P3 and the
// argument: src/sync/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/task/completion.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park`: as for `sleepers`.
template <class Atom, class Park>
class wait_list {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    enum class fate : std::uint32_t {
        outside,   ///< Not entered yet.
        waiting,   ///< In the list.
        called,    ///< In the list, but about to be resumed: it looks itself, under the lock, whether it is
                   ///< still there.
        claimed,   ///< In the list, but another thread decides whether its wait can end, and may withdraw it.
        late,      ///< Claimed, and its time is over meanwhile.
        notified,  ///< Taken out by the thread that has what it waits for.
        withdrawn, ///< Taken out because its time is over or it was cancelled.
    };
    /// The entry of a waiter, in its frame, until its wait ends. All members but `done` belong to the list's
    /// lock while it is in the list. Then they belong to the thread that took it out, and from the completion
    /// of `done` on to the waiter.
    struct entry {
        plain<entry*> next = nullptr;
        plain<entry*> previous = nullptr;
        plain<fate> end = fate::outside;
        plain<std::uint32_t> passed = 0; ///< For the object: how often later comers were served first.
        plain<std::uintptr_t> wants = 0; ///< For the object: what it waits for, or where to put it.
        completion<Atom> done;
    };

    void lock() noexcept { m_lock.lock(); }
    void unlock() noexcept { m_lock.unlock(); }

    // The other functions are called under the lock, unless they say otherwise.

    [[nodiscard]] bool empty() const noexcept { return m_first == nullptr; }
    /// The entry that has waited longest; null: none.
    [[nodiscard]] entry* first() const noexcept { return m_first; }
    /// Adds `e` at the end.
    void add(entry& e) noexcept {
        ensure([&e] { return e.end != fate::waiting; }, "a waiter entered a list twice");
        e.end = fate::waiting;
        e.next = nullptr;
        e.previous = m_last;
        entry* const last = m_last;
        if (last == nullptr) {
            m_first = &e;
        } else {
            last->next = &e;
        }
        m_last = &e;
    }
    /// Resumes `e` without taking it out: from now on only the waiter itself withdraws it. The caller
    /// completes `e.done` after unlock().
    void call(entry& e) noexcept {
        ensure([&e] { return e.end == fate::waiting; }, "a waiter was called that does not wait");
        e.end = fate::called;
    }
    /// By an entry that was called and resumed: it waits again, at the same place.
    void wait_again(entry& e) noexcept {
        ensure([&e] { return e.end == fate::called; }, "a waiter waits again that was not called");
        e.done.reset();
        e.end = fate::waiting;
    }
    /// From now on only the caller withdraws `e`, until it calls take() or disclaim(). Needed if the decision
    /// takes longer than the lock is held.
    void claim(entry& e) noexcept {
        ensure([&e] { return e.end == fate::waiting; }, "a waiter was claimed that does not wait");
        e.end = fate::claimed;
    }
    /// By the thread that has claimed `e`. True: it waits as before, at the same place. False: its time was
    /// over meanwhile, and it is outside; the caller completes it.
    [[nodiscard]] bool disclaim(entry& e) noexcept {
        if (e.end == fate::late) {
            take(e, fate::withdrawn);
            return false;
        }
        ensure([&e] { return e.end == fate::claimed; }, "a waiter was disclaimed that nobody had claimed");
        e.end = fate::waiting;
        return true;
    }
    /// Takes `e` out. The caller completes `e.done` after unlock(), when no other thread can withdraw it any
    /// more. If `e` was called, the caller of call() completes it instead.
    void take(entry& e, fate why = fate::notified) noexcept {
        ensure([&e] { return e.end != fate::outside && e.end != fate::notified && e.end != fate::withdrawn; },
               "a waiter was taken out of a list twice");
        entry* const next = e.next;
        entry* const previous = e.previous;
        if (previous == nullptr) {
            m_first = next;
        } else {
            previous->next = next;
        }
        if (next == nullptr) {
            m_last = previous;
        } else {
            next->previous = previous;
        }
        e.end = why;
        e.next = nullptr;
    }
    /// Takes all entries, as a chain by `next`. Read `next` before `done` is completed.
    [[nodiscard]] entry* take_all() noexcept {
        entry* const all = m_first;
        for (entry* e = all; e != nullptr; e = e->next) {
            e->end = fate::notified;
        }
        m_first = nullptr;
        m_last = nullptr;
        return all;
    }
    /// Without the lock; by the waiter itself or on its behalf. True: the caller has taken it out and
    /// completes it. False: another thread has taken it out, called or claimed it, and completes it.
    [[nodiscard]] bool withdraw(entry& e) noexcept {
        lock();
        const fate now = e.end;
        const bool mine = now == fate::waiting;
        if (mine) {
            take(e, fate::withdrawn);
        } else if (now == fate::claimed) {
            e.end = fate::late;
        }
        unlock();
        return mine;
    }
    /// withdraw() in a child of fork(), where a thread of the parent may hold the lock for ever. False: also
    /// if any thread keeps it. Then `e` may still be in the list.
    [[nodiscard]] bool try_withdraw(entry& e) noexcept {
        for (unsigned round = 0; !m_lock.try_lock(); ++round) {
            if (round == 1000) { // a thread of the child would have unlocked it
                return false;
            }
            Atom::relax(round);
        }
        const bool mine = e.end == fate::waiting;
        if (mine) {
            take(e, fate::withdrawn);
        }
        unlock();
        return mine;
    }

private:
    raw_lock<Atom, Park> m_lock;
    plain<entry*> m_first = nullptr;
    plain<entry*> m_last = nullptr;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
