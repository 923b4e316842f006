// Which scopes somebody other than their own worker may reach: the chain of enclosing scopes, and the mark.
//
// A scope is plain memory of its worker until a task below it is exposed. Whoever exposes marks the task's
// scope and all above it first. Why nobody is missed and why a thief may read the chain: src/scope/README.md.
#pragma once

#include <cstdint>

#include <pilfer/detail/atom.hpp>
#include <pilfer/detail/sanitizer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A scope's place among the scopes that enclose it, with its mark in the same word: the mark then costs no
/// store where a scope begins.
template <class Atom>
class alignas(8) scope_link { // two bits of its address are the mark
public:
    using word = std::uintptr_t;

    /// Owner: this scope begins inside `above` (null: inside none), unmarked.
    explicit scope_link(scope_link* above) noexcept : m_word(reinterpret_cast<word>(above)) {
        san::release(this);
    }
    scope_link(const scope_link&) = delete;
    scope_link& operator=(const scope_link&) = delete;
    /// Owner: the scope that encloses this one, null if there is none.
    [[nodiscard]] scope_link* above() const noexcept { return link_of(m_word.load(rlx)); }
    /// Once true, for good. The owner may see it late: what may be shared by then must not be counted plainly
    /// on the strength of this.
    [[nodiscard]] bool shared() const noexcept { return (m_word.load(rlx) & marked) != 0; }

    /// Marks `innermost` and all above it; returns how many were not marked before. The caller knows that
    /// they outlive the call, and publishes what made it necessary afterwards.
    ///
    /// A second pass says of each that everything above is marked, so that the next walk may end there. The
    /// mark alone does not say it: a walk from below that meets one which is under way would end too early,
    /// and publish. Source: none; the two passes are those of any traversal that may meet another one.
    static std::uint64_t share(scope_link* innermost) noexcept {
        std::uint64_t fresh = 0;
        scope_link* end = innermost;
        for (; end != nullptr; end = end->above()) {
            san::acquire(end); // it may have begun on any context
            // M2: what another walk has marked above comes before what this caller publishes.
            const word seen = end->m_word.load(acq);
            if ((seen & settled) != 0) {
                break;
            }
            if ((seen & marked) == 0 && (end->m_word.fetch_or(marked, rlx) & marked) == 0) {
                ++fresh;
            }
        }
        for (scope_link* s = innermost; s != end; s = s->above()) {
            s->m_word.fetch_or(settled, rel); // M2
        }
        return fresh;
    }
    /// Owner, where scopes end in another order than the reverse of their beginning, while nobody walks:
    /// `gone`, which ends, is no longer above this one.
    void relink(const scope_link& gone) noexcept {
        word seen = m_word.load(rlx);
        while (!m_word.compare_exchange_weak(seen, reinterpret_cast<word>(gone.above()) | (seen & bits), rlx,
                                             rlx)) {
        }
    }

private:
    static constexpr word marked = 1;
    static constexpr word settled = 2;
    static constexpr word bits = marked | settled;

    [[nodiscard]] static scope_link* link_of(word w) noexcept {
        return reinterpret_cast<scope_link*>(w & ~bits);
    }

    typename Atom::template atomic<word> m_word;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
