// The slow halves of mutex, and what the checked build knows about owners.
#include <pilfer/mutex.hpp>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

constexpr detail::wait_kind mutex_kind{"a mutex", &detail::nothing_known};

} // namespace

bool mutex::lock_slow(detail::instant until) noexcept {
    using protocol = detail::mutex_protocol<detail::std_atom, detail::futex_park>;
    if (until != detail::never && until <= detail::now()) {
        return m_core.try_lock();
    }
    protocol::entry self;
    protocol::step s = m_core.enter(self);
    while (s == protocol::step::wait) {
        detail::wait_in(m_core.waiting(), self, until, mutex_kind, this, detail::awaited::a_holder);
        s = m_core.look(self, [until] { return until != detail::never && detail::now() >= until; });
    }
    return s == protocol::step::owned;
}

void mutex::unlock_slow() noexcept {
    if (auto* next = m_core.unlock_slow()) {
        detail::go_on(*next);
    }
}

} // namespace v0
} // namespace pilfer
