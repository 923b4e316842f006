// Coroutines that wait for latches and at barriers. Argument: README.md.
#include <pilfer/detail/base/checked.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/coroutine/arrivals.hpp>

#include "coroutine/parked_kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr waits_in_list for_latch("a latch");
constexpr waits_in_list at_barrier("a barrier");

} // namespace

// ---- latches ----------------------------------------------------------------------------------

bool latch_resumption::arrive_as_last(latch& l, std::ptrdiff_t update) noexcept {
    PILFER_TEST_POINT("counts a latch down", &l);
    race::release(&l);
    waiters::entry* all = nullptr;
    l.m_waiting.lock();
    const bool opens = l.m_left == update;
    if (opens) {
        all = l.counted(update);
    }
    l.m_waiting.unlock();
    go_on_all(all);
    return opens;
}

bool latch_resumption::wait_for(const latch& l) {
    PILFER_TEST_ORDER("waits for a latch", &l);
    begin_for(l);
    l.m_waiting.lock();
    return wait_unless_open(l, nullptr);
}

bool latch_resumption::arrive_and_wait(latch& l, std::ptrdiff_t update) {
    PILFER_TEST_ORDER("arrives at a latch and waits", &l);
    begin_for(l);
    race::release(&l);
    l.m_waiting.lock();
    return wait_unless_open(l, l.counted(update));
}

void latch_resumption::begin_for(const latch& l) {
    begin();
    park(for_latch.kind(has_limit()), &l);
}

/// Called with the list's lock, which is free on return. `all`: the waiters, if the latch was opened.
bool latch_resumption::wait_unless_open(const latch& l, waiters::entry* all) noexcept {
    const bool open = l.m_left == 0;
    if (!open) {
        l.m_waiting.add(m_entry);
    }
    l.m_waiting.unlock();
    go_on_all(all);
    if (!open) {
        return suspend_in(l.m_waiting, m_entry);
    }
    withdraw();
    return false;
}

// ---- barriers ---------------------------------------------------------------------------------

bool barrier_resumption::arrive_as_last(barrier_core& b) noexcept {
    PILFER_TEST_POINT("arrives at a barrier", &b);
    race::release(&b);
    b.m_waiting.lock();
    const bool last = b.m_left == 1;
    b.m_left -= last ? 1 : 0;
    b.m_waiting.unlock();
    race::acquire(&b);
    return last;
}

bool barrier_resumption::arrive_and_wait(barrier_core& b) {
    PILFER_TEST_ORDER("waits at a barrier", &b);
    begin();
    park(at_barrier.kind(false), &b);
    race::release(&b);
    b.m_waiting.lock();
    ensure([&b] { return b.m_left > 0; }, "more arrive at a barrier than it expects");
    --b.m_left;
    m_phase = b.m_phase;
    m_is_last = b.m_left == 0;
    if (!m_is_last) {
        b.m_waiting.add(m_entry);
    }
    b.m_waiting.unlock();
    if (!m_is_last) {
        return suspend_in(b.m_waiting, m_entry);
    }
    withdraw();
    race::acquire(&b);
    return false;
}

void barrier_resumption::leave_if_taken_out(barrier_core& b) const {
    if (m_taken_out) {
        b.m_waiting.lock();
        const bool leaves = b.m_phase == m_phase;
        b.m_expected -= leaves ? 1 : 0; // under the lock: the next phase expects it already
        b.m_waiting.unlock();
        if (leaves) {
            throw stopped();
        }
    }
    race::acquire(&b);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
