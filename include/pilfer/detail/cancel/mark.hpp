// The chain of enclosing scopes, and the mark of those that other workers may reach.
//
// A scope is plain memory of its worker until a task below it is exposed. The thread that exposes a task
// first marks the task's scope and all above it. Why no scope is missed, and why a thief may read the
// chain: src/scope/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct no_head {};

/// The part of a scope that other threads look at: its place among the scopes that enclose it, and its
/// mark. `Head` comes before them, so that a scope and its link have one address: a second one would be
/// computed at each spawn.
template <class Atom, class Head = no_head>
class alignas(8) scope_link {
public:
    /// Owner: this scope begins inside `above` (null: inside none), unmarked.
    explicit scope_link(scope_link* above) noexcept : m_above(above) {
        san::release(&m_above); // not this: that names the edge from a task to its children
    }
    scope_link(const scope_link&) = delete;
    scope_link& operator=(const scope_link&) = delete;

    // A task in a scope is either below it or its owner. A cancellation stops only tasks below. The lowest
    // bit of a pointer to a link says which. The pointer may be null with or without it.
    //
    // The next bit says that the task holds a lock. Cancellations of that scope and of those further out
    // wait for the end of the lock.
    //
    // Such pointers are above(), the `innermost` of an activation and the `within` of a task. They are
    // never dereferenced before strip().

    /// The place of the owner of `link`. The compiler computes this address as it would compute the link's
    /// own.
    [[nodiscard]] static scope_link* as_owner(scope_link* link) noexcept {
        return reinterpret_cast<scope_link*>(reinterpret_cast<std::uintptr_t>(link) | 1);
    }
    [[nodiscard]] static bool is_owner(const scope_link* place) noexcept {
        return (reinterpret_cast<std::uintptr_t>(place) & 1) != 0;
    }
    [[nodiscard]] static scope_link* strip(scope_link* place) noexcept {
        return reinterpret_cast<scope_link*>(reinterpret_cast<std::uintptr_t>(place) & ~std::uintptr_t{3});
    }
    [[nodiscard]] static scope_link* as_holder(scope_link* place) noexcept {
        return reinterpret_cast<scope_link*>(reinterpret_cast<std::uintptr_t>(place) | 2);
    }
    [[nodiscard]] static scope_link* as_free(scope_link* place) noexcept {
        return reinterpret_cast<scope_link*>(reinterpret_cast<std::uintptr_t>(place) & ~std::uintptr_t{2});
    }
    [[nodiscard]] static bool holds(const scope_link* place) noexcept {
        return (reinterpret_cast<std::uintptr_t>(place) & 2) != 0;
    }

    [[nodiscard]] Head& head() noexcept { return m_head; }
    [[nodiscard]] const Head& head() const noexcept { return m_head; }
    /// The place of the owner in the enclosing scopes when this scope began. Null if there was none.
    [[nodiscard]] scope_link* above() const noexcept { return m_above.load(rlx); }
    /// True if the scope is marked. Once true, it stays true. The owner may see it late: what may be
    /// shared by then must not be counted plainly on the strength of this.
    [[nodiscard]] bool shared() const noexcept { return m_mark.load(rlx) != 0; }

    /// True if nothing is left to mark from `innermost` on, which may be null. No lock is needed: the look
    /// is at this link alone, and the caller is inside its scope. (scope.M2)
    [[nodiscard]] static bool is_settled(scope_link* innermost) noexcept {
        const scope_link* const link = strip(innermost);
        if (link == nullptr) {
            return true;
        }
        link->seen_here();
        return (link->m_mark.load(acq) & settled) != 0;
    }
    /// Marks `innermost` and all above it; returns how many were not marked before. The caller knows that
    /// they outlive the call, except for those that end out of turn. Against these it holds a reach lock
    /// of the pool (scope.M5). It publishes afterwards what made the marks necessary.
    ///
    /// A second pass says of each scope that everything above is marked, so that the next walk may end
    /// there. The mark alone does not say it: a walk from below that meets another walk under way would
    /// end too early, and publish. Source: none; the two passes are those of any traversal that may meet
    /// another one.
    static std::uint64_t share(scope_link* innermost) noexcept {
        std::uint64_t fresh = 0;
        scope_link* end = strip(innermost);
        for (; end != nullptr; end = strip(end->above())) {
            san::acquire(&end->m_above); // the scope may have begun on any context
            // scope.M2: what another walk has marked above comes before what this caller publishes.
            const mark seen = end->m_mark.load(acq);
            if ((seen & settled) != 0) {
                break;
            }
            PILFER_CHAOS_POINT(lock); // the scope may be about to leave the chain (scope.M5)
            if (seen == 0 && end->m_mark.fetch_or(marked, rlx) == 0) {
                ++fresh;
            }
        }
        for (scope_link* s = strip(innermost); s != end; s = strip(s->above())) {
            s->m_mark.fetch_or(settled, rel); // scope.M2
        }
        return fresh;
    }
    /// Called before this link is read on another context than the one on which it began.
    void seen_here() const noexcept { san::acquire(&m_above); }
    /// Called by the owner before any task is below: marks this link alone, and walks from below end here.
    /// It serves a task that others may run while all that encloses it does not move: a monitor call.
    void seal() noexcept { m_mark.store(marked | settled, rlx); }
    /// Called by the owner under the reach locks of all workers, if scopes end in another order than the
    /// reverse of their beginning. `gone`, which ends, is no longer above this link.
    void relink(const scope_link& gone) noexcept {
        m_above.store(holds(above()) ? as_holder(gone.above()) : gone.above(), rlx);
    }
    /// Called by the owner: this scope began while its owner held a lock, which is free now. (cancel.C6)
    void outlives_lock() noexcept { m_above.store(as_free(above()), rlx); }

private:
    using mark = std::uint16_t; // narrow: it fits the padding of the head, and one store clears both
    static constexpr mark marked = 1;
    static constexpr mark settled = 2;

    [[no_unique_address]] Head m_head;
    typename Atom::template atomic<mark> m_mark{0};
    typename Atom::template atomic<scope_link*> m_above;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
