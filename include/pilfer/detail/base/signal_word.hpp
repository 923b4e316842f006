// The signal word: the one word that an owner reads at every announcement. One signed comparison covers the
// room left in the owner's ring and the wishes of other threads.
//
//   bit 63  signalled      sign: the comparison of every push hits
//   bit 62  wanted         level: some worker sleeps; stays set while any worker does
//   bit 61  expose         once: a thief found nothing shared here
//   bit 60  yield_request  once: a submission or a context waits for this worker
//   bit 59  pinned         level: the owner itself wants every push to take the slow path
//   bit 58  stop           level: somewhere in the process a scope is cancelled that has not ended
//   0..57   limit          last index that may be written before the owner makes room
//
// A setter stores the state that belongs to a bit first and sets the bit afterwards (release). The owner
// takes the bits first (acquire) and looks at the state of each afterwards. An owner that acted first and
// then cleared, or stored zero, would lose bits.
#pragma once

#include <cstdint>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class Atom>
class signal_word {
public:
    using word = std::int64_t;
    static constexpr word signalled = INT64_MIN;
    static constexpr word wanted = word{1} << 62;
    static constexpr word expose = word{1} << 61;
    static constexpr word yield_request = word{1} << 60;
    static constexpr word pinned = word{1} << 59;
    static constexpr word stop = word{1} << 58;
    /// All bits that other threads set.
    static constexpr word asked = wanted | expose | yield_request | stop;
    /// Positions are net thefts: 2^58 of them, one every nanosecond, take nine years.
    static constexpr word limit_mask = stop - 1;

    explicit signal_word(word limit) noexcept : m_word(limit) {}

    /// Owner: true if the push to `position` needs attention.
    [[nodiscard]] bool pending(word position) const noexcept { return position >= m_word.load(rlx); }
    /// Anyone. A stale answer is harmless to callers that come back (thieves), and excluded by fences
    /// for those that do not (sleepers).
    [[nodiscard]] bool has(word bits) const noexcept { return (m_word.load(rlx) & bits) != 0; }
    /// As has(), and the state that belongs to the bits is seen.
    [[nodiscard]] bool has_and_sees(word bits) const noexcept { return (m_word.load(acq) & bits) != 0; }
    /// Anyone, after the state that belongs to `bits` is stored. Pairs with take() and has_and_sees().
    void set(word bits) noexcept { m_word.fetch_or(signalled | bits, rel); }
    /// Owner: takes the one-shot bits, leaves the level bits. Act on all returned bits.
    [[nodiscard]] word take() noexcept {
        const word seen = m_word.fetch_and(~(expose | yield_request), acq);
        word quiet = seen & ~(expose | yield_request);
        if ((quiet & (wanted | pinned | stop)) == 0 && quiet < 0) {
            // Fails if a bit arrived meanwhile: then the sign has to stay.
            m_word.compare_exchange_strong(quiet, quiet & limit_mask, rlx, rlx);
        }
        return seen & ~(limit_mask | signalled);
    }
    /// Owner: no worker seems to sleep any more. A fence and a second look at the sleepers must follow.
    void clear_wanted() noexcept { m_word.fetch_and(~wanted, acq_rel); }
    /// The thread that set `stop`, under the lock of cancellations: nothing is cancelled any more.
    void clear_stop() noexcept { m_word.fetch_and(~stop, rlx); }
    /// Owner: from now on every push takes the slow path.
    void pin() noexcept { m_word.fetch_or(signalled | pinned, rlx); }
    /// Owner: ends pin(). The next push may still take the slow path.
    void unpin() noexcept { m_word.fetch_and(~pinned, rlx); }
    /// Owner: moves the limit by `delta` without touching the bits above it.
    void move_limit(word delta) noexcept { m_word.fetch_add(delta, rlx); }

private:
    typename Atom::template atomic<word> m_word;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
