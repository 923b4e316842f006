// Coroutines that wait, for reports: nothing of theirs lies on a stack that could be found.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>

#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/worker/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct coroutine_driver;

/// What stands for a coroutine where it is resumed: a base of its promise, or beside a handle of a foreign
/// one.
struct coroutine_frame {
    std::coroutine_handle<> handle;     // null: a root
    coroutine_driver* driver = nullptr; // of whoever resumed it last; valid while it runs
    coroutine_frame* then = nullptr;    // goes on behind its end
};

/// One for each reason to wait.
struct parked_kind {
    const char* what; ///< as in "waits for ..."
    /// May read whatever the coroutine may; null: there is nothing.
    void (*look)(const void* object, wait_facts&) noexcept;
    bool may_stall; ///< false: what it waits for is not of this library, or known to come
};

/// In the frame of a coroutine, from before it is published until somebody makes it go on; under the lock of
/// its list.
struct parked {
    parked* next = nullptr;
    parked* previous = nullptr;
    const coroutine_frame* who = nullptr;
    const parked_kind* why = nullptr;
    const void* object = nullptr;
};

/// Of one worker: those that suspended on it. Whoever makes one go on takes it out, first of all; so what is
/// in the list stays as it is while its lock is held.
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
    /// How many may be part of a stall; for whoever has nothing to do.
    [[nodiscard]] std::uint64_t may_stall() const noexcept { return m_may_stall.load(rlx); }
    /// f(p) for each; what f throws comes out.
    template <class F>
    void for_each(F f) {
        struct holder {
            raw_lock<std_atom, futex_park>& lock;
            ~holder() { lock.unlock(); }
        };
        m_lock.lock();
        const holder guard{m_lock};
        for (const parked* p = m_first; p != nullptr; p = p->next) {
            f(*p);
        }
    }

private:
    void count(const parked& p, std::uint64_t n) noexcept {
        if (p.why->may_stall) {
            m_may_stall.store(m_may_stall.load(rlx) + n, rlx); // written under the lock only
        }
    }

    raw_lock<std_atom, futex_park> m_lock;
    parked* m_first = nullptr;
    std::atomic<std::uint64_t> m_may_stall{0};
};

} // namespace detail
} // namespace v0
} // namespace pilfer
