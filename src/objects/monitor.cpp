// Monitor calls with conditions: the waiting callers, and the thread that serves their calls.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/cancel/holding.hpp>
#include <pilfer/detail/task/nested.hpp>
#include <pilfer/monitor.hpp>

#include <pilfer/cancel.hpp>
#include <pilfer/error.hpp>

#include "context/exceptions.hpp"
#include "pool/pool_core.hpp"
#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind call_condition_kind{"the condition of a monitor call", &nothing_known};

/// The C++ runtime's exception state of this thread.
[[nodiscard]] exception_state& exceptions_here() noexcept {
    worker* const w = this_worker();
    return w != nullptr ? *w->exceptions : *static_cast<exception_state*>(exceptions_of_thread());
}

} // namespace

void refuse_call_inside() {
    throw usage_error(
        "pilfer: a call of an object inside a call of the same object by the same task or thread");
}

monitor_core::~monitor_core() {
    ensure([this] { return m_calls.list().empty(); }, "a monitor ends that a call waits for");
}

monitor_core::ending monitor_core::wait(monitor_call& c, instant until) {
    auto what = awaited::anything;
    race::release(this); // other tasks evaluate what this one has made
    // The scope in which f spawns. It begins inside the lock, so f holds the lock on any thread.
    scope_node own(this_activation()->node.load(rlx));
    if (worker* w = this_worker(); w != nullptr && w->pool->settings().resume == resume::anywhere) {
        c.pool = w->pool;
        c.parent = &own;
        c.uncaught = w->current.load(rlx)->uncaught;
        if (w->pool->size() > 1) {
            own.seal(); // objects.Q3: other threads may end this call, but no enclosing scope
            static_cast<scheduler*>(w)->count.scopes_shared.add();
            what = awaited::anything_at_home;
        }
    }
    c.exceptions = exceptions_here().load();
    m_calls.enter(c);
    m_lock.leave();
    wait_in(m_calls.list(), c, until, call_condition_kind, this, what, leaves::when_stopped);
    const ending e = monitor_call::queue::ended(c);
    if (e == ending::over && (until == never || must_leave())) {
        throw stopped(); // a cancellation ends the wait as a time limit does; without a limit nothing
                         // else ends it
    }
    if (e == ending::given) {
        m_lock.adopt();
    }
    return e;
}

/// Serves the waiting call `c` if its condition holds. Any code may make a condition true, even a catch
/// block. So the call runs as a task of its own:
/// 1. It runs inside the scopes of its caller.
/// 2. It has the exception state of its caller. With the server's state, `throw;` in f could rethrow an
///    exception of the server. A spawn in f would be a plain call, and no cancellation would end a wait in f.
/// 3. If the caller unwinds, f is part of the unwinding: no `stopped` may leave f.
monitor_call::queue::verdict monitor_core::look(monitor_call& c, unsigned& left) noexcept {
    using verdict = monitor_call::queue::verdict;
    worker* const w = this_worker();
    const exception_state of_server = exceptions_here().load();
    exceptions_here().store(c.exceptions);
    verdict v;
    if (w != nullptr && w->pool == c.pool && left > 0) {
        {
            nested_activation caller(w, c.parent, c.uncaught);
            caller.reports_locks_as_below();
            m_lock.is_inside(this_activation());
            v = c.look(c, true);
        }
        m_lock.is_inside(this_activation());
        left -= v == verdict::served ? 1 : 0;
    } else {
        v = c.look(c, false);
    }
    race::release(this);                // of what the condition has read
    exceptions_here().store(of_server); // f may have moved us to another worker
    if (v == verdict::given) {
        m_lock.pass();
    }
    return v;
}

void monitor_core::leave_and_serve() noexcept {
    unsigned left = most_served;
    const auto rest = m_calls.serve(
        [this, &left](waiters::entry& e) noexcept { return look(static_cast<monitor_call&>(e), left); },
        [](waiters::entry& e) noexcept { go_on(e); });
    if (!rest.is_given) {
        {
            PILFER_TEST_ORDER("unlocks a mutex", m_lock.address());
            m_lock.release();
        }
        if (rest.last != nullptr) {
            go_on(*rest.last);
        }
    }
    // Last, because it may run user code, which may wait for a call that was served here.
    gives_lock(running_task(), m_lock.address());
}

} // namespace detail
} // namespace v0
} // namespace pilfer
