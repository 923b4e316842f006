// Coroutines that wait for latches and at barriers: the entries in their lists, and the awaiters.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>

#include <pilfer/barrier.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/coroutine/coroutine.hpp>
#include <pilfer/latch.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A wait for a latch, perhaps after an arrival.
class PILFER_API latch_resumption : public listed_resumption {
public:
    /// Counts `update` arrivals if the latch is open then. False: counts nothing.
    [[nodiscard]] static bool arrive_as_last(latch& l, std::ptrdiff_t update) noexcept;
    // True: the coroutine is suspended, and the caller touches nothing of this. False: the latch is open, or
    // the coroutine was taken out. Both throw before anything has happened.
    [[nodiscard]] bool wait_for(const latch& l);
    [[nodiscard]] bool arrive_and_wait(latch& l, std::ptrdiff_t update);

private:
    void begin_for(const latch& l);
    [[nodiscard]] bool wait_unless_open(const latch& l, waiters::entry* all) noexcept;

    waiters::entry m_entry;
};

/// A wait at a barrier, after an arrival.
class PILFER_API barrier_resumption : public listed_resumption {
public:
    /// Arrives if no other arrival is missing. Then the caller ends the phase.
    [[nodiscard]] static bool arrive_as_last(barrier_core& b) noexcept;
    /// Arrives. True: the coroutine is suspended, and the caller touches nothing of this. False: the phase
    /// has ended, the caller ends it, or the coroutine was taken out. Throws before anything has happened.
    [[nodiscard]] bool arrive_and_wait(barrier_core& b);
    /// After arrive_and_wait(): true if the caller ends the phase.
    [[nodiscard]] bool is_last() const noexcept { return m_is_last; }
    /// After the wait. Throws `stopped` if the coroutine was taken out before the phase has ended; then it is
    /// not expected any more.
    void leave_if_taken_out(barrier_core& b) const;

private:
    waiters::entry m_entry;
    std::uint64_t m_phase = 0;
    bool m_is_last = false;
};

/// The awaiter of wait() for a latch. `Limit`: wait_limit or no_limit.
template <class Limit>
class latch_awaiter : private latch_resumption {
public:
    explicit latch_awaiter(const latch& l, instant until = never) noexcept : m_latch(l), m_limit(until) {}
    [[nodiscard]] bool await_ready() const noexcept { return m_latch.try_wait(); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        this->is_of(h);
        m_limit.limits(*this);
        return this->wait_for(m_latch);
    }
    /// Returns false if the time was over first.
    typename Limit::result await_resume() const {
        this->leave_if_taken_out();
        race::acquire(&m_latch); // its address only: the latch may be gone
        return m_limit.in_time();
    }

private:
    const latch& m_latch;
    [[no_unique_address]] Limit m_limit;
};

using limited_latch_wait = limited_awaitable<latch_awaiter<wait_limit>, const latch>;

/// The awaiter of arrive_and_wait() for a latch.
class latch_arrival_awaiter : private latch_resumption {
public:
    latch_arrival_awaiter(latch& l, std::ptrdiff_t update) noexcept : m_latch(l), m_update(update) {}
    [[nodiscard]] bool await_ready() const noexcept { return arrive_as_last(m_latch, m_update); }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        is_of(h);
        return arrive_and_wait(m_latch, m_update);
    }
    void await_resume() const {
        leave_if_taken_out();
        race::acquire(&m_latch); // its address only: the latch may be gone
    }

private:
    latch& m_latch;
    std::ptrdiff_t m_update;
};

struct barrier_access {
    template <class Completion>
    [[nodiscard]] static barrier_core& core(barrier<Completion>& b) noexcept {
        return b.m_core;
    }
    template <class Completion>
    static void end_phase(barrier<Completion>& b) noexcept {
        b.end_phase();
    }
};

/// The awaiter of a barrier.
template <class Completion>
class barrier_awaiter {
public:
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): the wait is made on demand
    explicit barrier_awaiter(barrier<Completion>& b) noexcept : m_barrier(b) {}
    [[nodiscard]] bool await_ready() const noexcept {
        return barrier_resumption::arrive_as_last(barrier_access::core(m_barrier));
    }
    template <class Promise>
    [[nodiscard]] bool await_suspend(std::coroutine_handle<Promise> h) {
        m_waits = true;
        auto* const wait = new (&m_wait) barrier_resumption;
        wait->is_of(h);
        return wait->arrive_and_wait(barrier_access::core(m_barrier));
    }
    void await_resume() const {
        if (!m_waits || m_wait.is_last()) {
            barrier_access::end_phase(m_barrier);
        } else {
            m_wait.leave_if_taken_out(barrier_access::core(m_barrier));
        }
    }

private:
    barrier<Completion>& m_barrier;
    bool m_waits = false;
    union {
        barrier_resumption m_wait; // while m_waits
    };
};

} // namespace detail
} // namespace v0
} // namespace pilfer
