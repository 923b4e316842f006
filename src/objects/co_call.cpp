// Coroutines that wait for the condition of a monitor call. Argument: README.md.
#include <pilfer/detail/objects/co_call.hpp>

#include "coroutine/parked_kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

namespace {

constexpr waits_in_list for_call("the condition of a monitor call");

} // namespace

bool monitor_resumption::wait_for(monitor_core& m, monitor_call& c) {
    try {
        check_held(1); // begin() does not throw after this
    } catch (...) {
        m.m_lock.leave();
        throw;
    }
    m.m_calls.enter(c);
    m.m_lock.leave();
    begin(); // without the lock, which would keep a cancellation off
    park(for_call.kind(has_limit()), &m);
    return suspend_in(m.m_calls.list(), c);
}

bool monitor_resumption::enter_again(monitor_core& m, const monitor_call& c, const std::exception_ptr& error,
                                     instant until) {
    switch (monitor_call::queue::ended(c)) {
    case monitor_core::ending::given:
        m.m_lock.adopt();
        return true;
    case monitor_core::ending::served:
        std::rethrow_exception(error);
    case monitor_core::ending::over:
        break;
    }
    if (!m_taken_out && until != never && until <= detail::now()) { // or its entry was claimed at that time
        return false;
    }
    throw stopped();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
