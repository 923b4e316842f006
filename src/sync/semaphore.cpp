#include <pilfer/semaphore.hpp>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/points.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind semaphore_kind{"a semaphore", &nothing_known};

} // namespace

semaphore_core::~semaphore_core() {
    ensure([this] { return m_waiting.empty(); }, "a semaphore ends that somebody waits for");
}

void semaphore_core::release(std::ptrdiff_t update, [[maybe_unused]] std::ptrdiff_t max) noexcept {
    PILFER_TEST_POINT("releases a semaphore", this);
    race::release(this);
    ensure([update] { return update >= 0; }, "less than nothing was released to a semaphore");
    waiters::entry* chain = nullptr;
    waiters::entry** end = &chain;
    m_waiting.lock();
    ensure([&] { return update <= max - m_count; }, "more was released to a semaphore than its max()");
    while (update > 0 && !m_waiting.empty()) {
        waiters::entry* const first = m_waiting.first();
        m_waiting.take(*first); // leaves its `next` null
        *end = first;
        end = &first->next;
        --update;
    }
    m_count += update;
    m_waiting.unlock();
    go_on_all(chain);
}

bool semaphore_core::acquire(instant until) {
    PILFER_TEST_POINT("acquires a semaphore", this);
    m_waiting.lock();
    if (m_count > 0) {
        --m_count;
        m_waiting.unlock();
        race::acquire(this);
        return true;
    }
    if (until == 0) {
        m_waiting.unlock();
        return false;
    }
    waiters::entry self;
    m_waiting.add(self);
    m_waiting.unlock();
    wait_in(m_waiting, self, until, semaphore_kind, this, awaited::anything, leaves::when_stopped);
    const bool acquired = self.end == waiters::fate::notified;
    if (!acquired) {
        leave_if_stopped();
    } else {
        race::acquire(this);
    }
    return acquired;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
