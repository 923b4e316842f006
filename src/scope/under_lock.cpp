// Locks and the scopes of the task that holds them: what it announces in those that are older. README.md,
// "Holders of locks".
#include <algorithm>
#include <new>

#include <pilfer/scope.hpp>

#include "worker/pool_core.hpp"
#include "worker/stops.hpp"

namespace pilfer {
inline namespace v0 {

using namespace detail;

namespace {

/// The owner of `end` holds a lock that is younger. Does whoever stands at `at`, on `w`, do what it does
/// under that? A part of the owner (a stolen branch) does; so does what is below of it in a scope that began
/// under the lock, or was given under it. What leads to the owner's frame decides, whatever is held further
/// down. Not what another pool runs for it: what ends there out of turn ends under other locks.
[[nodiscard]] bool is_under_lock(const pool_core* p, scope_place* at, scope_place* end,
                                 std::uint16_t older_locks_of_end) noexcept {
    for (bool is = true;; at = scope_place::strip(at)->above()) {
        scope_place* const link = scope_place::strip(at);
        if (link == nullptr) {
            return false;
        }
        link->seen_here();
        if ((link->head().disturbed.load(rlx) & disturb::bare) == 0) {
            const scope& s = *scope_access::of(link);
            if (const context* c = scope_access::owner(s)->ctx; c == nullptr || c->pool != p) {
                return false;
            }
            if (!scope_place::is_owner(at)) {
                is = scope_place::is_given(at) ||
                     (link != end && scope_access::begins_behind(s, older_locks_of_end));
            }
        }
        if (link == end) {
            return is;
        }
    }
}
[[nodiscard]] bool stands_under_lock(worker& w, scope_place* end, std::uint16_t older_locks) noexcept {
    bool is = false;
    (void)w.deque.thief().locked([&]() noexcept {
        is = is_under_lock(w.pool, w.current.load(rlx)->innermost.load(rlx), end, older_locks);
        return true;
    }); // M5: scopes of a frame that joins may end out of turn meanwhile
    return is;
}

} // namespace

bool scope::gives_under_lock(const worker* w) noexcept {
    auto& held = m_link.head().held;
    if (!held.load(acq)) { // not whether it is diverted: the owner may be in spawn() meanwhile
        return false;
    }
    if (w->current.load(rlx) == owner()) {
        m_diverted.gave.store(true, rlx);
        return true;
    }
    if (!stands_under_lock(*this_worker(), &m_link, m_diverted.older_locks.load(rlx))) {
        return false;
    }
    m_diverted.gave.store(true, rlx);
    if (w->pool->schedulers() > 1) {
        std_atom::heavy_fence();
    }
    return held.load(rlx); // C8: else the owner, which may not have seen that, has unlocked
}

namespace detail {

scope_place* place_below(scope_place* innermost) noexcept {
    scope_place* at = innermost;
    // Not past a lock: nothing further out counts, and of a stolen branch that are scopes of the frame that
    // joins, which may end.
    while (scope_place::is_owner(at) && !scope_place::holds(at) && scope_place::strip(at) != nullptr &&
           (scope_place::strip(at)->head().disturbed.load(rlx) & disturb::shields) == 0) {
        at = scope_place::strip(at)->above();
    }
    return at;
}

inline bool scope_access::divert(scope& s, activation* owner, unsigned locks) noexcept {
    if (!s.m_owner.is(owner)) {
        return false;
    }
    auto& head = s.m_link.head();
    const auto older = static_cast<std::uint16_t>(std::min<unsigned>(locks, UINT16_MAX));
    if (!head.was_diverted) {
        ::new (static_cast<void*>(&s.m_diverted)) scope::diverted;
    }
    s.m_diverted.older_locks.store(older, rlx);
    s.m_owner.divert(owner, !head.was_diverted);
    head.was_diverted = true;
    head.held.store(true, rel); // the two above are alive
    return true;
}

inline bool scope_access::end_diversion(scope& s, const activation* owner) noexcept {
    if (s.m_owner.is(owner)) {
        return true; // it began behind that lock
    }
    if (s.owner() != owner || s.m_diverted.older_locks.load(rlx) < owner->locks >> 1) {
        return false; // else one of those that made it so is held further on
    }
    s.m_owner.end_diversion();
    s.m_link.head().held.store(false, rlx); // C8
    return true;
}

namespace {

/// Calls f(scope) for the running task's own scopes, from the innermost outwards, until it says false. A
/// branch of a join that was stolen stands in scopes of another task, and the first of these ends it.
template <class F>
void each_own_scope(const activation* a, F f) noexcept {
    for (scope_place* at = a->innermost.load(rlx);
         scope_place::is_owner(at) && scope_place::strip(at) != nullptr;
         at = scope_place::strip(at)->above()) {
        if (!f(*scope_access::of(at))) {
            return;
        }
    }
}

} // namespace

void divert_scopes(activation* a, unsigned locks) noexcept {
    each_own_scope(a, [a, locks](scope& s) { return scope_access::divert(s, a, locks); });
}

void end_diversions(activation* a, bool outlived) noexcept {
    worker* const w = this_worker();
    const bool pinned = w->deque.owner().pinned();
    scope_place* freed = nullptr;
    bool gave = false;
    each_own_scope(a, [&](scope& s) {
        scope_place* const own = scope_access::link(s);
        if (outlived && freed == nullptr && scope_place::holds(own->above())) {
            own->outlives_lock();
            freed = own;
        }
        if (!scope_access::end_diversion(s, a)) {
            return false;
        }
        pinned ? std_atom::fence_sc() : std_atom::light_fence(); // C8
        gave = gave || scope_access::gave(s);
        return true;
    });
    if (!gave && freed == nullptr) {
        return;
    }
    std_atom::fence_sc(); // C8
    bool stopped = false;
    each_own_scope(a, [&](scope& s) {
        scope_place* const own = scope_access::link(s);
        if (scope_access::owner(s) != a || own->head().held.load(rlx)) {
            return false;
        }
        stopped = (own == freed || scope_access::gave(s)) && stops::stopped_at(w, own);
        return !stopped;
    });
    if (stopped) {
        stops::look_again();
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
