#include <pilfer/condition_variable.hpp>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

constexpr detail::wait_kind condition_kind{"a condition variable", &detail::nothing_known};

} // namespace

condition_variable::~condition_variable() {
    detail::ensure([this] { return m_waiting.empty(); }, "a condition variable ends that somebody waits for");
}

void condition_variable::notify_one() noexcept {
    PILFER_TEST_POINT("notifies one waiter of a condition variable", this);
    detail::race::release(this);
    m_waiting.lock();
    entry* const first = m_waiting.first();
    if (first != nullptr) {
        m_waiting.take(*first);
    }
    m_waiting.unlock();
    if (first != nullptr) {
        detail::go_on(*first);
    }
}

void condition_variable::notify_all() noexcept {
    PILFER_TEST_POINT("notifies all waiters of a condition variable", this);
    detail::race::release(this);
    m_waiting.lock();
    entry* const all = m_waiting.take_all();
    m_waiting.unlock();
    detail::go_on_all(all);
}

void condition_variable::enter(entry& e) noexcept {
    PILFER_TEST_POINT("begins to wait for a condition variable", this);
    m_waiting.lock();
    m_waiting.add(e);
    m_waiting.unlock();
}

bool condition_variable::wait_in(entry& e, detail::instant until, detail::leaves when) noexcept {
    PILFER_TEST_ORDER("waits for a condition variable", this);
    detail::wait_in(m_waiting, e, until, condition_kind, this, detail::awaited::anything, when);
    detail::race::acquire(this);
    return e.end == detail::waiters::fate::notified;
}

} // namespace v0
} // namespace pilfer
