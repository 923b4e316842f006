#include <pilfer/barrier.hpp>

#include <pilfer/cancel.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/points.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind barrier_kind{"a barrier", &nothing_known};

} // namespace

barrier_core::~barrier_core() {
    ensure([this] { return m_waiting.empty(); }, "a barrier ends that somebody waits for");
}

barrier_core::arrival barrier_core::arrive(std::ptrdiff_t update, bool leave) noexcept {
    PILFER_TEST_POINT("arrives at a barrier", this);
    race::release(this);
    m_waiting.lock();
    ensure([&] { return update > 0 && update <= m_left; }, "more arrive at a barrier than it expects");
    m_left -= update;
    m_expected -= leave ? 1 : 0;
    const arrival a{m_phase, m_left == 0};
    m_waiting.unlock();
    race::acquire(this); // the last one runs the completion
    return a;
}

void barrier_core::begin_next() noexcept {
    race::release(this);
    m_waiting.lock();
    ++m_phase;
    m_left = m_expected;
    auto* const all = m_waiting.take_all();
    m_waiting.unlock();
    go_on_all(all);
}

bool barrier_core::wait(std::uint64_t phase, instant until) noexcept {
    PILFER_TEST_POINT("waits at a barrier", this);
    m_waiting.lock();
    if (m_phase != phase) {
        m_waiting.unlock();
        race::acquire(this);
        return true;
    }
    waiters::entry self;
    m_waiting.add(self);
    m_waiting.unlock();
    wait_in(m_waiting, self, until, barrier_kind, this);
    race::acquire(this);
    return self.end == waiters::fate::notified;
}

void barrier_core::wait_or_drop(std::uint64_t phase) {
    for (;;) {
        m_waiting.lock();
        if (m_phase != phase) {
            m_waiting.unlock();
            race::acquire(this);
            return;
        }
        if (must_leave()) {
            // Under the lock: after the end of the phase it would be expected in the next one already.
            --m_expected;
            m_waiting.unlock();
            throw stopped();
        }
        waiters::entry self;
        m_waiting.add(self);
        m_waiting.unlock();
        wait_in(m_waiting, self, never, barrier_kind, this, awaited::anything, leaves::when_stopped);
        if (self.end == waiters::fate::notified) {
            race::acquire(this);
            return;
        }
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
