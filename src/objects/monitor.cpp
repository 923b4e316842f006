// Queued calls: who waits, and who serves them.
#include <pilfer/monitor.hpp>

#include <cxxabi.h>

#include <pilfer/cancel.hpp>
#include <pilfer/error.hpp>

#include "pool/pool_core.hpp"
#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr wait_kind call_condition_kind{"the condition of a monitor call", &nothing_known};

/// What the C++ runtime keeps for this thread.
[[nodiscard]] exception_state& exceptions_here() noexcept {
    worker* const w = this_worker();
    return w != nullptr ? *w->exceptions : *reinterpret_cast<exception_state*>(abi::__cxa_get_globals());
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
    // What f spawns is below of this. It begins inside the lock, so that f, wherever it is run, is a
    // holder's.
    scope_node own(this_activation()->node.load(rlx));
    if (worker* w = this_worker(); w != nullptr && w->pool->settings().resume == resume::anywhere) {
        c.pool = w->pool;
        c.parent = &own;
        c.uncaught = w->current.load(rlx)->uncaught;
        if (w->pool->size() > 1) {
            own.seal(); // objects.Q3: others may end this call, and nothing else that encloses it
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
        throw stopped(); // a cancellation ends such a wait as its time does, and nothing else ends one
                         // without
    }
    if (e == ending::given) {
        m_lock.adopt();
    }
    return e;
}

/// Whoever makes a condition true may stand anywhere: so the call runs as a task of its own, below the scopes
/// of its own caller, and with the exceptions that its caller handles or unwinds for. With those of who
/// serves (in a catch block, or behind an f that threw) `throw;` in f would throw a stranger's, its spawn
/// would be a plain call, and no cancellation would take it out of a wait. Where its caller unwinds, f is
/// part of that: no `stopped` may leave it.
monitor_call::queue::verdict monitor_core::look(monitor_call& c, unsigned& left) noexcept {
    using verdict = monitor_call::queue::verdict;
    worker* const w = this_worker();
    const exception_state of_server = exceptions_here().load();
    exceptions_here().store(c.exceptions);
    verdict v;
    if (w != nullptr && w->pool == c.pool && left > 0) {
        {
            const nested_activation caller(w, c.parent, c.uncaught);
            m_lock.is_inside(this_activation());
            v = c.look(c, true);
        }
        m_lock.is_inside(this_activation());
        left -= v == verdict::served ? 1 : 0;
    } else {
        v = c.look(c, false);
    }
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
        m_lock.release();
        if (rest.last != nullptr) {
            go_on(*rest.last);
        }
    }
    // Last, because it may call the user's code, which may wait for a call that was served here.
    gives_lock(running_task());
}

} // namespace detail
} // namespace v0
} // namespace pilfer
