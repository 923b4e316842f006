// The one word that an owner reads at every announcement: the room left in its ring and the wishes of
// others in a single signed comparison.
//
//   bit 63  tripped   sign: the comparison of every push hits
//   bit 62  wanted    level: somebody sleeps; stays set while anybody does
//   bit 61  expose    once: a thief found nothing shared here
//   bit 60  summon    once: a submission or a context waits for this worker
//   bit 59  pinned    level: the owner itself wants every push to take the slow path
//   bit 58  stop      level: somewhere in the process a scope is cancelled that has not ended
//   0..57   limit     last index that may be written before the owner makes room
//
// Setters store the state behind a bit first and set the bit afterwards (release). The owner takes the
// bits first (acquire) and looks at the state behind each afterwards: acting and then clearing, or
// storing zero, loses bits.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class tripwire {
public:
    using word = std::int64_t;
    static constexpr word tripped = INT64_MIN;
    static constexpr word wanted = word{1} << 62;
    static constexpr word expose = word{1} << 61;
    static constexpr word summon = word{1} << 60;
    static constexpr word pinned = word{1} << 59;
    static constexpr word stop = word{1} << 58;
    /// Everything that others want.
    static constexpr word asked = wanted | expose | summon | stop;
    /// Positions are net thefts: 2^58 of them, one every nanosecond, take nine years.
    static constexpr word limit_mask = stop - 1;

    explicit tripwire(word limit) noexcept : m_word(limit) {}

    /// Owner: has the push to `position` to be looked after?
    [[nodiscard]] bool hit(word position) const noexcept { return position >= m_word.load(rlx); }
    /// Anyone. A stale answer is harmless to callers that come back (thieves), and excluded by fences
    /// for those that do not (sleepers).
    [[nodiscard]] bool has(word bits) const noexcept { return (m_word.load(rlx) & bits) != 0; }
    /// The same, and what is behind the bits is seen.
    [[nodiscard]] bool has_and_sees(word bits) const noexcept { return (m_word.load(acq) & bits) != 0; }
    /// Anyone: the state behind `bits` was stored before. Pairs with take() and has_and_sees().
    void set(word bits) noexcept { m_word.fetch_or(tripped | bits, rel); }
    /// Owner: takes the one-shot bits, leaves the level bits. Act on all returned bits.
    [[nodiscard]] word take() noexcept {
        const word seen = m_word.fetch_and(~(expose | summon), acq);
        word quiet = seen & ~(expose | summon);
        if ((quiet & (wanted | pinned | stop)) == 0 && quiet < 0) {
            // Fails if a bit arrived meanwhile: then the sign has to stay.
            m_word.compare_exchange_strong(quiet, quiet & limit_mask, rlx, rlx);
        }
        return seen & ~(limit_mask | tripped);
    }
    /// Owner: nobody seems to sleep any more. A fence and a second look at the sleepers must follow.
    void clear_wanted() noexcept { m_word.fetch_and(~wanted, acq_rel); }
    /// Who set it, under the lock of cancellations: nothing is cancelled any more.
    void clear_stop() noexcept { m_word.fetch_and(~stop, rlx); }
    /// Owner: from now on every push takes the slow path.
    void pin() noexcept { m_word.fetch_or(tripped | pinned, rlx); }
    /// Owner: no longer. The next push may still take it.
    void unpin() noexcept { m_word.fetch_and(~pinned, rlx); }
    /// Owner: moves the limit by `delta` without touching the bits above it.
    void move_limit(word delta) noexcept { m_word.fetch_add(delta, rlx); }

private:
    typename Atom::template atomic<word> m_word;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
