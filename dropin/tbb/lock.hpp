// The lock and the futex of the core, under short names.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/wait/wait.hpp>

#include "headers.hpp"

namespace tbb::detail::r1 {

/// A lock for sections of some instructions. It tries more often than the locks of the core before it sleeps:
/// with three tries a recursion of tiny tasks made ten times as many system calls.
using short_lock = pilfer::detail::raw_lock<pilfer::detail::std_atom, pilfer::detail::futex_park, 60>;
using guard = std::lock_guard<short_lock>;

/// One sleep of one stack. No cancellation of pilfer ends it. Only the first call of wake() counts. The
/// sleeper may destroy the object after its sleep and the last such call.
class nap {
public:
    /// The task of a pool suspends, any other thread blocks.
    void sleep() noexcept { wait(pilfer::detail::awaited::anything); }
    /// In a task of the library's own pool: the thread sleeps, until this or another stack has to go on on
    /// it.
    void block() noexcept { wait(pilfer::detail::awaited::beside_nothing); }
    /// sleep() of a thread outside. `late` is called after each 10 seconds, until it returns false.
    void sleep_outside(bool (*late)(std::uint64_t& state), std::uint64_t state) noexcept;
    void wake() noexcept {
        if (!m_is_called.exchange(true, std::memory_order_relaxed)) {
            pilfer::detail::go_on(m_entry);
        }
    }
    [[nodiscard]] bool woken() const noexcept { return m_entry.done.is_done(); }
    /// By the sleeper, between two sleeps.
    void reset() noexcept {
        m_entry.done.reset();
        m_is_called.store(false, std::memory_order_relaxed);
    }

private:
    void wait(pilfer::detail::awaited what) noexcept {
        pilfer::detail::waiters none;
        pilfer::detail::wait_in(none, m_entry, pilfer::detail::never, kind, this, what);
    }

    static constexpr pilfer::detail::wait_kind kind{
        "oneTBB", [](const pilfer::detail::suspension&, pilfer::detail::wait_facts&) noexcept {}};
    pilfer::detail::waiters::entry m_entry;
    std::atomic<bool> m_is_called{false};
};

/// A doubly linked list of objects that have `previous` and `next`. It owns nothing.
template <class T>
class chain {
public:
    void push_back(T& x) noexcept {
        x.previous = m_last;
        x.next = nullptr;
        (m_last != nullptr ? m_last->next : m_first) = &x;
        m_last = &x;
    }
    void remove(T& x) noexcept {
        (x.previous != nullptr ? x.previous->next : m_first) = x.next;
        (x.next != nullptr ? x.next->previous : m_last) = x.previous;
        x.previous = x.next = nullptr;
    }
    [[nodiscard]] T* first() const noexcept { return m_first; }
    [[nodiscard]] T* last() const noexcept { return m_last; }

private:
    T* m_first = nullptr;
    T* m_last = nullptr;
};

} // namespace tbb::detail::r1
