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

/// The owner of `end` holds a lock that is younger. Does whoever stands at `at` do what it does under that? A
/// part of the owner (a stolen branch) does; so does what is below of it in a scope that began under the
/// lock, or was given under it. What leads to the owner's frame decides, whatever is held further down.
[[nodiscard]] bool is_under_lock(scope_place* at, const scope_place* end) noexcept {
    for (bool is = true;; at = scope_place::strip(at)->above()) {
        scope_place* const link = scope_place::strip(at);
        if (link == nullptr) {
            return false;
        }
        link->seen_here();
        if (!scope_place::is_owner(at) && (link->head().disturbed.load(rlx) & disturb::bare) == 0) {
            // A scope of the same owner that is not held has begun behind the last lock.
            is = scope_place::is_given(at) || (link != end && !link->head().held.load(rlx));
        }
        if (link == end) {
            return is;
        }
    }
}
[[nodiscard]] bool stands_under_lock(worker& w, scope_place* at, const scope_place* end) noexcept {
    bool is = false;
    (void)w.deque.thief().locked([&]() noexcept {
        is = is_under_lock(at, end);
        return true;
    }); // M5: scopes of a frame that joins may end out of turn meanwhile
    return is;
}

} // namespace

bool scope::announces_as_holder(const worker* w) const noexcept {
    if (!m_link.head().held.load(rlx)) { // not whether it is diverted: the owner may be in spawn() meanwhile
        return false;
    }
    const activation* const self = w->current.load(rlx);
    return self == owner() || stands_under_lock(*this_worker(), self->innermost.load(rlx), &m_link);
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
    s.m_older_locks = static_cast<std::uint16_t>(std::min<unsigned>(locks, UINT16_MAX));
    if (!head.was_diverted) {
        ::new (static_cast<void*>(&s.m_gave)) std::atomic<bool>(false);
    }
    s.m_owner.divert(owner, !head.was_diverted);
    head.was_diverted = true;
    head.held.store(true, rlx);
    return true;
}

inline bool scope_access::end_diversion(scope& s, const activation* owner, bool& gave) noexcept {
    if (s.m_owner.is(owner)) {
        return true; // it began behind that lock
    }
    if (s.owner() != owner || s.m_older_locks < owner->locks >> 1) {
        return false; // else one of those that made it so is held further on
    }
    s.m_owner.end_diversion();
    s.m_link.head().held.store(false, rlx); // C6
    gave = gave || s.m_gave.load(rlx);
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
    bool to_free = outlived;
    bool gave = false;
    each_own_scope(a, [a, &to_free, &gave](scope& s) {
        scope_place* const own = scope_access::link(s);
        if (to_free && scope_place::holds(own->above())) {
            own->outlives_lock();
            to_free = false;
        }
        return scope_access::end_diversion(s, a, gave);
    });
    if (gave || to_free != outlived) {
        stops::look_again();
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
