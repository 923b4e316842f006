// Tasks that sleep.
#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind sleep_kind{"a time", [](const suspension&, wait_facts&) noexcept {}};

} // namespace

void sleep_until(instant until) noexcept {
    if (until <= now()) {
        return;
    }
    waiters alone; // nobody else knows it: only the alarm ends this wait
    waiters::entry self;
    alone.lock();
    alone.add(self);
    alone.unlock();
    wait_in(alone, self, until, sleep_kind, nullptr);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
