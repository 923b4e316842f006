// Which scopes somebody other than their own worker may reach: the chain of enclosing scopes, and the mark.
//
// A scope is plain memory of its worker until a task below it is exposed. Whoever exposes marks the task's
// scope and all above it first. Why nobody is missed and why a thief may read the chain: src/scope/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/base/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct no_head {};

/// What others look at in a scope: its place among the scopes that enclose it, and its mark. `Head` stands
/// before them, so that a scope and its link have one address: a second one would be computed at each spawn.
template <class Atom, class Head = no_head>
class alignas(8) scope_link {
public:
    /// Owner: this scope begins inside `above` (null: inside none), unmarked.
    explicit scope_link(scope_link* above) noexcept : m_above(above) {
        san::release(&m_above); // not this: that names the edge from a task to its children
    }
    scope_link(const scope_link&) = delete;
    scope_link& operator=(const scope_link&) = delete;

    // Who stands in a scope is below of it, or its owner: a cancellation stops the former only. A pointer to
    // a link says which by its lowest bit, and may be null with or without it. The next bit says that whoever
    // stands there holds a lock: cancellations of that scope and of those further out wait for its end.
    // above(), the `innermost` of an activation and the `within` of a task are such pointers: never
    // dereferenced before strip().

    /// Where whoever made it stands. An address that the compiler computes as it would the link's own.
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
    /// Owner: where it stood when this one began, in the scope that encloses it; null if there is none.
    [[nodiscard]] scope_link* above() const noexcept { return m_above.load(rlx); }
    /// Once true, for good. The owner may see it late: what may be shared by then must not be counted plainly
    /// on the strength of this.
    [[nodiscard]] bool shared() const noexcept { return m_mark.load(rlx) != 0; }

    /// Nothing is left to mark from `innermost` on, which may be null. No lock needed: the look is at this
    /// one alone, which the caller stands in. (M2)
    [[nodiscard]] static bool is_settled(scope_link* innermost) noexcept {
        const scope_link* const link = strip(innermost);
        if (link == nullptr) {
            return true;
        }
        link->seen_here();
        return (link->m_mark.load(acq) & settled) != 0;
    }
    /// Marks `innermost` and all above it; returns how many were not marked before. The caller knows that
    /// they outlive the call but for those that end out of turn: against these it holds a reach lock of the
    /// pool (M5). It publishes what made it necessary afterwards.
    ///
    /// A second pass says of each that everything above is marked, so that the next walk may end there. The
    /// mark alone does not say it: a walk from below that meets one which is under way would end too early,
    /// and publish. Source: none; the two passes are those of any traversal that may meet another one.
    static std::uint64_t share(scope_link* innermost) noexcept {
        std::uint64_t fresh = 0;
        scope_link* end = strip(innermost);
        for (; end != nullptr; end = strip(end->above())) {
            san::acquire(&end->m_above); // it may have begun on any context
            // M2: what another walk has marked above comes before what this caller publishes.
            const mark seen = end->m_mark.load(acq);
            if ((seen & settled) != 0) {
                break;
            }
            PILFER_CHAOS_POINT(lock); // it may be about to leave the chain (M5)
            if (seen == 0 && end->m_mark.fetch_or(marked, rlx) == 0) {
                ++fresh;
            }
        }
        for (scope_link* s = strip(innermost); s != end; s = strip(s->above())) {
            s->m_mark.fetch_or(settled, rel); // M2
        }
        return fresh;
    }
    /// For whoever reads this link on another context than the one where it began.
    void seen_here() const noexcept { san::acquire(&m_above); }
    /// Owner, before anybody is below: marks this one alone, and walks from below end here. For a task that
    /// others may run while all that encloses it stays where it is: a monitor call.
    void seal() noexcept { m_mark.store(marked | settled, rlx); }
    /// Owner, where scopes end in another order than the reverse of their beginning, under the reach locks of
    /// all workers: `gone`, which ends, is no longer above this one.
    void relink(const scope_link& gone) noexcept {
        m_above.store(holds(above()) ? as_holder(gone.above()) : gone.above(), rlx);
    }
    /// Owner: it began while its owner held a lock, which is free now. (C6)
    void outlives_lock() noexcept { m_above.store(as_free(above()), rlx); }

private:
    using mark = std::uint16_t; // narrow: it lies in the padding of the head, and one store clears both
    static constexpr mark marked = 1;
    static constexpr mark settled = 2;

    [[no_unique_address]] Head m_head;
    typename Atom::template atomic<mark> m_mark{0};
    typename Atom::template atomic<scope_link*> m_above;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
