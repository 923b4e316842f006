#include <pilfer/event.hpp>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/points.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

constexpr detail::wait_kind event_kind{"an event", &detail::nothing_known};

} // namespace

event::~event() {
    detail::ensure([this] { return m_waiting.empty(); }, "an event ends that somebody waits for");
}

void event::set() noexcept {
    PILFER_TEST_POINT("sets an event", this);
    detail::race::release(this);
    m_waiting.lock();
    m_set.store(true, detail::rel); // is_set()
    ++m_times;
    auto* const all = m_waiting.take_all();
    m_waiting.unlock();
    detail::go_on_all(all);
}

void event::reset() noexcept {
    PILFER_TEST_POINT("resets an event", this);
    m_waiting.lock();
    m_set.store(false, detail::rlx);
    m_waiting.unlock();
}

bool event::wait_within(detail::instant until) {
    PILFER_TEST_POINT("waits for an event", this);
    // Under the lock although a load would suffice. A waiter that returns may destroy the event, but the
    // thread in set() uses it until it has released the lock.
    m_waiting.lock();
    if (m_set.load(detail::rlx)) {
        m_waiting.unlock();
        detail::race::acquire(this);
        return true;
    }
    detail::waiters::entry self;
    m_waiting.add(self);
    m_waiting.unlock();
    detail::wait_in(m_waiting, self, until, event_kind, this, detail::awaited::anything,
                    detail::leaves::when_stopped);
    const bool set = self.end == detail::waiters::fate::notified;
    if (!set) {
        detail::leave_if_stopped();
    } else {
        detail::race::acquire(this);
    }
    return set;
}

} // namespace v0
} // namespace pilfer
