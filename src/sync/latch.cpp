#include <pilfer/latch.hpp>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/points.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

constexpr detail::wait_kind latch_kind{"a latch", &detail::nothing_known};

} // namespace

latch::~latch() {
    detail::ensure([this] { return m_waiting.empty(); }, "a latch ends that somebody waits for");
}

void latch::count_down(std::ptrdiff_t update) noexcept {
    PILFER_TEST_POINT("counts a latch down", this);
    detail::race::release(this);
    m_waiting.lock();
    auto* const all = counted(update);
    m_waiting.unlock();
    detail::go_on_all(all);
}

/// Under the lock. Returns the waiters if the latch is open now.
detail::waiters::entry* latch::counted(std::ptrdiff_t update) noexcept {
    detail::ensure([&] { return update >= 0 && update <= m_left; }, "more arrive at a latch than it expects");
    m_left -= update;
    return m_left == 0 ? m_waiting.take_all() : nullptr;
}

bool latch::try_wait() const noexcept {
    PILFER_TEST_POINT("looks at a latch", this);
    m_waiting.lock(); // as in wait_within()
    const bool open = m_left == 0;
    m_waiting.unlock();
    if (open) {
        detail::race::acquire(this);
    }
    return open;
}

bool latch::wait_within(detail::instant until) const {
    PILFER_TEST_POINT("waits for a latch", this);
    m_waiting.lock(); // a waiter that returns may destroy it: the opener is done after this lock
    if (m_left == 0) {
        m_waiting.unlock();
        detail::race::acquire(this);
        return true;
    }
    detail::waiters::entry self;
    m_waiting.add(self);
    m_waiting.unlock();
    detail::wait_in(m_waiting, self, until, latch_kind, this, detail::awaited::anything,
                    detail::leaves::when_stopped);
    const bool open = self.end == detail::waiters::fate::notified;
    if (!open) {
        detail::leave_if_stopped();
    } else {
        detail::race::acquire(this);
    }
    return open;
}

} // namespace v0
} // namespace pilfer
