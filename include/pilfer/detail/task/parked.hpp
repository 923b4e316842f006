// Waiting coroutines, for reports: they have no stack on which a report could find them.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/task/suspension.hpp>
#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct coroutine_driver;

/// A coroutine as its driver sees it: a base of its promise, or beside a handle of a foreign coroutine.
struct coroutine_frame {
    std::coroutine_handle<> handle;     // null: a root
    coroutine_driver* driver = nullptr; // of its last resumption; valid while it runs
    coroutine_frame* then = nullptr;    // resumed after its end
};

/// One object for each reason to wait.
struct parked_kind {
    const char* what; ///< as in "waits for ..."
    /// Adds facts for a report. It may read what the coroutine may read. Null: there are no facts.
    void (*look)(const void* object, wait_facts&) noexcept;
    bool may_stall; ///< false: the awaited thing is not of this library, or is certain to come
};

/// The entry of a coroutine in a list, in its frame, from before it is published until a thread resumes it.
/// Under the lock of the list.
struct parked {
    parked* next = nullptr;
    parked* previous = nullptr;
    const coroutine_frame* who = nullptr;
    const parked_kind* why = nullptr;
    const void* object = nullptr;
};

/// The coroutines that suspended on one worker. A thread that resumes one takes it out of the list first of
/// all. So everything in the list stays unchanged while its lock is held.
class parked_list {
public:
    void add(parked& p) noexcept {
        m_lock.lock();
        p.previous = nullptr;
        p.next = m_first;
        if (m_first != nullptr) {
            m_first->previous = &p;
        }
        m_first = &p;
        count(p, 1);
        m_lock.unlock();
    }
    void remove(parked& p) noexcept {
        m_lock.lock();
        (p.previous != nullptr ? p.previous->next : m_first) = p.next;
        if (p.next != nullptr) {
            p.next->previous = p.previous;
        }
        count(p, UINT64_MAX);
        m_lock.unlock();
    }
    /// The number of coroutines that may be part of a stall; read by idle workers.
    [[nodiscard]] std::uint64_t may_stall() const noexcept { return m_may_stall.load(rlx); }
    void lock() noexcept { m_lock.lock(); }
    void unlock() noexcept { m_lock.unlock(); }
    /// Calls f(p) for each entry. The caller has locked the list. Throws what f throws.
    template <class F>
    void for_each_locked(F f) const {
        for (const parked* p = m_first; p != nullptr; p = p->next) {
            f(*p);
        }
    }

private:
    void count(const parked& p, std::uint64_t n) noexcept {
        if (p.why->may_stall) {
            m_may_stall.store(m_may_stall.load(rlx) + n, rlx); // written only under the lock
        }
    }

    raw_lock<std_atom, futex_park> m_lock;
    parked* m_first = nullptr;
    std::atomic<std::uint64_t> m_may_stall{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
