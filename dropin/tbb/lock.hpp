// The lock and the futex of the core, under short names.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/raw_lock.hpp>

#include "headers.hpp"

namespace tbb::detail::r1 {

/// A lock for sections of some instructions. It tries more often than the locks of the core before it sleeps:
/// with three tries a recursion of tiny tasks made ten times as many system calls.
using short_lock = pilfer::detail::raw_lock<pilfer::detail::std_atom, pilfer::detail::futex_park, 60>;
using guard = std::lock_guard<short_lock>;

/// One sleep of one thread. The waker calls wake() under the lock of the list that holds the object, so the
/// sleeper may destroy it after it has left that list.
class nap {
public:
    void sleep() noexcept {
        while (m_woken.load(std::memory_order_acquire) == 0) {
            pilfer::detail::futex_park::wait(m_woken, 0);
        }
    }
    void wake() noexcept {
        m_woken.store(1, std::memory_order_release);
        pilfer::detail::futex_park::wake(m_woken);
    }
    [[nodiscard]] bool woken() const noexcept { return m_woken.load(std::memory_order_acquire) != 0; }

private:
    std::atomic<std::uint32_t> m_woken{0};
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
