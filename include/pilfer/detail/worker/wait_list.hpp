// Who waits for an object: a list under a lock, from which exactly one takes each waiter.
//
// A waiter enters while it still runs, and only then leaves its stack or blocks. Who takes it out decides why
// it goes on: notified, or withdrawn because its time was over. States, edges P1..P3 and the argument:
// src/sync/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/worker/handover.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// `Park` as for `sleepers`.
template <class Atom, class Park>
class wait_list {
    template <class T>
    using plain = typename Atom::template plain<T>;

public:
    enum class fate : std::uint32_t {
        outside,  ///< not entered yet
        waiting,  ///< in the list
        called,   ///< in the list, but on its way: it looks itself, under the lock, whether it is still there
        claimed,  ///< in the list, but somebody looks whether it can go on, and withdraws it if need be
        late,     ///< claimed, and its time is over meanwhile
        notified, ///< taken out by who has what it waits for
        withdrawn, ///< taken out because it waits no longer
    };
    /// In the frame of one that waits, until that goes on. All members but `done` belong to the list's lock
    /// while it is in the list, then to who took it out, and from the completion of `done` on to the waiter.
    struct entry {
        plain<entry*> next = nullptr;
        plain<entry*> previous = nullptr;
        plain<fate> end = fate::outside;
        plain<std::uint32_t> passed = 0; ///< for the object: how often others were quicker
        plain<std::uintptr_t> wants = 0; ///< for the object: what it waits for, or where to put it
        handover<Atom> done;
    };

    void lock() noexcept { m_lock.lock(); }
    void unlock() noexcept { m_lock.unlock(); }

    // The rest under the lock, unless it says otherwise.

    [[nodiscard]] bool empty() const noexcept { return m_first == nullptr; }
    /// The one that has waited longest; null: none.
    [[nodiscard]] entry* first() const noexcept { return m_first; }
    /// Behind all others.
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
    /// It goes on without being taken out: nobody withdraws it any more but itself. Who calls this completes
    /// `e.done` behind unlock().
    void call(entry& e) noexcept {
        ensure([&e] { return e.end == fate::waiting; }, "a waiter was called that does not wait");
        e.end = fate::called;
    }
    /// By an entry that was called and goes on: waits again, at the same place.
    void wait_again(entry& e) noexcept {
        ensure([&e] { return e.end == fate::called; }, "a waiter waits again that was not called");
        e.done.reset();
        e.end = fate::waiting;
    }
    /// Nobody withdraws it from now on but who calls this, who ends that by take() or disclaim(). Needed
    /// where the decision takes longer than the lock is held.
    void claim(entry& e) noexcept {
        ensure([&e] { return e.end == fate::waiting; }, "a waiter was claimed that does not wait");
        e.end = fate::claimed;
    }
    /// By who has claimed it. True: it waits as before, at the same place. False: its time was over
    /// meanwhile, and it is outside; its completion is the caller's.
    [[nodiscard]] bool disclaim(entry& e) noexcept {
        if (e.end == fate::late) {
            take(e, fate::withdrawn);
            return false;
        }
        ensure([&e] { return e.end == fate::claimed; }, "a waiter was disclaimed that nobody had claimed");
        e.end = fate::waiting;
        return true;
    }
    /// Who calls this completes `e.done` behind unlock(), where nobody else can withdraw it any more; unless
    /// it was called, for then whoever did that completes it.
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
    /// Everybody, as a chain by `next`. Read `next` before `done` is completed.
    [[nodiscard]] entry* take_all() noexcept {
        entry* const all = m_first;
        for (entry* e = all; e != nullptr; e = e->next) {
            e->end = fate::notified;
        }
        m_first = nullptr;
        m_last = nullptr;
        return all;
    }
    /// Without the lock; by the waiter itself or for it. True: nobody else takes it out; its completion is
    /// the caller's. False: somebody has taken it out, called or claimed it, and completes it.
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

private:
    raw_lock<Atom, Park> m_lock;
    plain<entry*> m_first = nullptr;
    plain<entry*> m_last = nullptr;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
